"""`kill -9` at any moment: the run goes on and ends with the same bits; at length in benchmarks/resume_torture.py."""

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
from elmokit.pretraining.config import with_settings
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain, resume_pretraining
from run_contents import contents_of_run

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


@pytest.mark.slow
@pytest.mark.timeout(300)  # it needs 8 processor seconds, which can take a minute on a machine that others use
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(
    text: list[Path], forks: Any, kill_seed: int, tmp_path: Path
) -> None:
    randomness = random.Random(kill_seed)
    *shards, vocabulary = text
    files = ["--vocabulary", vocabulary, "--held-out", shards[0]]
    start = ["pretrain", *shards, *files, "--recipe", "tiny", "--set", *SETTINGS, "--run"]
    (tmp_path / "whole").mkdir()
    whole, run = tmp_path / "whole" / "run", tmp_path / "run"  # the card has the folder's name
    forks.start(*start, whole)
    began = time.monotonic()
    assert forks.wait() == 0
    seconds = time.monotonic() - began

    for number in range(3):
        is_run = (run / "config.json").exists()
        process = forks.start("pretrain", "--resume", run) if is_run else forks.start(*start, run)
        deadline = time.monotonic() + randomness.uniform(0, seconds / 2)
        while time.monotonic() < deadline or (number == 0 and not _ended(process) and not _saving(run)):
            time.sleep(0.0005)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        assert forks.wait() in (0, -signal.SIGKILL), f"--kill-seed {kill_seed}, kill {number}"

    last = ["pretrain", "--resume", run] if (run / "config.json").exists() else [*start, run]
    forks.start(*last)
    assert forks.wait() == 0, f"--kill-seed {kill_seed}"
    expected, got = contents_of_run(whole), contents_of_run(run)
    assert {name for name in expected if got.get(name) != expected[name]} == set(), f"--kill-seed {kill_seed}"


def _ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def _saving(run: Path) -> bool:
    return any((run / "checkpoints").glob(".writing-*"))


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
        assert f"error: {run} is in use by process {first} on " in capsys.readouterr().err
    os.kill(first, signal.SIGKILL)
    assert forks.wait() == -signal.SIGKILL
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
    with pytest.raises(FileNotFoundError, match="is not a run folder: it has no config.json"):
        resume_pretraining(run)
    pretrain(shards, vocabulary_path=vocabulary, run_dir=run, config=config)
    assert (run / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()


def test_held_out_text_of_a_start_cut_short_is_not_the_next_ones(text: list[Path], tmp_path: Path) -> None:
    *shards, vocabulary = text
    run = tmp_path / "run"
    run.mkdir()
    (run / "heldout.txt").write_text("word1 word2\n")
    config = with_settings(recipe("tiny"), [*SETTINGS, "num_steps=1"])
    pretrain(shards, vocabulary_path=vocabulary, run_dir=run, config=config)
    assert "heldout" not in (run / "metrics.jsonl").read_text()
