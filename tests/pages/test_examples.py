"""The scripts in `examples` and the pages of integrations run; tests/doors/test_examples.py runs some of them."""

from pathlib import Path
from typing import Any

import pytest

from behind_doors import integration_of, is_behind_doors
from page_code import run_page

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"
NEEDS_A_HUB = FOLDER / "integrations" / "hub.py"  # tests/formats/test_hub.py has one
EXAMPLES = sorted(
    path
    for path in set(FOLDER.rglob("*.py")) - {NEEDS_A_HUB}
    if path.parent == FOLDER or not is_behind_doors(integration_of(path))
)
PAGES = [page.stem for page in sorted(ROOT.glob("docs/integrations/*.md")) if not is_behind_doors(page.stem)]
PAGES.remove("hub")  # as its example


def test_there_is_one_for_each_task_and_one_for_a_model_of_your_own():
    tasks = {path.parent.name for path in (ROOT / "src/elmokit/tasks").glob("*/task.py")}
    assert len(tasks) == 6 and {*tasks, "own_model"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_in_an_empty_folder(path: Path, forks: Any, tmp_path: Path):
    script = path.read_text(encoding="utf-8")
    assert len(script.splitlines()) <= 70
    done = forks.run_script(script, folder=tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    lines = ["We sat on the bank of the river .", "The bank raised its rates .", "A river and its bank ."]
    (tmp_path / "sentences.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_page(f"docs/integrations/{page}.md")
