"""The answer that is found in a passage."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.prediction import Prediction, shortened


@dataclass(frozen=True, repr=False)
class QuestionAnswer(Prediction):
    """A question with the most probable answer."""

    id: str
    """The question's id; empty if it has none."""
    question: list[str]
    """Tokens of the question."""
    answer: str
    """As the passage spells it: `passage[start:end]`."""
    first: int
    last: int
    """Indices of the first and the last token in the passage, both part of the answer."""
    start: int
    end: int
    """Offsets in the passage of the first character (SQuAD's `answer_start`), and of the one after the last."""
    probability: float
    """Product of the probabilities of the first and of the last token."""

    def __repr__(self) -> str:
        asked = shortened(" ".join(self.question))
        return f"<QuestionAnswer {asked}: {self.answer!r} {self.start}:{self.end} ({self.probability:.1%})>"
