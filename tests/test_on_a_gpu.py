"""benchmarks/on_a_gpu.py with tiny sizes on the CPU, so that an hour with a GPU needs no preparation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import on_a_gpu
from elmokit import Elmo
from elmokit.scoring.perplexity import read_scorer

CPU = ["--device", "cpu"]
SENTENCES = ["the cat sat on the mat .", "a dog saw the old cat .", "the old dog sat ."]
SETTINGS = ["num_steps=4", "checkpoint_every=2", "log_every=1", "batch_size=2", "bptt_steps=4", "evaluate_every=0"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "en"
    folder.mkdir(parents=True)
    text = "\n".join(SENTENCES * 40) + "\n"
    (folder / "train-00000.txt").write_text(text, encoding="utf-8")
    (folder / "heldout.txt").write_text(text, encoding="utf-8")
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    (folder / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words]) + "\n", encoding="utf-8")
    return tmp_path / "data"


def test_speed_of_each_size_is_measured_and_kept(tmp_path: Path):
    output = tmp_path / "out"
    sizes = ["--sizes", "tiny", "--tokens", "4000", "--runs", str(tmp_path / "runs"), *CPU]
    assert on_a_gpu.main(["--output", str(output), *sizes, "--", "speed"]) == 0
    rows = json.loads((output / "speed.json").read_text(encoding="utf-8"))["rows"]
    assert [row["what"] for row in rows] == ["training"] * 3 + ["embedding"] * 2
    assert [row["batch_size"] for row in rows[:3]] == [4, 16, 64]
    assert all(row["tokens_per_second"] > 0 for row in rows)


@pytest.mark.slow
def test_training_goes_on_in_the_next_call_and_leaves_weights_in_small_files(data: Path, tmp_path: Path):
    output, runs = tmp_path / "out", tmp_path / "runs"
    given = ["--output", str(output), "--runs", str(runs), "--data", str(data), "--recipe", "tiny", *CPU]
    given += ["--megabytes", "0.05", "--set", *SETTINGS, "--", "train"]
    assert on_a_gpu.main(given) == 0
    first = lines_of(runs / "tiny-en" / "metrics.jsonl")
    assert on_a_gpu.main(given) == 0  # the run has ended, so that it stays as it is
    assert lines_of(runs / "tiny-en" / "metrics.jsonl") == first
    weights = output / "tiny-en"
    assert max(path.stat().st_size for path in weights.iterdir()) <= 50_000
    parts = sorted(weights.glob("model.safetensors.part-*"))
    (weights / "model.safetensors").write_bytes(b"".join(part.read_bytes() for part in parts))
    assert Elmo.from_pretrained(weights).num_layers == 3
    assert read_scorer(weights)


def test_a_run_that_cannot_start_is_a_failure(tmp_path: Path):
    given = ["--output", str(tmp_path / "out"), "--runs", str(tmp_path / "runs"), "--data", str(tmp_path), *CPU]
    assert on_a_gpu.main([*given, "train"]) == 1
    assert "there is no such file" in (tmp_path / "out" / "mini-flat-en.log").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_tasks_runs_are_made_without_and_with_elmo(tmp_path: Path):
    data = tmp_path / "data" / "tasks" / "conll2003"
    data.mkdir(parents=True)
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (data / name).write_text("Jane NNP I-NP I-PER\nlives VBZ I-VP O\n\n" * 4, encoding="utf-8")
    given = ["--output", str(tmp_path / "out"), "--runs", str(tmp_path / "runs"), "--data", str(tmp_path / "data")]
    given += ["--tasks", "named-entities", "--task-recipe", "cpu", "--task-set", "max_epochs=1", *CPU]
    assert on_a_gpu.main([*given, "--", "tasks"]) == 0
    for elmo in ("none", "both"):
        assert lines_of(tmp_path / "out" / f"named-entities-cpu-{elmo}.metrics.jsonl")


def test_time_that_runs_out_is_no_failure(tmp_path: Path):
    given = ["--output", str(tmp_path / "out"), "--minutes", "0", *CPU]
    assert on_a_gpu.main([*given, "--tests", "tests/text", "--", "tests"]) == 0


def test_weights_that_were_not_converted_in_time_are_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = tmp_path / "runs" / "mini-flat-en"
    run.mkdir(parents=True)
    for name in ("config.json", "metrics.jsonl", "model.safetensors"):
        (run / name).touch()
    monkeypatch.setattr(on_a_gpu, "_run", lambda *_, **__: 0)  # as when the time runs out
    given = ["--output", str(tmp_path / "out"), "--runs", str(tmp_path / "runs"), "--data", str(tmp_path), *CPU]
    assert on_a_gpu.main([*given, "train"]) == 1
    assert list((tmp_path / "out").iterdir()) == []


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
