from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmokit.tasks.entailment.model import EntailmentClassifier
from elmokit.tasks.entailment.reader import SentencePair
from elmokit.tasks.entailment.task import TASK
from elmokit.tasks.task_model import LabelPrediction

LINES = [
    {"gold_label": "neutral", "sentence1": "A dog.", "sentence2": "It's a cat."},
    {"gold_label": "-", "sentence1": "A dog.", "sentence2": "A pet."},
]
CAT = ["It", "'s", "a", "cat", "."]


@pytest.mark.parametrize(
    "names",
    [
        ("snli_1.0_train.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
        ("multinli_1.0_train.jsonl", "multinli_1.0_dev_matched.jsonl", "multinli_1.0_dev_mismatched.jsonl"),
        ("train.tsv", "dev.tsv", "test.tsv"),
        ("klue-nli-v1.1_train.json", "klue-nli-v1.1_dev.json", "klue-nli-v1.1_test.json"),
    ],
)
def test_finds_data_sets_by_their_files(tmp_path: Path, names: tuple[str, str, str]):
    with pytest.raises(ValueError, match=r"has no data set of entailment; expected .*snli_1.0_train.jsonl, snli_1.0_d"):
        TASK.find(tmp_path)
    train, dev, test = (tmp_path / name for name in names)
    train.touch()
    dev.touch()
    assert (TASK.find(tmp_path).train, TASK.find(tmp_path).dev, TASK.find(tmp_path).test) == ((train,), (dev,), ())
    test.touch()
    assert TASK.find(tmp_path).test == (test,)


@pytest.mark.parametrize("training", [True, False])
def test_counts_the_pairs_without_a_label(write, training: bool):
    path = write("\n".join(map(json.dumps, LINES)))
    reading = TASK.read(path, TASK.recipes["cpu"]().model, training)
    assert reading.examples == [SentencePair(["A", "dog", "."], CAT, "neutral")]
    assert reading.skipped == {"without a label": 1}
    assert TASK.sentences(reading.examples[0]) == [["A", "dog", "."], CAT]
    assert TASK.symbols(reading.examples) == ["entailment", "neutral", "contradiction"]


@pytest.mark.parametrize("recipe", ["paper", "cpu"])
def test_builds_the_classifier(stand_in_inputs, recipe: str):
    assert isinstance(TASK.build(TASK.recipes[recipe]().model, stand_in_inputs(["a"]), ["x"]), EntailmentClassifier)


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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"premise": "A dog."}, "the pair: field hypothesis: is missing; there are premise"),
        ({"premise": 3, "hypothesis": "A"}, "the pair: field premise: is a number; expected text"),
        ({"premise": "A", "hypothesis": " "}, "the hypothesis ' ' has no tokens"),
        (
            {"premise": ["A", ""], "hypothesis": "A"},
            "field premise: is .*; expected a list of words without spaces",
        ),
        ({"premise": [], "hypothesis": "A"}, "field premise: is .*; expected a list of words without spaces"),
    ],
)
def test_refuses_what_is_no_pair(fields: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        TASK.from_json(fields)


@pytest.mark.parametrize(("line", "number"), [("A dog.", 0), ("A\tB\tC", 2)])
def test_refuses_lines_that_are_no_pair(line: str, number: int):
    with pytest.raises(ValueError, match=f"has {number} tabs; expected a premise, a tab and a hypothesis"):
        TASK.from_text(line)


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
