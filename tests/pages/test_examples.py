"""Run the scripts and the notebook in `examples`, and the pages of integrations that need no large packages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from page_code import ROOT, needs_large_packages, run_page

FOLDER = ROOT / "examples"
NEEDS_A_HUB = FOLDER / "integrations" / "hub.py"  # tests/formats/test_hub.py has one
SERVER = FOLDER / "serve.py"  # test_serving.py runs it
EXAMPLES = sorted(path for path in set(FOLDER.rglob("*.py")) - {NEEDS_A_HUB, SERVER} if not needs_large_packages(path))
PAGES = [page.stem for page in sorted(ROOT.glob("docs/integrations/*.md")) if not needs_large_packages(page)]
PAGES.remove("hub")  # as its example


def test_there_is_one_for_each_task_and_one_for_a_model_of_your_own():
    tasks = {path.parent.name for path in (ROOT / "src/elmokit/tasks").glob("*/task.py")}
    assert len(tasks) == 7 and {*tasks, "own_model"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_in_an_empty_folder(path: Path, forks: Any, tmp_path: Path):
    script = path.read_text(encoding="utf-8")
    assert len(script.splitlines()) <= 70
    sooner = re.sub(r"max_epochs=\d+", "max_epochs=2", script)
    done = forks.run_script(sooner, folder=tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    lines = ["We sat on the bank of the river .", "The bank raised its rates .", "A river and its bank ."]
    (tmp_path / "sentences.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_page(f"docs/integrations/{page}.md")


NOTEBOOK = json.loads((FOLDER / "first_five_minutes.ipynb").read_text(encoding="utf-8"))


def sources(kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == kind]


@pytest.mark.slow
def test_the_cells_of_the_notebook_run_from_top_to_bottom(forks: Any, tmp_path: Path):
    ends = [source.splitlines()[-1] for source in sources("code")]
    shown = [f"\nprint({end})" if end.isidentifier() else "" for end in ends]  # as a notebook shows it
    script = "\n".join(source + printed for source, printed in zip(sources("code"), shown, strict=True))
    done = forks.run_script(script, folder=tmp_path, XDG_CACHE_HOME=str(tmp_path), TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "<Elmo 'small-en'" in done.stdout
    assert "<TaggedText 'Tom works for Apple in China.'" in done.stdout
    assert "warning" not in done.stderr.lower()


def test_the_notebook_is_committed_clean_imports_public_names_only_and_its_links_lead_somewhere():
    cells = NOTEBOOK["cells"]
    assert NOTEBOOK["nbformat"] == 4 and len({cell["id"] for cell in cells}) == len(cells)
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count") is not None] == []
    targets = [target for text in sources("markdown") for target in re.findall(r"\]\(([^)]+)\)", text)]
    assert len(targets) >= 5
    assert all((FOLDER / target).exists() for target in targets)
    assert [source for source in sources("code") if "elmokit." in source.replace("`elmokit", "")] == []
