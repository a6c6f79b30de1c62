"""Write the mixes that the tasks have learnt into the explorer, from the logs of all runs that are kept here.

python experiments/explorer_presets.py
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from elmokit.files.atomic import atomic_write
from elmokit.tasks.all_tasks import TASKS
from elmokit.web.explore.site import LEARNT_MIXES
from paper.ablations import KOREAN_TABLE
from paper.figure2 import ARMS, learnt_mixes
from paper.plan import ELMO, MODEL
from paper.runs import make_setup, read_evidence

EXPERIMENTS = Path(__file__).parent


def presets(paths: Sequence[Path]) -> list[dict[str, object]]:
    """The mixes of figure 2, and the Korean ones of `mini-ko`."""
    mixes: list[dict[str, object]] = []
    for model, tasks, arms in ((MODEL, TASKS, ARMS), (KOREAN_TABLE.model, KOREAN_TABLE.tasks, (ELMO,))):
        evidence = read_evidence(make_setup(Path(), model=model), paths)
        for one in (mix for task in tasks for mix in learnt_mixes(evidence, [task], arms)):
            run = one.arm.runs[0]
            mix: dict[str, object] = {
                "model": model,
                "fingerprint": run.record.fingerprint or "",
                "task": run.record.task,
                "data": run.data,
                "place": one.place,
                "num_runs": len(one.arm.runs),
                "weights": [round(weight, 4) for weight in one.weights],
                "gamma": round(one.gamma, 4),
            }
            mixes.append(mix)
    return mixes


def main() -> None:
    mixes = presets(sorted(EXPERIMENTS.glob("*/runs.jsonl")))
    lines = ",\n".join(json.dumps(mix) for mix in mixes)
    with as_file(files("elmokit.web.explore") / LEARNT_MIXES) as path:
        with atomic_write(path) as unfinished:
            unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        print(f"{len(mixes)} mixes: {path}")


if __name__ == "__main__":
    main()
