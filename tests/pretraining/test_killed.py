"""Runs that were killed at their start, and two processes on one run; kills at any moment are in test_attack.py."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main
from elmokit.pretraining.config import with_settings
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain, resume_pretraining

SETTINGS = (
    *("num_steps=15", "checkpoint_every=3", "log_every=2", "precision=float32", "softmax=sampled", "num_negatives=6"),
    *("dropout_rate=0.1", "reset_state=false", "lstm_dim=40", "bptt_steps=3", "evaluate_every=5"),
)


@pytest.fixture
def text(tmp_path: Path) -> list[Path]:
    """Three shards that a run goes through several times, and their vocabulary."""
    randomness = random.Random(0)
    words = [f"word{number}" for number in range(50)]
    shards = [tmp_path / f"shard-{number}.txt" for number in range(3)]
    for shard in shards:
        shard.write_text("".join(" ".join(randomness.choices(words, k=number % 7 + 1)) + "\n" for number in range(9)))
    vocabulary = tmp_path / "vocabulary.txt"
    vocabulary.write_text("\n".join(["<S>", "</S>", "<UNK>", *words, ""]))
    return [*shards, vocabulary]


def test_a_second_process_is_refused_until_the_first_is_dead(
    text: list[Path], forks: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *shards, vocabulary = map(str, text)
    run = tmp_path / "run"
    start = ["pretrain", *shards, "--vocabulary", vocabulary, "--recipe", "tiny", "--run", str(run)]
    first = forks.start(*start, "--set", *SETTINGS, "num_steps=1000000")
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


def test_a_run_killed_before_it_had_a_config_is_no_run_and_can_be_started(text: list[Path], tmp_path: Path) -> None:
    *shards, vocabulary = text
    run = tmp_path / "run"
    config = with_settings(recipe("tiny"), [*SETTINGS, "num_steps=1"])
    pretrain(shards, vocabulary_path=vocabulary, run_dir=tmp_path / "whole", config=config)
    run.mkdir()
    (run / "vocabulary.txt").write_bytes((tmp_path / "whole" / "vocabulary.txt").read_bytes())
    (run / ".starting").touch()
    with pytest.raises(FileNotFoundError, match="is not a run folder: it has no config.json"):
        resume_pretraining(run)
    pretrain(shards, vocabulary_path=vocabulary, run_dir=run, config=config)
    assert not (run / ".starting").exists()
    assert (run / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()


def test_held_out_text_of_a_start_cut_short_is_not_the_next_ones(text: list[Path], tmp_path: Path) -> None:
    *shards, vocabulary = text
    run = tmp_path / "run"
    run.mkdir()
    (run / "heldout.txt").write_text("word1 word2\n")
    config = with_settings(recipe("tiny"), [*SETTINGS, "num_steps=1"])
    with pytest.raises(ValueError, match=r"run has a file heldout.txt, which the run would replace; choose another"):
        pretrain(shards, vocabulary_path=vocabulary, run_dir=run, config=config)
    assert (run / "heldout.txt").read_text() == "word1 word2\n"  # it may be the user's
    (run / ".starting").touch()
    pretrain(shards, vocabulary_path=vocabulary, run_dir=run, config=config)
    assert "heldout" not in (run / "metrics.jsonl").read_text()
