"""The sentiment of a text."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.prediction import Prediction, shortened, shown_labels


@dataclass(frozen=True, repr=False)
class TextSentiment(Prediction):
    """A text with the most probable label."""

    tokens: list[str]
    label: str
    probabilities: dict[str, float]
    """Of each label."""

    def __repr__(self) -> str:
        return f"<TextSentiment {shortened(' '.join(self.tokens))}: {shown_labels(self.label, self.probabilities)}>"
