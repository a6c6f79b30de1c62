"""Write the mixes that the tasks have learnt into the explorer, from paper/results.tsv.

PYTHONPATH=. python experiments/explorer_presets.py
"""

from __future__ import annotations

import json
from importlib.resources import as_file, files

from elmokit.files.atomic import write_text
from elmokit.web.explore.site import LEARNT_MIXES
from paper.experiments import DATASETS, KOREAN_MODEL, SHIPPED
from paper.results import Results
from paper.statistics import best_batch, learnt_mix
from paper.tables import mixes_of


def presets() -> list[dict[str, object]]:
    """The mixes of the shipped models in figure 2, as means over the seeds."""
    results, mixes = Results(), list[dict[str, object]]()
    shipped = [mix for mix in sorted(mixes_of(results)) if mix[0] in (SHIPPED, KOREAN_MODEL)]
    for model, arm, place in shipped:
        for task in DATASETS:
            rows = results.select("figure2", task=task, model=model, arm=arm, layer=place)
            if not rows:
                continue
            rows = best_batch(rows).rows
            weights, gamma = learnt_mix(results, task, model, arm, place)
            mix = {
                "model": model,
                "fingerprint": rows[0].fingerprint,
                "task": DATASETS[task].task,
                "data": rows[0].data,
                "place": place,
                "num_runs": len(rows),
                "weights": [round(weight, 4) for weight in weights],
                "gamma": round(gamma, 4),
            }
            mixes.append(mix)
    return mixes


def main() -> None:
    mixes = presets()
    lines = ",\n".join(json.dumps(mix) for mix in mixes)
    with as_file(files("elmokit.web.explore") / LEARNT_MIXES) as path:
        write_text(path, f"[\n{lines}\n]\n")
        print(f"{len(mixes)} mixes: {path}")


if __name__ == "__main__":
    main()
