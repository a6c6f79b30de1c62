"""Answers to questions scored as in SQuAD 1.1 (P. Rajpurkar's evaluate-v1.1.py)."""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.metrics.score import percentage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)  # that of ASCII only, as in the script
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True)
class AnswerScore:
    """Exact match and F1, in percent; `+` joins batches."""

    num_questions: int = 0
    num_exact: int = 0
    f1_sum: float = 0.0
    """Sum of the questions' F1, each between 0 and 1."""
    num_unanswered: int = 0
    """Questions without a prediction: they count as wrong."""
    num_skipped: int = 0
    """Predictions to questions that are not there: they do not count."""

    @property
    def exact_match(self) -> float:
        return percentage(self.num_exact, self.num_questions)

    @property
    def f1(self) -> float:
        """Mean of the questions' F1."""
        return percentage(self.f1_sum, self.num_questions)

    def __add__(self, other: AnswerScore) -> AnswerScore:
        return AnswerScore(
            num_questions=self.num_questions + other.num_questions,
            num_exact=self.num_exact + other.num_exact,
            f1_sum=self.f1_sum + other.f1_sum,
            num_unanswered=self.num_unanswered + other.num_unanswered,
            num_skipped=self.num_skipped + other.num_skipped,
        )


def score_answers(*, gold: Mapping[str, Sequence[str]], predicted: Mapping[str, str]) -> AnswerScore:
    """Compare, under the same question ids, the predicted answer with all gold ones: the best of them counts.

    Raises ValueError for a question without gold answers.
    """
    num_exact, f1_sum = 0, 0.0
    for question, answers in gold.items():
        if isinstance(answers, str) or not answers:
            raise ValueError(f"question {question!r} has the gold answers {answers!r}; expected a list of at least one")
        if question in predicted:
            num_exact += max(is_exact_match(predicted[question], answer) for answer in answers)
            f1_sum += max(answer_f1(predicted[question], answer) for answer in answers)
    return AnswerScore(
        num_questions=len(gold),
        num_exact=num_exact,
        f1_sum=f1_sum,
        num_unanswered=len(gold.keys() - predicted.keys()),
        num_skipped=len(predicted.keys() - gold.keys()),
    )


def is_exact_match(predicted: str, gold: str) -> bool:
    """Whether the normalised answers are the same."""
    return normalise_answer(predicted) == normalise_answer(gold)


def answer_f1(predicted: str, gold: str) -> float:
    """F1, between 0 and 1, of the words of two normalised answers, each counted as often as it occurs."""
    guess, truth = normalise_answer(predicted).split(), normalise_answer(gold).split()
    shared = (Counter(guess) & Counter(truth)).total()
    return 2 * shared / (len(guess) + len(truth)) if shared else 0.0


def normalise_answer(text: str) -> str:
    """Lower case, without ASCII punctuation, then without the words a, an and the, single spaces."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())
