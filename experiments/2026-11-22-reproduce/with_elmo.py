"""Train the runs of table 1 with ELMo at the scale `cpu`, without its controls: the baselines are in runs.jsonl.

python experiments/2026-11-22-reproduce/with_elmo.py DATA FOLDER SEEDS TASK...

FOLDER has the runs, two of which are trained at a time; `keep.py` keeps them. SEEDS is their number, from 0. Question
answering is trained without ELMo too, as its development set has changed, and so is entailment: the ensembles of both
need the weights. At the end these ensembles are measured, and the gains over test items.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paper.carry_out import Training, plan_runs
from paper.ensemble import TASKS
from paper.item_intervals import measure_test_items
from paper.train_planned import train_planned

if TYPE_CHECKING:
    from paper.planned_runs import PlannedRun


def is_needed(run: PlannedRun) -> bool:
    """Whether a run has ELMo as in the recipe, or is a baseline that is not there yet."""
    elmo = run.config.inputs.elmo
    return run.task in TASKS if elmo is None else run.model is None and elmo.layers == "mix"


data, folder, seeds, *tasks = sys.argv[1:]
if __name__ == "__main__":  # processes of their own import this file
    planned = plan_runs(["table1"], Training(Path(data), Path(folder), seeds=int(seeds)))
    train_planned([run for run in planned if run.task in tasks and is_needed(run)], Path(folder), jobs=2)
    measure_test_items(Path(folder))
