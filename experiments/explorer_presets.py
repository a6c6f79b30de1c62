"""Write the mixes that the tasks have learnt into the explorer, from the logs of all runs that are kept here.

python experiments/explorer_presets.py
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from elmokit.web.explore.presets import LEARNT_MIXES
from paper.learnt_mixes import learnt_mixes, write_learnt_mixes

EXPERIMENTS = Path(__file__).parent


def main() -> None:
    mixes = learnt_mixes(sorted(EXPERIMENTS.glob("*/runs.jsonl")))
    with as_file(files("elmokit.web.explore") / LEARNT_MIXES) as path:
        write_learnt_mixes(path, mixes)
    print(f"{len(mixes)} mixes: {path}")


if __name__ == "__main__":
    main()
