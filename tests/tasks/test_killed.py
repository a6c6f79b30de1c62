"""`kill -9` at any moment: `elmokit train` goes on behind the last whole epoch and ends with the same bits."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main
from run_contents import contents_of_run

SETTINGS = (
    "word_dim=8",
    "train_word_vectors=true",
    "classifier=bilstm",
    "encoder_dim=8",
    "max_epochs=6",
    "patience=6",
    "batch_size=4",
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Texts whose label is that of their last word."""
    randomness = random.Random(0)
    folder = tmp_path / "data"
    folder.mkdir()
    for name, number in (("train", 60), ("dev", 20), ("test", 20)):
        lines = ["text\tlabel"]
        for _ in range(number):
            words = [f"word{randomness.randrange(20)}" for _ in range(randomness.randrange(1, 9))]
            lines.append(f"{' '.join(words)}\t{int(words[-1][4:]) % 2}")
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(300)  # as in pretraining's
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(data: Path, forks: Any, kill_seed: int, tmp_path: Path):
    randomness = random.Random(kill_seed)
    elmo = ("--elmo", "both", "--cache", tmp_path / "cache")
    start = ["train", "sentiment", "--data", data, "--recipe", "cpu", *elmo, "--set", *SETTINGS, "--run"]
    whole, run = tmp_path / "whole", tmp_path / "run"
    forks.start(*start, whole)
    began = time.monotonic()
    assert forks.wait() == 0
    seconds = time.monotonic() - began

    epochs: set[int] = set()
    for number in range(4):
        is_run = (run / "config.json").exists()
        process = forks.start("train", "--resume", run, *elmo[2:]) if is_run else forks.start(*start, run)
        time.sleep(randomness.uniform(0, 0.8 * seconds))
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        assert forks.wait() in (0, -signal.SIGKILL), f"--kill-seed {kill_seed}, kill {number}"
        epochs.add(len(_lines(run)))
    forks.start(*(["train", "--resume", run, *elmo[2:]] if (run / "config.json").exists() else [*start, run]))
    assert forks.wait() == 0, f"--kill-seed {kill_seed}, killed behind {sorted(epochs)} lines"
    assert contents_of_run(run) == contents_of_run(whole), (
        f"--kill-seed {kill_seed}, killed behind {sorted(epochs)} lines"
    )


def test_a_second_process_is_refused_until_the_first_is_dead(
    data: Path, forks: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = tmp_path / "run"
    start = ["train", "sentiment", "--data", str(data), "--recipe", "cpu", "--elmo", "none", "--run", str(run)]
    settings = [*SETTINGS, "max_epochs=1000000", "patience=1000000"]
    first = forks.start(*start, "--set", *settings)
    while not (run / "checkpoint.safetensors").exists():
        time.sleep(0.01)
    for second in (start, ["train", "--resume", str(run)]):
        assert main(second) == 2
        assert f"error: {run} is in use by process {first} on " in capsys.readouterr().err
    os.kill(first, signal.SIGKILL)
    assert forks.wait() == -signal.SIGKILL
    assert main(["train", "--resume", str(run), "--set", "max_epochs=1"]) == 0
    assert not list(tmp_path.glob(".*"))


def _lines(run: Path) -> list[str]:
    metrics = run / "metrics.jsonl"
    return metrics.read_text().splitlines() if metrics.exists() else []
