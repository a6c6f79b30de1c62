"""A sense study as lines for a terminal, 80 columns wide; heat maps are coloured if the terminal shows colours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, TextIO

import numpy as np

from elmokit.analysis.polysemes import members_of, words_of
from elmokit.system.markdown import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elmokit.analysis.polysemes import Occurrence
    from elmokit.analysis.sense_study import CloseUp, SenseStudy

WIDTH = 80

_BLUES = (255, 189, 153, 117, 75, 39, 32, 26, 25, 24)
"""Backgrounds of the 256-colour palette, light to dark."""
_NUM_LIGHT = 6  # number of backgrounds that are light enough for black text


def shows_colours(output: TextIO) -> bool:
    """Whether the output is a terminal without a request for no colours (https://no-color.org)."""
    return output.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def describe(study: SenseStudy) -> Iterator[str]:
    """Yield the lines of the page, from single words in detail to the rates over all words."""
    for close_up in study.close_ups:
        yield from _describe_word(close_up, study.occurrences, colours=False)
        yield ""
    yield from _describe_all_words(study)


def summarise(study: SenseStudy, *, colours: bool) -> Iterator[str]:
    """Yield the lines for the terminal: the rates over all words, and one word in detail."""
    yield from _describe_all_words(study)
    yield ""
    words = ", ".join(close_up.word for close_up in study.close_ups)
    yield from wrap(f"One word in detail; the page has {words}.", WIDTH)
    yield ""
    yield from _describe_word(study.close_ups[0], study.occurrences, colours=colours)


def _describe_all_words(study: SenseStudy) -> Iterator[str]:
    """For every word, the number of occurrences whose nearest one has the same sense; no word is left out."""
    words = words_of(study.occurrences)
    yield f"Measured over the whole list: {len(words)} words, {len(study.occurrences)} sentences"
    yield ""
    yield f"  {'':22}nearest one has its sense"
    for measured in study.measured:
        yield f"  {measured.name:22}{measured.nearest_rate()}"
    yield ""
    yield "  Is the nearest other occurrence of the word one with the same sense? In"
    yield "  brackets 95 % intervals. The static vector is layer 0, the same in every"
    yield "  sentence: all are tied, and that is chance. The bag is the mean of the static"
    yield "  vectors of the other words. `encode` gives the top layer."
    yield ""
    yield "Nearest one has its sense, by the kind of senses, for the top layer:"
    contrasts = [occurrence.contrast for occurrence in study.occurrences]
    for contrast in dict.fromkeys(contrasts):
        members = [index for index, other in enumerate(contrasts) if other == contrast]
        yield f"  {contrast:22}{study.top.nearest_rate(members)}"
    yield ""
    guesses = [study.measured[0].nearest_rate(members_of(word, study.occurrences)) for word in words]
    chance = "; ".join(sorted({f"of {guess.total}, chance is {guess.correct:.2g}" for guess in guesses}))
    yield f"Word by word, for the top layer ({chance}):"
    line = " "
    for word in words:
        rate = study.top.nearest_rate(members_of(word, study.occurrences))
        part = f" {word} {rate.correct:.3g}"
        if columns(line + part) >= WIDTH:
            yield line
            line = " "
        line += part + ","
    yield line.rstrip(",")


def _describe_word(close_up: CloseUp, occurrences: list[Occurrence], *, colours: bool) -> Iterator[str]:
    shown = [occurrences[index] for index in close_up.shown]
    yield f"{close_up.word}: {' or '.join(close_up.senses)}?"
    yield ""
    num_columns = [sum(occurrence.sense == sense for occurrence in shown) for sense in close_up.senses]
    heads = "".join(
        f"{sense[: 5 * num - 1]:{5 * num}}" for sense, num in zip(close_up.senses, num_columns, strict=True)
    )
    numbers = "".join(f"{label.split()[-1]:5}" for label in close_up.labels)
    yield f"  {'cosines':48}{heads}".rstrip()
    yield f"  {'(top layer)':48}{numbers}".rstrip()
    levels = shades(close_up.cosines, number=len(_BLUES))
    for label, occurrence, values, row in zip(close_up.labels, shown, close_up.cosines, levels, strict=True):
        cells = " ".join(_cell(value, shade, colours=colours) for value, shade in zip(values, row, strict=True))
        yield f"  {label[:12]:13}{_padded(snippet(occurrence.tokens, occurrence.index, 34), 35)}{cells}"
    yield f"  {'static vector':48}1.00 everywhere"
    yield ""
    for number, contexts in close_up.nearest:
        occurrence = occurrences[number]
        yield f"  nearest to {snippet(occurrence.tokens, occurrence.index, 50)} ({occurrence.sense})"
        for near in contexts:
            other = occurrences[near.sentence]
            sense = other.sense if near.index == other.index else ""  # what is listed is the sense of one token
            text = _padded(snippet(other.tokens, near.index, 50), 51)
            yield f"    {near.similarity:.2f}  {text} {sense}".rstrip()


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def snippet(tokens: Sequence[str], index: int, width: int) -> str:
    """The word in brackets, with as many of the words around it as fit into `width` columns."""
    first, last = index, index + 1
    text = f"[{tokens[index]}]"
    for _ in tokens:
        for before, after in ((1, 0), (0, 1)):
            if first >= before and last + after <= len(tokens):
                left, right = tokens[first - before : index], tokens[index + 1 : last + after]
                longer = " ".join([*left, f"[{tokens[index]}]", *right])
                if columns(longer) <= width:
                    first, last, text = first - before, last + after, longer
    return text


def shades(cosines: NDArray[np.float64], *, number: int) -> list[list[int]]:
    """Each cosine (N,N) as a shade from 0 to number - 1; the range is that of the cosines of different occurrences."""
    others = cosines[~np.eye(len(cosines), dtype=bool)]
    spread = max(float(others.max() - others.min()), 1e-6)
    levels = np.floor((cosines - others.min()) / spread * number)
    return np.clip(levels, 0, number - 1).astype(np.int64).tolist()


def _cell(value: float, shade: int, *, colours: bool) -> str:
    text = f"{value:.2f}".replace("-0.", "-.")
    if not colours:
        return text
    return f"\x1b[48;5;{_BLUES[shade]}m\x1b[38;5;{16 if shade < _NUM_LIGHT else 231}m{text}\x1b[0m"
