from __future__ import annotations

import json

import pytest

from elmokit.tasks.entailment.reader import SentencePair
from elmokit.tasks.entailment.task import TASK
from elmokit.tasks.task_model import LabelPrediction

LINES = [
    {"gold_label": "neutral", "sentence1": "A dog.", "sentence2": "It's a cat."},
    {"gold_label": "-", "sentence1": "A dog.", "sentence2": "A pet."},
]
CAT = ["It", "'s", "a", "cat", "."]


@pytest.mark.parametrize("training", [True, False])
def test_counts_the_pairs_without_a_label(write, training: bool):
    path = write("\n".join(map(json.dumps, LINES)))
    reading = TASK.read(path, TASK.recipes["cpu"]().model, training)
    assert reading.examples == [SentencePair(["A", "dog", "."], CAT, "neutral")]
    assert reading.skipped == {"without a label": 1}
    assert TASK.sentences(reading.examples[0]) == [["A", "dog", "."], CAT]
    assert TASK.symbols(reading.examples) == ["entailment", "neutral", "contradiction"]


def test_scores_accuracy_over_the_pairs_with_a_label():
    gold = ["neutral", "neutral", "entailment", "entailment", None]
    made = ["neutral", "entailment", "entailment", "entailment", "neutral"]
    scores = TASK.score(
        [SentencePair(["a"], ["b"], label) for label in gold], [LabelPrediction(label, {}) for label in made]
    )
    assert scores[TASK.metric] == scores["accuracy"] == 75
    assert scores["macro_f1"] == pytest.approx((200 / 3 + 80) / 2)


def test_takes_raw_text_and_json():
    expected = SentencePair(["A", "dog", "."], CAT, None)
    assert TASK.from_text("A dog.\tIt's a cat.") == expected
    assert TASK.from_json({"premise": "A dog.", "hypothesis": CAT}) == expected
    assert TASK.from_json(LINES[0]) == expected


def test_writes_a_table_and_json():
    pair, made = SentencePair(["A", "dog"], ["A", "pet"], None), LabelPrediction("neutral", {"neutral": 1.0})
    assert TASK.to_text(pair, made) == "neutral\tA dog\tA pet"
    result = TASK.result(pair, made)
    assert result.to_dict() == {
        "premise": ["A", "dog"],
        "hypothesis": ["A", "pet"],
        "label": "neutral",
        "probabilities": {"neutral": 1.0},
    }
    assert repr(result) == "<LabelledPair 'A dog', 'A pet': neutral (100.0%)>"
