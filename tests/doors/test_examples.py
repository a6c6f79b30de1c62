"""The examples of the integrations that are tested here run, in an empty folder, and print something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from behind_doors import integration_of, is_behind_doors

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("integrations/*.py") if is_behind_doors(integration_of(path)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_in_an_empty_folder(path: Path, tmp_path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 70
    done = subprocess.run(
        [sys.executable, path],
        cwd=tmp_path,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3
