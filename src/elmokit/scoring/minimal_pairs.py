"""Minimal pairs: how often a model finds the good sentence more probable than the bad one (Warstadt et al., 2020)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
_WORD = re.compile(r"\s*\w+\s*")
BOTH = "both"


@dataclass(frozen=True)
class PairScore:
    """Log2 probabilities of the good and the bad sentence, by direction; `both` is the sum of the two directions."""

    good: dict[str, float]
    bad: dict[str, float]

    def is_right(self, direction: str) -> bool:
        """Whether the good sentence is more probable; a tie is not right."""
        return self.good[direction] > self.bad[direction]


def read_pairs(path: Path | str, *, raw_text: bool = False, conditional: bool = False) -> Iterator[Sentences]:
    """Pairs of a file with one pair per line: the good sentence, a tab, the bad one. Blank lines are skipped.

    conditional: a line is a prefix, which may be empty, a tab, and a continuation.
    Raises ValueError, naming the line, for a line that is not two sentences, and for one with the names of columns; and
    for a file without pairs.
    """
    split = tokenize if raw_text else split_tokens
    expected = "two sentences separated by a tab: the good one, a tab, the bad one"
    if conditional:
        expected = "a prefix, a tab, and a continuation"
    is_empty = True
    maybe_names = 0  # the line of a first pair of single words
    for number, line in enumerate(sentence_lines(path, raw_text=raw_text, has_columns=True), start=1):
        if not line.strip():
            continue
        cells = line.split("\t")
        halves = [split(half) for half in cells]
        if len(halves) != 2 or not halves[1] or not (halves[0] or conditional):
            raise ValueError(f"{shown_name(path)}, line {number}: expected {expected}")
        if is_empty and not conditional and all(map(_WORD.fullmatch, cells)):
            maybe_names = number
        are_names = is_empty and all(map(_NAME.fullmatch, cells))
        if are_names or (maybe_names and min(map(len, halves)) > 1):
            where = f"{shown_name(path)}, line {maybe_names or number}"
            raise ValueError(f"{where}: has the names of columns; remove it (expected {expected})")
        is_empty, maybe_names = False, maybe_names if is_empty else 0
        yield halves[0], halves[1]
    if is_empty:
        raise ValueError(f"{shown_name(path)}: has no pair; expected lines of {expected}")


def score_pairs(model: SurprisalModel, pairs: Sequence[Sentences]) -> Iterator[PairScore]:
    """The score of each pair, in order."""
    results = model.read(sentence for pair in pairs for sentence in pair)
    for good, bad in zip(results, results, strict=True):
        yield PairScore(_probabilities(good), _probabilities(bad))


def accuracies(scores: Sequence[PairScore]) -> dict[str, Accuracy]:
    """Share of pairs that each direction, and both together, judge right."""
    return {
        name: Accuracy(sum(score.is_right(name) for score in scores), len(scores))
        for name in (scores[0].good if scores else ())
    }


def pair_rows(scores: Sequence[PairScore]) -> Iterator[list[str]]:
    """A row of the columns' names, and then a row for each pair: log2 probabilities, and 1 where they are right."""
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
