"""The counts that scores are computed from: sums that add up over batches, read as percentages; scores of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from operator import add
from statistics import fmean
from typing import Generic, TypeVar

L = TypeVar("L", bound="Hashable")


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

    def __add__(self, other: Accuracy) -> Accuracy:
        return Accuracy(self.correct + other.correct, self.total + other.total)


def percentage(numerator: float, denominator: float) -> float:
    """`100 * numerator / denominator`, or 0 where the denominator is 0."""
    return 100 * numerator / denominator if denominator else 0.0


def scores_by_label(*, correct: Counter[L], predicted: Counter[L], gold: Counter[L]) -> dict[L, Score]:
    """One score per label, for all labels that are gold or predicted, sorted by name."""
    return {
        label: Score.of_matches(correct=correct[label], predicted=predicted[label], gold=gold[label])
        for label in sorted({*gold, *predicted}, key=str)
    }


@dataclass(frozen=True)
class LabelScore(Generic[L]):
    """Scores of labels."""

    by_label: dict[L, Score] = field(default_factory=dict[L, Score])
    """Score of every label that is gold or predicted at least once."""

    @property
    def accuracy(self) -> Accuracy:
        total = sum(self.by_label.values(), Score())
        return Accuracy(correct=int(total.correct), total=int(total.gold))

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels, in percent; 0 without labels."""
        return fmean(score.f1 for score in self.by_label.values()) if self.by_label else 0.0


def score_labels(*, gold: Sequence[L], predicted: Sequence[L]) -> LabelScore[L]:
    """Compare the predicted label of each instance with its gold label."""
    correct = Counter(label for label, guess in zip(gold, predicted, strict=True) if label == guess)
    return LabelScore(by_label=scores_by_label(correct=correct, predicted=Counter(predicted), gold=Counter(gold)))
