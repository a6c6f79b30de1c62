"""Progress: what a step, a log line and an evaluation make of it, and how checkpoints keep it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from elmokit.corpus.batches import PackerState
from elmokit.corpus.stream import CorpusPosition
from elmokit.files.json_fields import Fields
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.position import LossWindow, PretrainingProgress

START = PackerState(CorpusPosition(), ([],))
LATER = PackerState(CorpusPosition(epoch=1, shard=2, block=3, sentence=4), (["밥", "</S>"],))


def progress() -> PretrainingProgress:
    return PretrainingProgress((START,)).after((2.0, 4.0), num_tokens=60, seconds=1.5, packers=[LATER])


def test_a_step_counts_and_takes_over_the_texts_position() -> None:
    two = progress().after((4.0, 8.0), num_tokens=60, seconds=0.5, packers=[LATER])
    assert (two.step, two.num_tokens, two.seconds, two.packers) == (2, 120, 2.0, (LATER,))
    assert two.window.losses == [3.0, 6.0] and two.window.loss == 4.5
    assert two.window.seconds_per_step == 1.0


def test_a_log_line_begins_a_new_window_and_nothing_else() -> None:
    assert progress().logged() == replace(progress(), window=LossWindow())


def test_a_run_ends_after_its_last_step_or_when_patience_does() -> None:
    assert progress().finished(PretrainingConfig(num_steps=1))
    assert not progress().finished(PretrainingConfig(num_steps=2))
    waiting = PretrainingProgress((START,))
    for perplexity in (9.0, 8.0, 8.0):
        waiting = waiting.evaluated(perplexity)
        assert not waiting.finished(PretrainingConfig(patience=2))
    assert waiting.best.perplexity == 8.0
    assert waiting.evaluated(9.0).finished(PretrainingConfig(patience=2))


def test_progress_survives_its_json_except_for_the_times_of_the_window() -> None:
    measured = progress().evaluated(8.0)
    read = PretrainingProgress.from_json(Fields("training.json", json.loads(json.dumps(measured.to_json()))))
    assert read == replace(measured, window=LossWindow(((2.0, 4.0),)))


def test_progress_of_the_first_checkpoints_had_no_best_perplexity() -> None:
    record = json.loads(json.dumps(progress().to_json()))
    del record["best"]
    assert PretrainingProgress.from_json(Fields("training.json", record)).best.perplexity is None
    del record["packers"]
    with pytest.raises(ValueError, match=r"training\.json: field packers: is missing"):
        PretrainingProgress.from_json(Fields("training.json", record))


def test_the_speed_after_resuming_is_that_of_the_steps_since() -> None:
    window = LossWindow(((1.0,), (2.0,), (3.0,)))  # as a checkpoint brings them
    assert window.seconds_per_step == 0
    resumed = window.after((6.0,), seconds=8.0)
    assert resumed.loss == 3.0
    assert resumed.seconds_per_step == 8.0
