"""One label per instance: accuracy, precision, recall and F1 per label, and the mean F1 of the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Generic, TypeVar

from elmokit.metrics.score import Accuracy, Score, scores_by_label

L = TypeVar("L", bound="Hashable")


@dataclass(frozen=True)
class LabelScore(Generic[L]):
    """Scores of labels."""

    by_label: dict[L, Score] = field(default_factory=dict[L, Score])
    """Score of every label that is gold or predicted at least once."""

    @property
    def accuracy(self) -> Accuracy:
        return Accuracy(correct=int(self.micro.correct), total=int(self.micro.gold))

    @property
    def micro(self) -> Score:
        """Sum over the labels. With one label per instance, its precision, recall and F1 equal the accuracy."""
        return sum(self.by_label.values(), Score())

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels, in percent; 0 without labels."""
        return fmean(score.f1 for score in self.by_label.values()) if self.by_label else 0.0


def score_labels(*, gold: Sequence[L], predicted: Sequence[L]) -> LabelScore[L]:
    """Compare the predicted label of each instance with its gold label.

    Raises ValueError when the numbers of gold and predicted labels differ.
    """
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(gold)} gold labels but {len(predicted)} predicted ones; expected one of each per instance"
        )
    correct = Counter(label for label, guess in zip(gold, predicted, strict=True) if label == guess)
    return LabelScore(by_label=scores_by_label(correct=correct, predicted=Counter(predicted), gold=Counter(gold)))
