"""Scores taken apart into items: their sums give the score of the task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from elmokit.tasks.all_tasks import TASKS, find_task
from elmokit.tasks.coreference.reader import CoreferenceDocument
from elmokit.tasks.entailment.reader import SentencePair
from elmokit.tasks.named_entities.reader import TaggedSentence
from elmokit.tasks.semantic_roles.reader import PredicateInSentence
from elmokit.tasks.task_model import LabelPrediction
from paper.item_counts import ITEM_COUNTS

NAMES = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "B-ORG"]]
ROLES = [["B-ARG0", "B-V", "O"], ["B-V", "B-ARG1", "I-ARG1"]]
CLUSTERS = [[[(0, 0), (2, 2)], [(3, 3), (4, 4), (5, 5)]], [[(0, 0), (1, 1)]]]


def documents() -> list[CoreferenceDocument]:
    return [CoreferenceDocument("a", 0, [["x"] * 6], ["-"] * 6, clusters) for clusters in CLUSTERS]


@pytest.mark.parametrize(
    ("task", "examples", "predictions"),
    [
        ("named-entities", [TaggedSentence(["x"] * 3, tags) for tags in NAMES], [NAMES[0], ["B-LOC", "B-PER", "O"]]),
        (
            "semantic-roles",
            [
                PredicateInSentence(tokens=["x"] * 3, predicate=1 - number, tags=tags)
                for number, tags in enumerate(ROLES)
            ],
            [ROLES[0], ["B-V", "B-ARG1", "O"]],
        ),
        ("coreference", documents(), [[[(0, 0), (2, 2), (3, 3)], [(4, 4), (5, 5)]], CLUSTERS[1]]),
        (
            "entailment",
            [SentencePair(["a"], ["b"], label) for label in ("neutral", "entailment")],
            [LabelPrediction("neutral", {}), LabelPrediction("neutral", {})],
        ),
        (
            "sentiment",
            [SimpleNamespace(label=label) for label in "121"],
            [SimpleNamespace(label=label) for label in "111"],
        ),
        (
            "question-answering",
            [SimpleNamespace(answers=[SimpleNamespace(text="in the house")])] * 2,
            [SimpleNamespace(text="house"), SimpleNamespace(text="In house")],
        ),
    ],
)
def test_the_sums_of_the_items_give_the_score_of_the_task(task: str, examples: list[Any], predictions: list[Any]):
    counts = ITEM_COUNTS[task]
    items = [counts.of(example, made) for example, made in zip(examples, predictions, strict=True)]
    found = find_task(task)
    expected = found.score(examples, predictions)[found.metric]
    assert 0 < expected < 100
    assert counts.score(tuple(map(sum, zip(*items, strict=True)))) == pytest.approx(expected)


def test_every_task_has_items():
    assert set(ITEM_COUNTS) == set(TASKS)
