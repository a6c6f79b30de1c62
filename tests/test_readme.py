"""What the README tells people to type works."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import torch

from elmokit.cli import main as cli
from elmokit.formats.names import DEFAULT_MODEL, bundled_models
from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

CPU_TORCH = ["pip", "install", "torch", "--index-url", "https://download.pytorch.org/whl/cpu"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[list[str]]:
    lines = "".join(blocks("sh")).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


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
    (code,) = blocks("python")
    exec(code, {})
    shown = capsys.readouterr().out
    assert shown.splitlines()[0] == "(9, 256) (6, 256)"
    assert shown.splitlines()[0] in code
    assert 4 <= len(code.splitlines()) <= 7


def test_every_command_is_one_that_there_is():
    verbs: set[str] = set()
    for program, *arguments in commands():
        if program == "elmokit":
            assert cli._parser().parse_args(arguments).run
            verbs.add(arguments[0])
        else:
            assert [program, *arguments] in (["pip", "install", "."], ["make", "demo"], ["make", "test"], CPU_TORCH)
    assert verbs == {
        *("demo", "prepare", "vocabulary", "pretrain", "finetune", "perplexity", "surprisal", "report"),
        *("train", "evaluate", "predict", "embed", "convert", "inspect", "doctor"),
    }


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_make_targets_exist_and_set_themselves_up(target: str):
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}: \$\(STAMP\)", makefile, flags=re.MULTILINE)
    assert ["make", target] in commands()


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)\s]+)\)", README)
    assert "docs/demo.svg" in targets
    for target in targets:
        assert target.startswith("https://") or (ROOT / target.partition("#")[0]).exists(), target


def test_the_pages_that_it_links_to_are_in_the_source_distribution():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for target in re.findall(r"\]\(([^)\s]+)\)", README):
        if not target.startswith("https://"):
            assert f"/{Path(target).parts[0]}" in (*included, "/LICENSE"), target  # hatchling adds the licence


@pytest.mark.skipif(DEFAULT_MODEL not in bundled_models(), reason="the numbers are those of the bundled model")
def test_every_number_is_filled_in():
    assert re.findall(r"@@\w+@@", README) == []


def test_it_is_short():
    assert len(README.splitlines()) <= 150
