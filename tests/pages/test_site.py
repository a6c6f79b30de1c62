"""The documentation as a site: links of pages on it, the reference, and its navigation. `make docs` builds it."""

import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import elmokit
from elmokit.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


def load(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "_site" / f"{name}.py")))


PAGES = load("pages")


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("tasks.md", "[a](../examples)", "[a](https://example.org/elmokit/blob/main/examples)"),
        ("index.md", "[a](docs/api.md#b)", "[a](api.md#b)"),
        ("index.md", "![a](docs/demo.svg)", "![a](demo.svg)"),
        ("index.md", "[`src`](src/elmokit)", "`src`"),
        ("tasks.md", "[a](../CONTRIBUTING.md#data)", "[a](contributing.md#data)"),
        ("tasks.md", "[a [b]](results.md)", "[a [b]](results.md)"),
        ("integrations/hub.md", "[a](../../SECURITY.md)", "[a](../security.md)"),
        ("integrations/hub.md", "[a](../formats.md)", "[a](../formats.md)"),
        ("tasks.md", "[a](../examples)", "a"),
        ("tasks.md", "[a](https://example.org/x.md)", "[a](https://example.org/x.md)"),
        ("tasks.md", "vectors[0](nothing)", "vectors[0](nothing)"),
        ("index.md", "[![a](docs/demo.svg)](docs/explorer.md)", "[![a](demo.svg)](explorer.md)"),
        ("index.md", "[![a](docs/demo.svg) b](https://example.org)", "[![a](demo.svg) b](https://example.org)"),
        ("index.md", "[![a](docs/demo.svg)](src)", "![a](demo.svg)"),
    ],
)
def test_links_lead_to_pages_of_the_site_or_to_the_repository_if_there_is_one(page: str, link: str, expected: str):
    repo_url = "https://example.org/elmokit/" if "/blob/" in expected else None
    assert PAGES.with_links(f"see {link}.", page, repo_url=repo_url) == f"see {expected}."


def test_the_reference_has_every_public_name():
    shown = PAGES.reference()
    assert shown.index("## elmokit.") == shown.index("## elmokit.Elmo\n")
    assert all(f"## elmokit.{name}\n" in shown for name in elmokit._HOMES)
    assert "\n::: elmokit.elmo.elmo.Elmo\n" in shown


def test_the_commands_have_the_help_of_every_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")  # which the page changes
    monkeypatch.setattr(sys, "path", [*sys.path])
    shown = PAGES.commands()
    names = {command.name for command in COMMANDS}
    assert set(re.findall(r"^## elmokit (\S+)$", shown, flags=re.MULTILINE)) == names
    assert set(re.findall(r"^usage: elmokit (\S+) ", shown, flags=re.MULTILINE)) == names
    assert "--precision {float32,bfloat16,int8}" in shown


def test_the_navigation_names_pages_that_there_are_and_lists_the_others():
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    generated = {*PAGES.ROOT_PAGES.values(), PAGES.REFERENCE, PAGES.COMMANDS}
    assert generated <= named <= pages | generated
    config = PAGES.on_config(SimpleNamespace(nav=["index.md", {"Names": ["api.md"]}, {"Integrations": []}]))
    found = config.nav[2]["Integrations"]
    assert "integrations/hub.md" in found and len(found) == len(list((ROOT / "docs" / "integrations").glob("*.md")))
    assert "tasks.md" in config.nav[3]["More"] and "api.md" not in config.nav[3]["More"]


def test_arguments_in_docstrings_are_lists(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "griffe", SimpleNamespace(Extension=object, Object=object))
    as_list = load("docstrings").as_list
    docstring = "Does it.\n\nmodel: a name,\n    or a path.\ntwo, three: numbers.\nRaises ValueError: never."
    assert as_list(docstring) == (
        "Does it.\n\n* **model**: a name,\n    or a path.\n* **two, three**: numbers.\n\nRaises ValueError: never."
    )
