"""The comparisons of docs/results.md: every task with and without ELMo, three seeds, two runs at a time.

    python experiments/2026-11-21-tasks/run_all.py runs/tasks [--workers 2] [--seeds 3] [--only TASK ...]

Data and GloVe must be in .data/tasks, unpacked. Finished runs are skipped, killed ones resumed. Seed 0 of all tasks
comes first, then seed 1, then seed 2. Settings and log of a finished run are added to `runs.jsonl` in this folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from elmokit.runs.logged_runs import read_runs, write_runs

FINISHED = Path(__file__).with_name("runs.jsonl")
FINISHED_LOCK = Lock()
DATA = Path(".data/tasks")
GLOVE = f"word_vectors={DATA / 'glove/glove.6B.50d.100k.txt.gz'}"


@dataclass(frozen=True)
class Comparison:
    """One row of the table: a task on a data set, with ELMo at the position that the paper found best."""

    name: str
    task: str
    data: str
    place: str
    recipe: str = "cpu"
    settings: list[str] = field(default_factory=lambda: [GLOVE])


COMPARISONS = [
    Comparison("semantic-roles", "semantic-roles", "srl_ewt_propbank", "input"),
    Comparison("named-entities", "named-entities", "conll2003", "input"),
    Comparison("coreference", "coreference", "coref_ontogum", "input"),
    Comparison("sentiment", "sentiment", "sst", "both"),
    Comparison("entailment", "entailment", "snli", "both"),
    Comparison("question-answering", "question-answering", "squad_v1.1", "both"),
    Comparison("named-entities-ko", "named-entities", "ko/ner_klue", "input", "cpu-ko", []),
    Comparison("sentiment-ko", "sentiment", "ko/nsmc", "both", "cpu-ko", []),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="names of comparisons")
    arguments = parser.parse_args()
    chosen = [row for row in COMPARISONS if not arguments.only or row.name in arguments.only]
    jobs = [(row, place, seed) for seed in range(arguments.seeds) for row in chosen for place in ("none", row.place)]
    with ThreadPoolExecutor(arguments.workers) as workers:
        list(workers.map(lambda job: run(*job, folder=arguments.folder), jobs))


def run(comparison: Comparison, place: str, seed: int, *, folder: Path) -> None:
    name = f"{comparison.name}-{place}-{seed}"
    run_dir = folder / name
    log = folder / f"{name}.log"
    if not is_done(run_dir):
        folder.mkdir(parents=True, exist_ok=True)
        verb = [sys.executable, "-m", "elmokit", "train"]
        if (run_dir / "config.json").exists():
            command = [*verb, "--resume", run_dir]
        else:
            command = [*verb, comparison.task, "--data", DATA / comparison.data, "--run", run_dir]
            command += ["--recipe", comparison.recipe, "--elmo", place, "--seed", str(seed), "--test"]
            command += ["--set", *comparison.settings] if comparison.settings else []
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        with log.open("a") as output:
            subprocess.run(command, env=environment, stdout=output, stderr=output, check=False)
    print(name, "done" if is_done(run_dir) else f"FAILED, see {log}", flush=True)
    if is_done(run_dir):
        keep(run_dir)


def keep(run_dir: Path) -> None:
    """Add a finished run to `runs.jsonl`, replacing an earlier one with the same name."""
    with FINISHED_LOCK:
        runs = read_runs([FINISHED] if FINISHED.exists() else [])
        others = [run for run in runs if run.name != run_dir.name]
        write_runs([*others, *read_runs([run_dir])], FINISHED)


def is_done(run_dir: Path) -> bool:
    metrics = run_dir / "metrics.jsonl"
    return metrics.exists() and '"result": true' in metrics.read_text()


if __name__ == "__main__":
    main()
