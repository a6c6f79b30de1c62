"""Two processes and one run of `elmokit train`; that a killed run ends with the same bits is in test_attack.py."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main

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
        assert f"error: {run} is in use by another process" in capsys.readouterr().err
    os.kill(first, signal.SIGKILL)
    assert forks.wait(first) == -signal.SIGKILL
    assert main(["train", "--resume", str(run), "--set", "max_epochs=1"]) == 0
    assert not list(tmp_path.glob(".*"))
