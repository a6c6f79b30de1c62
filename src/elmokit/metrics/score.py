"""The counts that scores are computed from: sums that add up over batches, read as percentages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import add
from typing import Any


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1, in percent; 0 where the denominator is 0. `+` gives the micro-average."""

    correct: float = 0
    """Numerator of precision: correct predictions."""
    predicted: float = 0
    """Denominator of precision."""
    recalled: float = 0
    """Numerator of recall: gold items that were found. It differs from `correct` only for B-cubed."""
    gold: float = 0
    """Denominator of recall."""

    @classmethod
    def of_matches(cls, *, correct: float, predicted: float, gold: float) -> Score:
        """Score of items that are matched one to one, so that `recalled` equals `correct`."""
        return cls(correct=correct, predicted=predicted, recalled=correct, gold=gold)

    @property
    def precision(self) -> float:
        return percentage(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        return percentage(self.recalled, self.gold)

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def __add__(self, other: Score) -> Score:
        return Score(*map(add, vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class Accuracy:
    """Share of correct items, in percent; 0 where there are none."""

    correct: int = 0
    total: int = 0

    @property
    def percent(self) -> float:
        return percentage(self.correct, self.total)


def percentage(numerator: float, denominator: float) -> float:
    """`100 * numerator / denominator`, or 0 where the denominator is 0."""
    return 100 * numerator / denominator if denominator else 0.0


def scores_by_label(*, gold: AbstractSet[tuple[Any, ...]], predicted: AbstractSet[tuple[Any, ...]]) -> dict[str, Score]:
    """One score per label, for all labels that are gold or predicted, sorted by name.

    An item consists of its label and its position. It is correct if both sides have it.
    """
    correct, guessed, true = (Counter(label for label, *_ in items) for items in (gold & predicted, predicted, gold))
    return {
        label: Score.of_matches(correct=correct[label], predicted=guessed[label], gold=true[label])
        for label in sorted({*true, *guessed})
    }
