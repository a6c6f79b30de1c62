"""Keep the ended runs of `elmokit reproduce ... --results FOLDER` next to those of before, and what it has measured.

python experiments/2026-11-22-reproduce/keep.py FOLDER [results]

Weights are not kept, and paths are those from the repository's root. With `results`, what FOLDER has measured takes the
place of what was measured before.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from elmokit.reproduce.families import read_task_runs
from elmokit.reproduce.results import RESULTS_NAME
from elmokit.runs.logged_runs import RUNS_NAME, read_runs, write_runs

folder, here = Path(sys.argv[1]), Path(__file__).parent
ended = {run.name for run in read_task_runs([folder])}
runs = {run.name: run for run in read_runs([here])}
runs |= {run.name: run for run in read_runs([folder]) if run.name in ended}
write_runs([runs[name] for name in sorted(runs)], here / RUNS_NAME)
text = (here / RUNS_NAME).read_text(encoding="utf-8")
(here / RUNS_NAME).write_text(text.replace(f"{here.resolve().parents[1]}/", ""), encoding="utf-8")
if "results" in sys.argv[2:]:
    shutil.copyfile(folder / RESULTS_NAME, here / RESULTS_NAME)
