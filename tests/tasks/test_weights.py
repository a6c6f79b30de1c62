"""Folders of runs from strangers: every damage is one error that names the file, before memory is taken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from elmokit.tasks.config import InputConfig, Splits, TaskConfig, TrainingConfig
from elmokit.tasks.named_entities.task import TASK
from elmokit.tasks.saved import load_task
from elmokit.tasks.train import resume_task, train

SENTENCES = "Jane B-PER\nlives O\nin O\nSeoul B-LOC\n\nThe O\nbank O\nof O\nKorea B-LOC\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained tagger of names, as `elmokit train` leaves it."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "data").write_text(SENTENCES)
    config = TaskConfig(
        TASK.model_config(first_dim=4, second_dim=3),
        InputConfig(word_dim=5, character_dim=3, character_filters=((2, 4),)),
        TrainingConfig(max_epochs=1),
    )
    splits = Splits((folder / "data",), (folder / "data",))
    return train(TASK, splits, run_dir=folder / "run", config=config, device="cpu")


@pytest.fixture
def run_dir(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "run"))


def change_config(run_dir: Path, part: str | None, **values: object) -> None:
    config = json.loads((run_dir / "config.json").read_text())
    (config if part is None else config[part]).update(values)
    (run_dir / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("model", {"second_dim": 20_000}, r"model.safetensors: tensor second\..* has shape .*; the model that config"),
        ("model", {"second_dim": 1 << 50}, r"config.json: describes no model: "),
        ("model", {"third_dim": 3}, r"config.json: field model.third_dim: is not known"),
        ("inputs", {"character_filters": [[2, 1 << 30]]}, r"model.safetensors: tensor inputs.characters.* has shape"),
        ("inputs", {"character_filters": [[2, 4]] * 65}, r"config.json: field inputs.character_filters: has 65"),
        ("inputs", {"character_dim": 0}, r"model.safetensors: tensor .*"),
        ("inputs", {"max_characters": 1 << 30}, r"config.json: inputs: max_characters is 1073741824; expected"),
        ("training", {"decay": None}, r"config.json: field training.decay: is null; expected a number"),
        (None, {"symbols": ["O"] * 1001}, r"config.json: symbols has 1,001 entries; expected at most 1,000"),
        (None, {"symbols": ["O"]}, r"model.safetensors: tensor dense.weight: has shape \(9, 6\);|model.safetensors: t"),
        (None, {"symbols": ["O", 7]}, r"config.json: field symbols\[1\]: is a number; expected text"),
        (None, {"files": {"train": "data"}}, r"config.json: field files.train: is text; expected a list"),
        (None, {"examples": {"train": {"examples": -1}}}, r"config.json: field examples.train.examples: is -1"),
    ],
)
def test_a_config_that_is_not_that_of_the_weights_is_refused_before_memory_is_taken(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, part: str | None, values: dict[str, Any], message: str
):
    change_config(run_dir, part, **values)
    monkeypatch.setattr("elmokit.tasks.saved.new_model", lambda *_, **__: pytest.fail("memory is taken"))
    with pytest.raises(ValueError, match=message):
        load_task(run_dir, device="cpu")
    if values == {"second_dim": 20_000}:  # a run that is resumed is compared with its checkpoint
        monkeypatch.setattr("elmokit.tasks.train.new_model", lambda *_, **__: pytest.fail("memory is taken"))
        with pytest.raises(ValueError, match=message.replace("model", "checkpoint", 1) + ".*Nothing was changed"):
            resume_task(run_dir, device="cpu")


@pytest.mark.parametrize("name", ["config.json", "words.json"])
def test_links_out_of_the_folder_are_not_followed(run_dir: Path, tmp_path: Path, name: str):
    (run_dir / name).rename(tmp_path / "elsewhere")
    (run_dir / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=rf"{name}: is a link out of its folder, and is not followed"):
        load_task(run_dir, device="cpu")


def without(name: str) -> Callable[[dict[str, torch.Tensor]], object]:
    return lambda tensors: tensors.pop(name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("dense.bias"), "tensor dense.bias: is missing; config.json describes a model with it"),
        (lambda tensors: tensors.update(more=torch.ones(2)), "tensor more: is not part of the model"),
        (lambda tensors: tensors["dense.bias"].fill_(torch.nan), "tensor dense.bias: has numbers that are not finite"),
    ],
)
def test_weights_that_are_not_those_of_the_config_are_refused(
    run_dir: Path, change: Callable[[dict[str, torch.Tensor]], object], message: str
):
    tensors = load_file(run_dir / "model.safetensors")
    change(tensors)
    save_file(tensors, run_dir / "model.safetensors")
    with pytest.raises(ValueError, match=f"model.safetensors: {message}"):
        load_task(run_dir, device="cpu")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"learnt": ["a"], "fixed": []}, r"words.safetensors: tensor vectors: has 9 vectors, but words.json 2 words"),
        ({"learnt": [*"abcdefg", "a"], "fixed": []}, r"words.json: has a word more than once"),
        ({"learnt": "abcdefgh", "fixed": []}, r"words.json: field learnt: is text; expected a list"),
        ({"learnt": [*"abcdefg", 8], "fixed": []}, r"words.json: field learnt\[7\]: is a number; expected text"),
        ({"learnt": []}, r"words.json: field fixed: is missing"),
    ],
)
def test_words_that_are_not_those_of_the_vectors_are_refused(run_dir: Path, content: object, message: str):
    (run_dir / "words.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        load_task(run_dir, device="cpu")
