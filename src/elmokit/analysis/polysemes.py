"""Fixed lists of words of several senses in sentences, by which contextual vectors are judged (polysemes*.tsv)."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from elmokit.analysis.neighbours import most_frequent_words
from elmokit.text.lines import read_lines

if TYPE_CHECKING:
    from elmokit.text.vocabulary import Vocabulary

Language = Literal["en", "ko"]

LISTS: dict[Language, Path] = {
    "en": Path(__file__).with_name("polysemes.tsv"),
    "ko": Path(__file__).with_name("polysemes_ko.tsv"),
}

NUM_FREQUENT = 1000
"""Words of a vocabulary that say which language it is; of our Korean one, 991 have a Hangul syllable."""

_COLUMNS = ("word", "contrast", "sense", "index", "tokens")


@dataclass(frozen=True)
class Occurrence:
    """A word in a sentence, with the sense that it has there."""

    word: str
    contrast: str
    """The parts of speech of the word's senses, in their order (noun/noun, noun/verb, ...), or pragmatic."""
    sense: str
    index: int
    """Of the word among the tokens."""
    tokens: tuple[str, ...]


def read_polysemes(path: str | os.PathLike[str] = LISTS["en"]) -> list[Occurrence]:
    """The occurrences of a list, in its order; a line that begins with # is a comment.

    ValueError names the line that is not five columns between tabs, or whose index does not point at the word; or the
    sense that has fewer than two sentences, or a word without another sense.
    """
    lines = list(read_lines(path))  # to its end, so that the file is closed when a line is refused
    occurrences = [
        _occurrence(line, f"{os.fspath(path)}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    ]
    sizes = Counter((occurrence.word, occurrence.sense) for occurrence in occurrences)
    for word in words_of(occurrences):
        senses = senses_of(word, occurrences)
        if len(senses) < 2 or any(sizes[word, sense] < 2 for sense in senses):
            raise ValueError(f"{os.fspath(path)}: {word!r} needs two senses with two sentences each")
    return occurrences


def language_of(vocabulary: Vocabulary | None) -> Language:
    """Korean if most of a model's most frequent words have a Hangul syllable; else, or without a vocabulary, English.

    The vocabulary is a record of what the model has read, and every model trained here has one.
    """
    frequent = [] if vocabulary is None else most_frequent_words(vocabulary, number=NUM_FREQUENT)
    num_korean = sum(any("가" <= character <= "힣" for character in token) for token in frequent)
    return "ko" if 2 * num_korean > len(frequent) else "en"


def words_of(occurrences: list[Occurrence]) -> list[str]:
    """Each word once, in the order of the list."""
    return list(dict.fromkeys(occurrence.word for occurrence in occurrences))


def senses_of(word: str, occurrences: list[Occurrence]) -> list[str]:
    return list(dict.fromkeys(occurrence.sense for occurrence in occurrences if occurrence.word == word))


def _occurrence(line: str, where: str) -> Occurrence:
    columns = line.split("\t")
    if len(columns) != len(_COLUMNS):
        raise ValueError(f"{where}: {len(columns)} columns; expected {', '.join(_COLUMNS)}, with tabs between them")
    word, contrast, sense, index, text = columns
    tokens = tuple(text.split(" "))
    if not index.isdecimal() or int(index) >= len(tokens) or tokens[int(index)] != word:
        raise ValueError(f"{where}: index {index} is not that of {word!r} in {text!r}")
    return Occurrence(word, contrast, sense, int(index), tokens)
