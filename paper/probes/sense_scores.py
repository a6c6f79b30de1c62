"""Word senses: precision, recall and F1 as the Scorer of the evaluation framework (Raganato et al., 2017) counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from elmokit.metrics.score import Score


def score_senses(gold: Mapping[str, Collection[str]], answers: Mapping[str, Collection[str]]) -> Score:
    """Compare the sense keys that a system gives an instance with the right ones, of which there may be several.

    An answer of several keys counts by the share of them that is right. An instance without an answer lowers recall,
    but not precision; answers for instances without gold keys do not count.
    """
    answered = [name for name in answers if name in gold and answers[name]]
    correct = sum(correct_share(gold[name], answers[name]) for name in answered)
    return Score.of_matches(correct=correct, predicted=len(answered), gold=len(gold))


def correct_share(gold: Collection[str], answer: Collection[str]) -> float:
    """Share of the different keys of an answer that are right."""
    keys = set(answer)
    return len(keys.intersection(gold)) / len(keys)
