from __future__ import annotations

from dataclasses import replace

import pytest

from elmokit.tasks.sentiment.reader import LabelledText
from elmokit.tasks.sentiment.recipes import SentimentConfig
from elmokit.tasks.sentiment.task import TASK
from elmokit.tasks.task_model import LabelPrediction

TREES = "(3 (2 It) (4 (2 's) (3 good)))\n(2 (2 so) (2 so))\n"


@pytest.mark.parametrize(
    ("text", "changes", "training", "tokens", "skipped"),
    [
        *(
            ("document\tlabel\n\t1\n굿\t0\n", {}, training, [["굿"]], {"without a word": 1})
            for training in (True, False)
        ),
        (TREES, {"min_phrase_tokens": 3}, True, [["It", "'s", "good"]], {"shorter than 3 tokens": 7}),
        (TREES, {"min_phrase_tokens": 3}, False, [["It", "'s", "good"], ["so", "so"]], {}),
        (TREES, {"num_classes": 2}, False, [["It", "'s", "good"]], {"neutral": 1}),
    ],
)
def test_counts_what_is_left_out(
    write, text: str, changes: dict[str, int], training: bool, tokens: list[list[str]], skipped: dict[str, int]
):
    reading = TASK.read(write(text), SentimentConfig(**changes), training)  # type: ignore[arg-type]
    assert [text.tokens for text in reading.examples] == tokens and reading.skipped == skipped


def test_trains_on_phrases_and_evaluates_on_sentences(write):
    path, config = write(TREES), SentimentConfig(phrases=True)
    assert len(TASK.read(path, config, True).examples) == 8
    assert [text.tokens for text in TASK.read(path, config, False).examples] == [["It", "'s", "good"], ["so", "so"]]
    assert len(TASK.read(path, replace(config, phrases=False), True).examples) == 2
    table = TASK.read(write("text\tlabel\nnot bad\t1\nbad\t0\n"), config, True).examples
    assert table == [LabelledText(["not", "bad"], "1"), LabelledText(["bad"], "0")]
    assert (TASK.symbols(table), TASK.sentences(table[0])) == (["0", "1"], [["not", "bad"]])


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
