"""The run's log: lines on stderr and in metrics.jsonl, and silence in all processes but the first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.corpus.batches import PackerState
from elmokit.corpus.stream import CorpusPosition
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.logging import RunLog
from elmokit.pretraining.position import LossWindow, PretrainingProgress
from elmokit.scoring.perplexity import DirectionPerplexity, Perplexity

CONFIG = PretrainingConfig(num_steps=100, batch_size=4, bptt_steps=5, learning_rate=0.5)
RESUMED = PretrainingProgress(
    (PackerState(CorpusPosition(), ([],)),), step=9, num_tokens=180, window=LossWindow(((1.0, 3.0),) * 9)
)
"""Nine steps that are not yet in the log, out of a checkpoint."""
MEASURED = Perplexity(DirectionPerplexity(4.0, 4.0), None, 1, 9, 0, 99, carried_state=False)


def after_a_step() -> PretrainingProgress:
    return RESUMED.after((1.0, 3.0), num_tokens=20, seconds=10.0, packers=RESUMED.packers)


def test_the_first_line_after_resuming_knows_the_speed_of_the_steps_since(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunLog(tmp_path, CONFIG, step=9) as log:
        log.show_step(after_a_step())
        log.log_losses(after_a_step())
    expected = "step 10/100: sampled loss 2.000, 2 tokens/s, 0:15:00 left\n"  # 90 steps of 10 seconds
    assert capsys.readouterr().err == expected
    (line,) = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert line == {
        "step": 10,
        "num_tokens": 200,
        "loss": 2.0,
        "losses": [1.0, 3.0],
        "learning_rate": 0.5,
        "tokens_per_second": 2.0,
        "seconds": 10.0,
    }


def test_only_the_first_process_speaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunLog(tmp_path, replace(CONFIG, tensorboard=True), step=9, silent=True) as log:
        log.show_step(after_a_step())
        log.log_losses(after_a_step())
        log.log_perplexity(RESUMED, MEASURED)
    assert capsys.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []


def test_a_log_line_says_which_perplexity_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = after_a_step().evaluated(110.0)
    with RunLog(tmp_path, replace(CONFIG, softmax="full"), step=9) as log:
        log.log_losses(measured)
    assert (
        "step 10/100: loss 2.000, training perplexity 7.4, best held-out perplexity 110.0, " in capsys.readouterr().err
    )
