"""Train the runs of table 1 with ELMo at the scale `cpu`, without its controls: the baselines are in 2026-11-21-tasks.

python experiments/2026-11-22-reproduce/with_elmo.py DATA FOLDER SEEDS TASK...

FOLDER has the runs; `keep.py` keeps them. SEEDS is their number, from 0: 3, but 1 for question-answering, whose
baseline has one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from elmokit.reproduce.carry_out import Training, plan_runs
from elmokit.reproduce.train_planned import train_planned

data, folder, seeds, *tasks = sys.argv[1:]
planned = plan_runs(["table1"], Training(Path(data), Path(folder), seeds=int(seeds)))
chosen = [
    run
    for run in planned
    if run.task in tasks and run.model is None and run.config.inputs.elmo and run.config.inputs.elmo.layers == "mix"
]
train_planned(chosen, Path(folder))
