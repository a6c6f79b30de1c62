"""What the scorers count: sums that add up over batches, read in percent, as the official scripts print them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Hashable, Mapping

L = TypeVar("L", bound="Hashable")


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1, in percent; 0 where there is nothing to divide by. `+` is the micro-average."""

    correct: float = 0
    """Numerator of precision: what is predicted and right."""
    predicted: float = 0
    recalled: float = 0
    """Numerator of recall: what is gold and found. Only B-cubed makes it another number than `correct`."""
    gold: float = 0

    @classmethod
    def of_matches(cls, *, correct: float, predicted: float, gold: float) -> Score:
        """Score of things that are matched one to one."""
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
        return Score(
            correct=self.correct + other.correct,
            predicted=self.predicted + other.predicted,
            recalled=self.recalled + other.recalled,
            gold=self.gold + other.gold,
        )


@dataclass(frozen=True)
class Accuracy:
    """Share of what is right, in percent; 0 where there is nothing."""

    correct: int = 0
    total: int = 0

    @property
    def percent(self) -> float:
        return percentage(self.correct, self.total)

    def __add__(self, other: Accuracy) -> Accuracy:
        return Accuracy(correct=self.correct + other.correct, total=self.total + other.total)


def percentage(numerator: float, denominator: float) -> float:
    """`100 * numerator / denominator`, or 0 where the denominator is 0."""
    return 100 * numerator / denominator if denominator else 0.0


def scores_by_label(*, correct: Counter[L], predicted: Counter[L], gold: Counter[L]) -> dict[L, Score]:
    """One score a label, of all labels that are gold or predicted, in the order of their names."""
    return {
        label: Score.of_matches(correct=correct[label], predicted=predicted[label], gold=gold[label])
        for label in sorted({*gold, *predicted}, key=str)
    }


def add_by_label(first: Mapping[L, Score], second: Mapping[L, Score]) -> dict[L, Score]:
    """The scores of two batches, label by label."""
    labels = sorted({*first, *second}, key=str)
    return {label: first.get(label, Score()) + second.get(label, Score()) for label in labels}
