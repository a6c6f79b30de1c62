"""Runs that were killed at their start, and two processes on one run; kills at any moment are in test_attack.py."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main
from elmokit.pretraining.train import resume_pretraining
from toy_run import pretrain_toy, write_text


def test_a_second_process_is_refused_until_the_first_is_dead(
    forks: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shard, vocabulary = map(str, write_text(tmp_path))
    run = tmp_path / "run"
    start = ["pretrain", shard, "--vocabulary", vocabulary, "--recipe", "tiny", "--run", str(run)]
    first = forks.start(*start, "--set", "lstm_dim=40", "precision=float32", "checkpoint_every=3", "num_steps=1000000")
    while not (run / "checkpoints" / "step-00000003").exists():
        time.sleep(0.01)
    for second in (start, ["pretrain", "--resume", str(run)]):
        assert main(second) == 2
        assert f"error: {run} is in use by another process" in capsys.readouterr().err
    os.kill(first, signal.SIGKILL)
    assert forks.wait(first) == -signal.SIGKILL
    steps = max(int(path.name[5:]) for path in (run / "checkpoints").glob("step-*"))
    assert main(["pretrain", "--resume", str(run), "--set", f"num_steps={steps}"]) == 0
    assert not list(tmp_path.glob(".*")) and not list(run.glob(".*"))


def test_a_run_killed_before_it_had_a_config_is_no_run_and_can_be_started(tmp_path: Path) -> None:
    whole, run = pretrain_toy(tmp_path / "whole", "num_steps=1"), tmp_path / "run"
    run.mkdir()
    (run / "vocabulary.txt").write_bytes((whole / "vocabulary.txt").read_bytes())
    (run / ".starting").touch()
    with pytest.raises(FileNotFoundError, match="is not a run folder: it has no config.json"):
        resume_pretraining(run)
    pretrain_toy(run, "num_steps=1")
    assert not (run / ".starting").exists()
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_held_out_text_of_a_start_cut_short_is_not_the_next_ones(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "heldout.txt").write_text("the boat\n")
    with pytest.raises(ValueError, match=r"run has a file heldout.txt, which the run would replace; choose another"):
        pretrain_toy(run, "num_steps=1")
    assert (run / "heldout.txt").read_text() == "the boat\n"  # it may be the user's
    (run / ".starting").touch()
    pretrain_toy(run, "num_steps=1")
    assert "heldout" not in (run / "metrics.jsonl").read_text()
