"""Whether a sentence follows from another one."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.prediction import Prediction, shortened, shown_labels


@dataclass(frozen=True, repr=False)
class LabelledPair(Prediction):
    """A premise and a hypothesis with the most probable label."""

    premise: list[str]
    hypothesis: list[str]
    """Tokens of the two sentences."""
    label: str
    probabilities: dict[str, float]
    """Of each label."""

    def __repr__(self) -> str:
        premise, hypothesis = shortened(" ".join(self.premise)), shortened(" ".join(self.hypothesis))
        return f"<LabelledPair {premise}, {hypothesis}: {shown_labels(self.label, self.probabilities)}>"
