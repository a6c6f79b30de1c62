"""Steps of the same run by two checkouts in turns, on one thread: CPU and wall seconds, and the losses of both.

    python interleaved.py SHARD VOCABULARY OLD/src NEW/src [--set projection_dim=256 ...] [--rounds 5]

The first two steps of each are not counted; ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = """
import importlib.util, json, sys, time, torch
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain

room = "python" if importlib.util.find_spec("elmokit.system.python") else "memory"
importlib.import_module(f"elmokit.system.{room}").keep_freed_memory()
torch.set_num_threads(1)
shard, vocabulary, run_dir, *settings = sys.argv[1:]

def report_and_wait(run=None):
    global began
    if run is not None:
        print(json.dumps([time.perf_counter() - began[0], time.process_time() - began[1]]), flush=True)
    if not sys.stdin.readline():
        sys.exit()
    began = time.perf_counter(), time.process_time()

report_and_wait()
config = recipe("mini", ["precision=float32", "log_every=1", *settings])
pretrain([shard], vocabulary_path=vocabulary, run_dir=run_dir, config=config, on_step=report_and_wait)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shard")
    parser.add_argument("vocabulary")
    parser.add_argument("sources", nargs=2)
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    folders = [Path(tempfile.mkdtemp()) / "run" for _ in given.sources]
    runs = [start(given, source, folder) for source, folder in zip(given.sources, folders, strict=True)]
    rounds = [[next_step(run) for run in runs] for _ in range(given.rounds + 2)][2:]
    for kind, name in enumerate(("wall", "CPU")):
        old, new = ([both[side][kind] for both in rounds] for side in (0, 1))
        ratio = statistics.median(before / after for before, after in zip(old, new, strict=True))
        print(f"{name}: {statistics.median(old):.2f} -> {statistics.median(new):.2f} s, {ratio:.2f} times as fast")
    for run, folder in zip(runs, folders, strict=True):
        run.communicate()
        for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
            print(json.loads(line))


def start(given: argparse.Namespace, source: str, folder: Path) -> subprocess.Popen[str]:
    settings = {"OMP_NUM_THREADS": "1", "THP_MEM_ALLOC_ENABLE": "1", "PYTHONPATH": source}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, given.shard, given.vocabulary, str(folder), *given.set],
        env=os.environ | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def next_step(run: subprocess.Popen[str]) -> list[float]:
    """Wall and CPU seconds of a step, which the run makes only now."""
    assert run.stdin and run.stdout
    run.stdin.write("\n")
    run.stdin.flush()
    return json.loads(run.stdout.readline())


if __name__ == "__main__":
    main()
