"""Documentation, examples and public names: the code runs, imports only public names, and links work."""

import ast
import importlib.metadata
import inspect
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import elmokit
from elmokit.cli.main import COMMANDS
from page_code import blocks

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
TEXT = "the bank of a river is not the bank that lends money to people who build houses on it"
FUNCTIONS, CLASSES = (
    [name for name in elmokit.__all__ if is_one(getattr(elmokit, name))]
    for is_one in (inspect.isfunction, inspect.isclass)
)


@pytest.mark.slow
def test_the_examples_of_the_public_names_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They run in the folder that docs/api.md describes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = TEXT.split()
    lines = [" ".join(words[start:] + words[:start]).capitalize() for start in range(len(words))]
    (tmp_path / "texts").mkdir()
    for number in range(4):
        paragraphs = [f"{line} {number} ." for line in lines]
        (tmp_path / "texts" / f"{number}.txt").write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")
    (tmp_path / "lines.txt").write_text("\n".join(lines[:3]) + "\n", encoding="utf-8")
    (tmp_path / "sentiment").mkdir()
    rows = "text\tlabel\nA good film .\t1\nA bad film .\t0\n"
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / "sentiment" / name).write_text(rows, encoding="utf-8")

    names: dict[str, Any] = {"elmokit": elmokit, "torch": torch, "Path": Path}
    with pytest.warns(UserWarning, match="small-en is a model of words"):
        for block in blocks(API):
            exec(compile(block, "<docs/api.md>", "exec"), names)
    assert [array.shape for array in (names["river"], names["money"])] == [(9, 512), (6, 512)]
    assert names["vectors"].shape == (3, 9, 512)
    assert names["mixed"].shape == (1, 4, 512)
    assert names["averaged"].shape == (1, 9, 512)


def imported_from_elmokit(source: str) -> set[str]:
    """`elmokit.NAME` for each public name, and the dotted name of every module inside."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("elmokit.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "elmokit":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", [*PAGES, *sorted((ROOT / "examples").rglob("*.py"))], ids=lambda path: path.name)
def test_pages_and_examples_import_public_names_only(path: Path):
    text = path.read_text(encoding="utf-8")
    public = {f"elmokit.{name}" for name in elmokit.__all__}
    for module, names in re.findall(r"from (elmokit\.integrations\.\w+) import ([\w, ]+)", API):
        public |= {f"{module}.{name.strip()}" for name in names.split(",")}
    for source in [text] if path.suffix == ".py" else blocks(text):
        assert imported_from_elmokit(source) <= public


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_inside_the_repository_lead_to_files_and_headings(path: Path):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?[^)]*\)", path.read_text(encoding="utf-8")):
        if target.startswith("../experiments/") and not (ROOT / "experiments").is_dir():
            continue  # they are in the repository, not in the source distribution
        if "://" not in target:
            assert (path.parent / target).exists(), target
            assert not anchor or anchor in anchors(path.parent / target if target else path), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_another_name_is_refused_with_the_list_of_those_that_there_are():
    assert [name for name in dir(elmokit) if not name.startswith("__")] == sorted(FUNCTIONS + CLASSES)
    with pytest.raises(AttributeError, match=r"module 'elmokit' has no attribute 'ELMo'; its public names are BiLM, "):
        elmokit.ELMo  # noqa: B018


@pytest.mark.parametrize("name", FUNCTIONS + CLASSES)
def test_a_public_name_is_there_says_what_it_is_and_has_an_example(name: str):
    thing = getattr(elmokit, name)
    assert callable(thing)
    assert inspect.getdoc(thing)
    assert f"`{name}`" in API and any(f"elmokit.{name}" in block for block in blocks(API))


def test_names_are_imported_from_where_type_checkers_look():
    assert set(elmokit.__all__) == {"__version__", *elmokit._HOMES}
    nodes = [*ast.walk(ast.parse(inspect.getsource(elmokit)))]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname or alias.name: f"{node.module}:{alias.name}" for node in imports for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in seen:
            seen[ast.unparse(node.targets[0])] = seen[node.value.id]
    assert elmokit._HOMES.items() <= seen.items()


def test_the_version_is_that_of_the_package_and_of_the_citation():
    assert elmokit.__version__ == importlib.metadata.version("elmokit")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {elmokit.__version__}\n" in citation
    assert any("elmokit.__version__" in block for block in blocks(API))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_path_may_be_a_string(name: str):
    parameters = inspect.signature(getattr(elmokit, name)).parameters.values()
    annotations = {parameter.name: str(parameter.annotation) for parameter in parameters}
    assert [which for which, kind in annotations.items() if "Path" in kind and "str" not in kind.lower()] == []


def load(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "_site" / f"{name}.py")))


SITE_PAGES = load("pages")


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
    assert SITE_PAGES.with_links(f"see {link}.", page, repo_url=repo_url) == f"see {expected}."


def test_the_reference_has_every_public_name():
    shown = SITE_PAGES.reference()
    assert shown.index("## elmokit.") == shown.index("## elmokit.Elmo\n")
    assert all(f"## elmokit.{name}\n" in shown for name in elmokit._HOMES)
    assert "\n::: elmokit.elmo.elmo.Elmo\n" in shown


def test_the_commands_have_the_help_of_every_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")  # the page changes it
    monkeypatch.setattr(sys, "path", [*sys.path])
    shown = SITE_PAGES.commands()
    names = {command.name for command in COMMANDS}
    assert set(re.findall(r"^## elmokit (\S+)$", shown, flags=re.MULTILINE)) == names
    assert set(re.findall(r"^usage: elmokit (\S+) ", shown, flags=re.MULTILINE)) == names
    assert "--precision {float32,bfloat16,int8}" in shown


def test_the_navigation_names_pages_that_there_are_and_lists_the_others():
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    generated = {*SITE_PAGES.ROOT_PAGES.values(), SITE_PAGES.REFERENCE, SITE_PAGES.COMMANDS}
    assert generated <= named <= pages | generated
    config = SITE_PAGES.on_config(SimpleNamespace(nav=["index.md", {"Names": ["api.md"]}, {"Integrations": []}]))
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
