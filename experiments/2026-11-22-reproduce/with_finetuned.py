"""Train the runs of table 7 with a fine-tuned biLM at the scale `cpu`, without their baselines.

python experiments/2026-11-22-reproduce/with_finetuned.py DATA FOLDER SEEDS TASK...

FOLDER has the runs, and in `models` the fine-tuned biLMs; `keep.py` keeps the runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from paper.carry_out import Training, plan_runs
from paper.train_planned import train_planned

data, folder, seeds, *tasks = sys.argv[1:]
planned = plan_runs(["table7"], Training(Path(data), Path(folder), seeds=int(seeds)))
train_planned([run for run in planned if run.task in tasks and run.model is not None], Path(folder))
