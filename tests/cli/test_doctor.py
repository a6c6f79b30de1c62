import importlib.metadata
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit import __version__
from elmokit.cli.main import main
from elmokit.cli.report import CORE
from elmokit.formats import find as names


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch):
    """Reading models takes long; only the first test does it."""
    monkeypatch.setattr(names, "bundled_models", dict)


def test_the_command_prints_its_findings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    assert main(["doctor"]) == 1
    assert "FAIL  models       the default model small-en is not in this installation" in capsys.readouterr().out
    monkeypatch.undo()
    code, shown = main(["doctor"]), capsys.readouterr().out
    topics = ("torch", "processor", "threads", "OMP_WAIT_POLICY", "GPU", "models")
    assert all(topic in shown for topic in (f"elmokit      {__version__}", *topics))
    assert code == ("FAIL" in shown)


def found(topic: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a topic."""
    main(["doctor"])
    return [line for line in capsys.readouterr().out.splitlines() if line[6:].startswith(f"{topic} ")]


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version("gone" if name == "h5py" else name))
    assert found("h5py", capsys) == ["FAIL  h5py         is not installed: pip install h5py"]
    assert found("GPU", capsys) == []  # this and later checks would import h5py
    assert main(["doctor"]) == 1


def test_all_packages_that_elmokit_depends_on_are_looked_at():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    dependencies = tomllib.loads(text)["project"]["dependencies"]
    assert list(CORE) == [dependency.partition(">=")[0] for dependency in dependencies]


def test_a_torch_that_reads_weights_unsafely_fails(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    old = "FAIL  torch        is older than 2.10, the oldest version that reads weights safely: upgrade it"
    assert found("torch", capsys)[1:] == [old]


def test_the_gpu_of_a_mac_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "get_name", lambda: "Apple M4")
    assert found("GPU", capsys) == ["ok    GPU          Apple M4"]


def test_threads_that_spin_are_a_note(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert all(line.startswith("ok ") for line in found("threads", capsys))
    monkeypatch.delenv("OMP_WAIT_POLICY")
    assert found("threads", capsys)[1].startswith("note  threads      OMP_WAIT_POLICY is not set; on a shared machine")


def test_a_damaged_model_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "config.json").write_text("{")
    monkeypatch.setattr(names, "bundled_models", lambda: {"small-en": tmp_path})
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "FAIL  models       small-en cannot be read: " in shown
    assert shown.endswith("elmokit cannot run here; see the lines marked FAIL\n")
