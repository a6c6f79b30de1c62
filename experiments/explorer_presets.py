"""Write the mixes that tasks have learnt with the bundled models into the explorer, from the runs that are kept here.

python experiments/explorer_presets.py
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from elmokit.files.atomic import write_text
from elmokit.runs.logged_runs import read_runs
from elmokit.tasks.task_runs import LearntMix, is_task_run, read_task_run
from elmokit.web.explore.site import LEARNT_MIXES

HERE = Path(__file__).parent
RUNS = [HERE / folder / "runs.jsonl" for folder in ("2026-11-26-small-en-2", "2026-11-26-mini-ko")]


def presets(paths: Sequence[Path]) -> list[dict[str, object]]:
    """The mixes of the runs of each task that use the most training examples: means over the seeds."""
    runs = [read_task_run(run) for run in read_runs(paths) if is_task_run(run)]
    most = {run.data: max(other.num_used for other in runs if other.data == run.data) for run in runs}
    found: defaultdict[tuple[str, ...], list[LearntMix]] = defaultdict(list)
    for run in runs:
        elmo = run.record.config.inputs.elmo
        if elmo is None or run.result is None or run.num_used < most[run.data]:
            continue
        for place, mix in run.result.mixes.items():
            key = (Path(elmo.model).name, run.record.fingerprint or "", run.record.task, run.data, place)
            found[key].append(mix)
    return [
        dict(zip(("model", "fingerprint", "task", "data", "place"), key, strict=True))
        | {
            "num_runs": len(mixes),
            "weights": [
                round(statistics.fmean(shares), 4) for shares in zip(*(mix.shares for mix in mixes), strict=True)
            ],
            "gamma": round(statistics.fmean(mix.gamma for mix in mixes), 4),
        }
        for key, mixes in found.items()
    ]


if __name__ == "__main__":
    lines = ",\n".join(map(json.dumps, presets(RUNS)))
    with as_file(files("elmokit.web.explore") / LEARNT_MIXES) as path:
        write_text(path, f"[\n{lines}\n]\n")
