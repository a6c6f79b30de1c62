"""Keep the ended runs of `elmokit reproduce ... --results FOLDER`, without their weights, and what it has measured.

python experiments/2026-11-22-reproduce/keep.py FOLDER
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
write_runs([run for run in read_runs([folder]) if run.name in ended], here / RUNS_NAME)
if (folder / RESULTS_NAME).exists():
    shutil.copyfile(folder / RESULTS_NAME, here / RESULTS_NAME)
