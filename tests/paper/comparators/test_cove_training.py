"""Training of CoVe's encoder: a toy translation is learnt by heart, and the folder is opened as CoVe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elmokit.runs.optimizer_state import DivergenceError
from elmokit.vectors.files import load_vectors
from paper.__main__ import main
from paper.comparators import cove_training
from paper.comparators.cove_training import train_cove

SOURCE = "a cat sleeps\na dog runs fast\nthe cat runs\nthe dog sleeps here now\n"
TARGET = "eine Katze schläft heute\nein Hund läuft sehr schnell\ndie Katze läuft gern\nder Hund schläft jetzt hier\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "train.en").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "train.de").write_text(TARGET, encoding="utf-8")
    words = sorted(set(SOURCE.split()))
    rows = [
        f"{word} {' '.join(str(float(position == row)) for position in range(len(words)))}\n"
        for row, word in enumerate(words)
    ]
    (tmp_path / "glove.txt").write_text("".join(rows))
    return [tmp_path / "train.en", tmp_path / "train.de"]


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    sizes = ["hidden_dim=16", "target_dim=16", "min_count=1", "batch_size=2", "dropout_rate=0"]
    return [f"word_vectors={tmp_path / 'glove.txt'}", *sizes]


def test_a_toy_translation_is_learnt_by_heart_and_its_encoder_is_cove(
    files: list[Path], settings: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = tmp_path / "run"
    command = ["train-comparator", "cove", *map(str, files * 2), "-o", str(run)]
    assert main([*command, "--set", *settings, "epochs=40", "learning_rate=0.02"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["bleu"] == pytest.approx(100)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 40
    assert lines[39]["loss"] < 0.1 < lines[0]["loss"]
    out = tmp_path / "out.npy"
    embed = ["embed", f"cove:{run}", str(files[0]), "-o", str(out)]
    assert main([*embed, "--word-vectors", str(tmp_path / "glove.txt")]) == 0
    assert load_vectors(out)[0].shape == (2, 3, 32)
    assert main(embed) == 2
    assert "give their file with --word-vectors FILE" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_encoder(files: list[Path], settings: list[str], tmp_path: Path):
    for name in ("a", "b"):
        train_cove(files, tmp_path / name, [*settings, "epochs=2"])
    first, second = ((tmp_path / name / "encoder.safetensors").read_bytes() for name in ("a", "b"))
    assert first == second


def test_a_translation_that_is_empty_is_not_learnt_from(files: list[Path], settings: list[str], tmp_path: Path):
    train_cove(files, tmp_path / "whole", [*settings, "epochs=1"])
    for file, line in zip(files[:2], ("a dog", ""), strict=True):
        file.write_text(f"{file.read_text()}{line}\n")
    train_cove(files, tmp_path / "run", [*settings, "epochs=1"])
    first, second = ((tmp_path / name / "encoder.safetensors").read_bytes() for name in ("whole", "run"))
    assert first == second


def test_without_a_frequent_word_nothing_is_trained_or_written(files: list[Path], settings: list[str], tmp_path: Path):
    with pytest.raises(ValueError, match=r"no word of the translations occurs at least 99 times \(min_count\)"):
        train_cove(files, tmp_path / "run", [*settings, "min_count=99"])
    assert not (tmp_path / "run").exists()


def test_only_the_most_frequent_words_are_translated(files: list[Path], settings: list[str], tmp_path: Path):
    losses = [train_cove(files, tmp_path / size, [*settings, f"max_size={size}", "epochs=1"])["loss"] for size in "19"]
    assert losses[0] < losses[1]  # one word and the specials are fewer than all


def test_an_interrupted_training_ends_with_the_encoder_of_one_that_was_not(
    files: list[Path], settings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = [*settings, "epochs=4", "dropout_rate=0.3"]
    train_cove(files, tmp_path / "whole", settings)
    append = cove_training.save_checkpoint
    saved: list[int] = []

    def stop_after_two(*arguments: Any) -> None:
        append(*arguments)
        saved.append(1)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(cove_training, "save_checkpoint", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        train_cove(files, tmp_path / "run", settings)
    train_cove(files, tmp_path / "run", settings, resume=True)
    whole, resumed = ((tmp_path / name / "encoder.safetensors").read_bytes() for name in ("whole", "run"))
    assert whole == resumed and len(saved) == 4
    assert [json.loads(line)["epoch"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()] == [
        0,
        1,
        2,
        3,
    ]


@pytest.mark.parametrize("function", ["write_tensors", "save_checkpoint"])
def test_a_training_that_is_stopped_while_it_writes_is_continued(
    function: str, files: list[Path], settings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = [*settings, "epochs=1"]
    train_cove(files, tmp_path / "whole", settings)
    with monkeypatch.context() as patch:
        patch.setattr(cove_training, function, _stop)
        with pytest.raises(KeyboardInterrupt):
            train_cove(files, tmp_path / "run", settings)
    train_cove(files, tmp_path / "run", settings, resume=True)
    whole, resumed = ((tmp_path / name / "encoder.safetensors").read_bytes() for name in ("whole", "run"))
    assert whole == resumed


def _stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_cannot_be_trained_is_refused(files: list[Path], settings: list[str], tmp_path: Path):
    run = tmp_path / "run"
    with pytest.raises(ValueError, match="--set word_vectors=FILE"):
        train_cove(files, run)
    with pytest.raises(ValueError, match="3 files were given; expected SOURCE TARGET"):
        train_cove([*files, files[0]], run, settings)
    with pytest.raises(ValueError, match="no pair has 1 to 2 tokens"):
        train_cove(files, run, [*settings, "max_tokens=2"])
    for setting in ("hidden_dim=0", "dropout_rate=1", "clip_norm=0", f"seed={1 << 63}"):
        with pytest.raises(ValueError, match=setting.partition("=")[0]):
            train_cove(files, run, [*settings, setting])
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        train_cove(files, tmp_path / "diverged", [*settings, "learning_rate=1e30"])
    blank = [file.with_name(f"blank-{file.name}") for file in files[:2]]
    for file in blank:
        file.write_text("\n\n")
    with pytest.raises(ValueError, match="no pair has 1 to"):
        train_cove(blank, tmp_path / "blank", settings)
    assert not (tmp_path / "blank").exists()
    files[1].write_text("nur eine\n")
    with pytest.raises(ValueError, match="has 4 lines and .* 1; expected a translation of each line"):
        train_cove(files, run, settings)
