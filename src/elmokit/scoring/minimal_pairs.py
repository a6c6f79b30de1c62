"""Minimal pairs: how often a model finds the good sentence more probable than the bad one (Warstadt et al., 2020)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.lines import shown_name, split_tokens
from elmokit.metrics.score import Accuracy
from elmokit.text.sentence_lines import sentence_lines
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from elmokit.elmo.surprisal import SentenceSurprisal, SurprisalModel

Sentences = tuple[list[str], list[str]]
"""The good and the bad sentence of a pair, in tokens."""

_NAME = re.compile(r"(?i)\w*(good|bad|sentence|acceptable|grammatical|prefix|context|continuation|target)\w*")
BOTH = "both"


@dataclass(frozen=True)
class PairScore:
    """Log2 probabilities of the good and the bad sentence, by direction; `both` is the sum of the two directions."""

    good: dict[str, float]
    bad: dict[str, float]

    def is_right(self, direction: str) -> bool:
        """Whether the good sentence is more probable; a tie is not right."""
        return self.good[direction] > self.bad[direction]


def read_pairs(
    path: Path | str, *, raw_text: bool = False, conditional: bool = False, as_text: bool = False
) -> Iterator[Sentences]:
    """The pairs in a file with one pair per line: the good sentence, a tab, the bad one. Blank lines are skipped.

    conditional: whether a line is a prefix, which may be empty, a tab, and a continuation.
    as_text: whether to accept a first line that looks like column names as a pair; otherwise it is refused.
    """
    expected = "two sentences separated by a tab: the good one, a tab, the bad one"
    if conditional:
        expected = "a prefix, a tab, and a continuation"
    lines = sentence_lines(path, raw_text=raw_text, has_columns=True, as_text=as_text)
    pairs = _pairs(lines, path, expected, raw_text=raw_text, conditional=conditional)
    head = list(islice(pairs, 2))
    if not head:
        raise ValueError(f"{shown_name(path)}: has no pair; expected lines of {expected}")
    (number, first), rest = head[0], head[1:]
    is_of_words = not conditional and max(map(len, first)) == 1 and any(min(map(len, pair)) > 1 for _, pair in rest)
    if not as_text and (is_of_words or all(_NAME.fullmatch(" ".join(half)) for half in first)):
        where = f"{shown_name(path)}, line {number}"
        raise ValueError(f"{where}: looks like column names; remove it, or use --as-text (as_text=True)")
    return (pair for _, pair in chain(head, pairs))


def _pairs(
    lines: Iterable[str], path: Path | str, expected: str, *, raw_text: bool, conditional: bool
) -> Iterator[tuple[int, Sentences]]:
    """The number of each line that is not blank, and its pair."""
    split = tokenize if raw_text else split_tokens
    for number, line in enumerate(lines, start=1):
        if line.strip():
            halves = [split(half) for half in line.split("\t")]
            if len(halves) != 2 or not halves[1] or not (halves[0] or conditional):
                raise ValueError(f"{shown_name(path)}, line {number}: expected {expected}")
            yield number, (halves[0], halves[1])


def score_pairs(model: SurprisalModel, pairs: Sequence[Sentences]) -> Iterator[PairScore]:
    """The score of each pair, in order."""
    results = model.read(sentence for pair in pairs for sentence in pair)
    for good, bad in zip(results, results, strict=True):
        yield PairScore(_probabilities(good), _probabilities(bad))


def accuracies(scores: Sequence[PairScore]) -> dict[str, Accuracy]:
    """Share of pairs that each direction, and both together, get right."""
    return {
        name: Accuracy(sum(score.is_right(name) for score in scores), len(scores))
        for name in (scores[0].good if scores else ())
    }


def pair_rows(scores: Sequence[PairScore]) -> Iterator[list[str]]:
    """A row of column names, then a row for each pair: log2 probabilities, and 1 if the model gets the pair right."""
    names = list(scores[0].good)
    yield ["pair_id", *(f"{name}_{half}" for name in names for half in ("good", "bad", "right"))]
    for number, score in enumerate(scores, start=1):
        cells = [
            cell
            for name in names
            for cell in (f"{score.good[name]:z.6f}", f"{score.bad[name]:z.6f}", str(int(score.is_right(name))))
        ]
        yield [str(number), *cells]


def _probabilities(sentence: SentenceSurprisal) -> dict[str, float]:
    found = {direction: sentence.log2_probability(direction) for direction in sentence.directions}
    return found | {BOTH: sum(found.values())} if len(found) > 1 else found
