"""Train the controls of table 1 at the scale `cpu`: a biLM with random weights, and the token layer alone.

python experiments/2026-11-22-reproduce/controls.py DATA FOLDER SEEDS TASK...

FOLDER has the runs, one of which is trained at a time; `keep.py` keeps them. SEEDS is their number, from 0. The runs
without ELMo and with it are in 2026-11-21-tasks and of `with_elmo.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.reproduce.carry_out import Training, plan_runs
from elmokit.reproduce.train_planned import train_planned

if TYPE_CHECKING:
    from elmokit.reproduce.planned_runs import PlannedRun


def is_control(run: PlannedRun) -> bool:
    """Whether a run has ELMo, but not all of it."""
    elmo = run.config.inputs.elmo
    return elmo is not None and (run.model is not None or elmo.layers != "mix")


data, folder, seeds, *tasks = sys.argv[1:]
if __name__ == "__main__":
    planned = plan_runs(["table1"], Training(Path(data), Path(folder), seeds=int(seeds)))
    for task in tasks:  # one task with all of its seeds after the other
        train_planned([run for run in planned if run.task == task and is_control(run)], Path(folder), jobs=1)
