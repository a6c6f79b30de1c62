"""Write the mixes that the tasks have learnt into the explorer, from the logs of all runs that are kept here.

python experiments/explorer_presets.py
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import as_file, files
from pathlib import Path

from elmokit.files.atomic import atomic_write
from elmokit.web.explore.presets import LEARNT_MIXES
from paper.figure2 import presets

EXPERIMENTS = Path(__file__).parent


def main() -> None:
    mixes = presets(sorted(EXPERIMENTS.glob("*/runs.jsonl")))
    lines = ",\n".join(json.dumps(asdict(mix)) for mix in mixes)
    with as_file(files("elmokit.web.explore") / LEARNT_MIXES) as path:
        with atomic_write(path) as unfinished:
            unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        print(f"{len(mixes)} mixes: {path}")


if __name__ == "__main__":
    main()
