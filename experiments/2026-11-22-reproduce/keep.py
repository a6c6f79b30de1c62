"""Keep the ended runs of `python -m paper train ... --results FOLDER` next to those of before, and what it measured.

python experiments/2026-11-22-reproduce/keep.py FOLDER [TABLE...]

Runs are kept once all seeds of their settings have ended. Weights are not kept, and paths are those from the
repository's root. What FOLDER has measured for the tables that are
named takes the place of what was measured for them before.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from elmokit.runs.logged_runs import RUNS_NAME, read_runs, write_runs
from elmokit.tasks.task_runs import is_task_run, read_task_run
from paper.results import RESULTS_NAME

SEEDS = 3
folder, here = Path(sys.argv[1]), Path(__file__).parent
ended = {run.name for run in read_runs([folder]) if is_task_run(run) and read_task_run(run).result is not None}
runs = {run.name: run for run in read_runs([here])}
arms = Counter(name.rpartition("-")[0] for name in ended)
whole = {name for name in ended if arms[name.rpartition("-")[0]] >= SEEDS}
runs |= {run.name: run for run in read_runs([folder]) if run.name in whole}
write_runs([runs[name] for name in sorted(runs)], here / RUNS_NAME)
text = (here / RUNS_NAME).read_text(encoding="utf-8")
(here / RUNS_NAME).write_text(text.replace(f"{here.resolve().parents[1]}/", ""), encoding="utf-8")
if tables := set(sys.argv[2:]):
    before, now = ((path / RESULTS_NAME).read_text(encoding="utf-8").splitlines() for path in (here, folder))
    lines = [line for line in before if json.loads(line)["reproduction"] not in tables]
    lines += [line for line in now if json.loads(line)["reproduction"] in tables]
    (here / RESULTS_NAME).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
