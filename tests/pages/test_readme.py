"""What the README tells people to type works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import torch

from elmokit.formats.names import DEFAULT_MODEL, bundled_models
from elmokit.formats.native import write_native
from elmokit.formats.published import find_published
from elmokit.formats.read import to_stored
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from page_code import blocks, commands, promised

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

CPU_TORCH = ["pip", "install", "torch", "--index-url", "https://download.pytorch.org/whl/cpu"]


@pytest.fixture
def default_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled model; where it is not there, a random one with vectors of the same width."""
    if DEFAULT_MODEL not in bundled_models():
        torch.manual_seed(1)
        bilm = BiLM(BiLMConfig(filters=((1, 8), (3, 8)), character_dim=4, projection_dim=128, lstm_dim=128))
        write_native(tmp_path / DEFAULT_MODEL, to_stored(bilm))
        monkeypatch.setattr("elmokit.formats.names.bundled_models", lambda: {DEFAULT_MODEL: tmp_path / DEFAULT_MODEL})


@pytest.mark.usefixtures("default_model")
def test_the_python_runs_and_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]):
    code, of_published = blocks(README)
    exec(code, {})
    near, far, shape = capsys.readouterr().out.splitlines()
    assert [f"{float(number):.2f}" for number in (near, far)] + [shape] == [
        said.partition(":")[0] for said in promised(code)
    ]
    for name in re.findall(r'"(\S+?)"', of_published):
        assert find_published(name) is not None, name


def test_other_commands_are_those_that_set_things_up():
    known = (["pip", "install", "."], ["make", "demo"], ["make", "test"], CPU_TORCH)
    assert [words for words in commands(README) if words[0] != "elmokit" and words not in known] == []


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_make_targets_exist_and_set_themselves_up(target: str):
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}: \$\(STAMP\)", makefile, flags=re.MULTILINE)
    assert ["make", target] in commands(README)


def test_the_pages_that_it_links_to_are_in_the_source_distribution():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for target in re.findall(r"\]\(([^)\s]+)\)", README):
        if not target.startswith("https://"):
            assert f"/{Path(target).parts[0]}" in (*included, "/LICENSE"), target  # hatchling adds the licence
