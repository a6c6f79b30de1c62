from __future__ import annotations

from dataclasses import replace

import pytest

from elmokit.tasks.sentiment.model import BCN, BiLSTMClassifier, CNNClassifier
from elmokit.tasks.sentiment.reader import LabelledText
from elmokit.tasks.sentiment.recipes import SentimentConfig
from elmokit.tasks.sentiment.task import TASK
from elmokit.tasks.task_model import LabelPrediction

TREES = "(3 (2 It) (4 (2 's) (3 good)))\n(2 (2 so) (2 so))\n"
TABLE = "id\tdocument\tlabel\n1\tnot bad\t1\n2\tbad\t0\n"


@pytest.mark.parametrize("training", [True, False])
def test_counts_the_texts_without_a_word(write, training: bool):
    reading = TASK.read(write("id\tdocument\tlabel\n1\t\t1\n2\t굿\t0\n"), SentimentConfig(), training)
    assert [text.tokens for text in reading.examples] == [["굿"]]
    assert reading.skipped == {"without a word": 1}


def test_trains_on_phrases_and_evaluates_on_sentences(write):
    path, config = write(TREES), SentimentConfig(phrases=True)
    assert len(TASK.read(path, config, True).examples) == 8
    assert [text.tokens for text in TASK.read(path, config, False).examples] == [["It", "'s", "good"], ["so", "so"]]
    assert len(TASK.read(path, replace(config, phrases=False), True).examples) == 2


def test_counts_the_phrases_that_are_too_short(write):
    path, config = write(TREES), SentimentConfig(phrases=True, min_phrase_tokens=3)
    reading = TASK.read(path, config, True)
    assert [text.tokens for text in reading.examples] == [["It", "'s", "good"]]
    assert reading.skipped == {"shorter than 3 tokens": 7}
    assert len(TASK.read(path, config, False).examples) == 2


def test_counts_what_is_neutral_when_there_are_two_classes(write):
    reading = TASK.read(write(TREES), SentimentConfig(num_classes=2), False)
    assert [text.label for text in reading.examples] == ["positive"]
    assert reading.skipped == {"neutral": 1}


def test_reads_tables_whose_labels_are_those_of_the_training_set(write):
    reading = TASK.read(write(TABLE), SentimentConfig(), True)
    assert reading.examples == [LabelledText(["not", "bad"], "1"), LabelledText(["bad"], "0")]
    assert TASK.symbols(reading.examples) == ["0", "1"]
    assert TASK.sentences(reading.examples[0]) == [["not", "bad"]]


@pytest.mark.parametrize(("name", "network"), [("bcn", BCN), ("bilstm", BiLSTMClassifier), ("cnn", CNNClassifier)])
def test_builds_each_classifier(stand_in_inputs, name: str, network: type):
    config = replace(TASK.recipes["cpu"]().model, classifier=name)
    classifier = TASK.build(config, stand_in_inputs(["a"]), ["0", "1"])
    assert isinstance(classifier.network, network)


def test_scores_accuracy():
    texts = [LabelledText(["a"], label) for label in "0011"]
    scores = TASK.score(texts, [LabelPrediction(label, {}) for label in "0111"])
    assert scores[TASK.metric] == scores["accuracy"] == 75
    assert scores["macro_f1"] == pytest.approx((200 / 3 + 80) / 2)


def test_takes_raw_text_and_json():
    assert TASK.from_text("It isn't bad.") == LabelledText(["It", "is", "n't", "bad", "."], None)
    assert TASK.from_json({"text": "so so"}) == LabelledText(["so", "so"], None)
    assert TASK.from_json({"tokens": ["so", "so"]}) == LabelledText(["so", "so"], None)


def test_writes_a_table_and_json():
    text, sentiment = LabelledText(["so", "so"], None), LabelPrediction("0", {"0": 0.75, "1": 0.25})
    assert TASK.to_text(text, sentiment) == "0\tso so"
    made = TASK.result(text, sentiment)
    assert made.to_dict() == {"tokens": ["so", "so"], "label": "0", "probabilities": {"0": 0.75, "1": 0.25}}
    assert repr(made) == "<TextSentiment 'so so': 0 (75.0%)>"
