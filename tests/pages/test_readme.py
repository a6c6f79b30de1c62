"""What the README tells people to type works."""

import re
import tomllib
from pathlib import Path

import pytest

from elmokit.formats.published import find_published
from page_code import blocks, commands, promised

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

CPU_TORCH = ["pip", "install", "torch", "--index-url", "https://download.pytorch.org/whl/cpu"]


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
