"""Runs that an earlier elmokit wrote, read today: a committed config.json, and weights under their old names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from elmokit.tasks.config import ElmoInput, InputConfig, with_settings
from elmokit.tasks.old_runs import current_tensors, from_version_1
from elmokit.tasks.run_folder import read_record
from elmokit.tasks.saved import load_task
from elmokit.tasks.task import Task
from elmokit.tasks.train import resume_task, train

Toy = Task[Any, Any]

OLD_RUN = Path(__file__).parent / "old_run"  # coreference of 2026-11-21, version 1


def as_version_1(run_dir: Path) -> None:
    """What elmokit wrote before ELMo's settings were one dataclass: flat fields, and other names of its weights."""
    path = run_dir / "config.json"
    record = json.loads(path.read_text())
    elmo = record["inputs"].pop("elmo")
    del elmo["train_gamma"]  # it is younger
    record["inputs"] |= {"train_elmo" if name == "train" else f"elmo_{name}": value for name, value in elmo.items()}
    record["inputs"]["elmo"] = record["inputs"].pop("elmo_position")
    record |= {"version": 1, "labels": record.pop("symbols")}
    path.write_text(json.dumps(record))
    places = {"both": ("input", "output")}.get(elmo["position"], (elmo["position"],))
    for name, prefix in (("model.safetensors", ""), ("checkpoint.safetensors", "model.")):
        tensors = load_file(run_dir / name)
        renamed = {f"{prefix}inputs.elmo.scales": torch.ones(3)}
        for key, tensor in tensors.items():
            for number, place in enumerate(places):
                key = key.replace(f"inputs.elmo.mixes.{number}.", f"inputs.elmo.{place}_mix.")
            renamed[key.replace("inputs.elmo.bilm.", "inputs.elmo.source.bilm.")] = tensor
        assert renamed.keys() - tensors.keys() and not any(".mixes." in key for key in renamed)
        metadata = {}
        if prefix:
            length = int.from_bytes((run_dir / name).read_bytes()[:8], "little")
            metadata = json.loads((run_dir / name).read_bytes()[8 : 8 + length])["__metadata__"]
            del metadata["checksum"]  # it is younger
        save_file(renamed, run_dir / name, metadata=metadata)


def test_a_committed_run_reads_with_its_elmo_settings_as_one():
    record = read_record(OLD_RUN)
    assert (record.task, record.config.model.max_width, record.config.training.decay) == ("coreference", 10, 0.9)
    assert record.config.inputs.elmo == ElmoInput("input", "mini-en", dropout_rate=0.3, rescale=True)
    assert record.config.inputs.character_filters == ((3, 30), (4, 30), (5, 30))
    assert record.symbols[:2] == ["academic", "bio"] and record.fingerprint == "106c0eb86eb6bbbc2139214244e68c7d"


def test_reading_a_run_imports_no_torch():
    code = f"""
import sys
from pathlib import Path
from elmokit.tasks.run_folder import read_record

assert read_record(Path({str(OLD_RUN)!r})).config.inputs.elmo is not None
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_elmo_that_was_nowhere_is_none():
    record = json.loads((OLD_RUN / "config.json").read_text())
    record["inputs"]["elmo"] = "none"
    assert from_version_1(record)["inputs"]["elmo"] is None


def test_reasons_of_skipped_questions_have_their_new_names():
    record = json.loads((OLD_RUN / "config.json").read_text())
    counts = {"examples": 9, "the answer is in no token": 1, "the answer is beyond the first 150 tokens": 2}
    assert from_version_1(record | {"examples": {"train": counts}})["examples"]["train"] == {
        "examples": 9,
        "questions whose answer no token covers": 1,
        "questions with an answer beyond the first 150 tokens": 2,
    }


def test_the_scales_of_layers_that_were_rescaled_are_kept():
    for rescale in (False, True):
        inputs = InputConfig(elmo=ElmoInput("output", rescale=rescale))
        tensors = {"inputs.elmo.scales": 2, "inputs.elmo.output_mix.gamma": 1, "dense.weight": 3}
        kept = {"inputs.elmo.scales": 2} if rescale else {}
        assert current_tensors(tensors, inputs) == {"inputs.elmo.mixes.0.gamma": 1, "dense.weight": 3} | kept


@pytest.mark.parametrize("settings", [("elmo=both",), ("elmo=output",), ("elmo=input", "elmo.train=true")], ids=str)
def test_an_old_run_predicts_and_continues_as_a_new_one(
    toy: Toy, toy_data: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path, settings: tuple[str, ...]
):
    config = with_settings(toy.recipes["cpu"](), [*settings, f"elmo.model={tiny_bilms[0]}", "max_epochs=1"])
    new = train(toy, toy_data, run_dir=tmp_path / "new", config=config, device="cpu")
    old = tmp_path / "old"
    shutil.copytree(new, old)
    as_version_1(old)
    texts = ["bear with cat", "cow ant", "apple"]
    assert load_task(old, task=toy, device="cpu").predict_all(texts) == load_task(
        new, task=toy, device="cpu"
    ).predict_all(texts)
    for run_dir in (old, new):
        resume_task(run_dir, ["max_epochs=3"], task=toy, device="cpu")
    old_tensors, new_tensors = (load_file(run_dir / "checkpoint.safetensors") for run_dir in (old, new))
    assert old_tensors.keys() == new_tensors.keys()
    assert all(torch.equal(old_tensors[name], new_tensors[name]) for name in new_tensors)
