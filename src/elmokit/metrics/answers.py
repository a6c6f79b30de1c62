"""Answers to questions scored as in SQuAD 1.1 (P. Rajpurkar's evaluate-v1.1.py)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from elmokit.metrics.score import percentage

_PUNCTUATION = str.maketrans("", "", string.punctuation)  # ASCII punctuation only, as in the script
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def score_answers(*, gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, float]:
    """Mean `f1` and `exact_match` of the questions, in percent.

    The predicted answer is compared with all gold answers to its question; the best match counts.
    """
    num_exact, f1_sum = 0, 0.0
    for answers, guess in zip(gold, predicted, strict=True):
        num_exact += normalise_answer(guess) in map(normalise_answer, answers)
        f1_sum += max(answer_f1(guess, answer) for answer in answers)
    return {"f1": percentage(f1_sum, len(gold)), "exact_match": percentage(num_exact, len(gold))}


def answer_f1(predicted: str, gold: str) -> float:
    """F1, between 0 and 1, over the words of two normalised answers; repeated words count each time."""
    guess, truth = normalise_answer(predicted).split(), normalise_answer(gold).split()
    shared = (Counter(guess) & Counter(truth)).total()
    return 2 * shared / (len(guess) + len(truth)) if shared else 0.0


def normalise_answer(text: str) -> str:
    """The text in lower case, without ASCII punctuation, without the words a, an and the, and with single spaces."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())
