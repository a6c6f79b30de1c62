"""Each script in `examples` runs, in seconds, and prints something; tests/doors/test_examples.py runs some of them."""

from pathlib import Path
from typing import Any

import pytest

from behind_doors import integration_of, is_behind_doors

FOLDER = Path(__file__).parents[2] / "examples"
NEEDS_A_HUB = FOLDER / "integrations" / "hub.py"  # tests/formats/test_hub.py has one
EXAMPLES = sorted(
    path
    for path in set(FOLDER.rglob("*.py")) - {NEEDS_A_HUB}
    if path.parent == FOLDER or not is_behind_doors(integration_of(path))
)


def test_there_is_one_for_each_task_and_one_for_a_model_of_your_own():
    tasks = {path.parent.name for path in (Path(__file__).parents[2] / "src/elmokit/tasks").glob("*/task.py")}
    assert len(tasks) == 6 and {*tasks, "own_model"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_in_an_empty_folder(path: Path, forks: Any, tmp_path: Path):
    script = path.read_text(encoding="utf-8")
    assert len(script.splitlines()) <= 70
    done = forks.run_script(script, folder=tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3
