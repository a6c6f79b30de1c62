"""What each test item adds to the sums that a task's score is computed from, so that items can be drawn again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elmokit.metrics.answers import score_answers
from elmokit.metrics.coreference import CoreferenceScore, score_coreference
from elmokit.metrics.roles import score_roles
from elmokit.metrics.score import Score, percentage
from elmokit.metrics.spans import score_spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from elmokit.metrics.interval import Counts


@dataclass(frozen=True)
class ItemCounts:
    """How a task's score is taken apart into items."""

    of: Callable[[Any, Any], Counts]
    """(example, prediction) -> what the item adds."""
    score: Callable[[Counts], float]
    """The sums of all items -> the score that `Task.metric` names."""


def _spans(example: Any, prediction: Any) -> Counts:
    return _matches(score_spans(gold=[example.tags], predicted=[prediction]).overall)


def _roles(example: Any, prediction: Any) -> Counts:
    predicted = {} if example.predicate is None else {0: prediction}
    return _matches(score_roles(gold=[{0: example.tags}], predicted=[predicted]).overall)


def _labels(example: Any, prediction: Any) -> Counts:
    return (float(example.label == prediction.label), 1.0)


def _answers(example: Any, prediction: Any) -> Counts:
    result = score_answers(gold={"": [answer.text for answer in example.answers]}, predicted={"": prediction.text})
    return (result.f1_sum, 1.0)


def _clusters(example: Any, prediction: Any) -> Counts:
    result = score_coreference(gold=example.clusters, predicted=prediction)
    parts = (result.muc, result.b_cubed, result.ceaf_e)
    return tuple(number for part in parts for number in (part.correct, part.predicted, part.recalled, part.gold))


def _matches(score: Score) -> Counts:
    return (score.correct, score.predicted, score.gold)


def _f1(sums: Counts) -> float:
    correct, predicted, gold = sums
    return Score.of_matches(correct=correct, predicted=predicted, gold=gold).f1


def _share(sums: Counts) -> float:
    return percentage(sums[0], sums[1])


def _average_f1(sums: Counts) -> float:
    muc, b_cubed, ceaf_e = (Score(*sums[start : start + 4]) for start in (0, 4, 8))
    return CoreferenceScore(muc=muc, b_cubed=b_cubed, ceaf_e=ceaf_e).average_f1


ITEM_COUNTS = {
    "named-entities": ItemCounts(_spans, _f1),
    "semantic-roles": ItemCounts(_roles, _f1),
    "coreference": ItemCounts(_clusters, _average_f1),
    "entailment": ItemCounts(_labels, _share),
    "question-answering": ItemCounts(_answers, _share),
    "sentiment": ItemCounts(_labels, _share),
}
"""By task. Items are sentences, predicates, documents, pairs and questions."""
