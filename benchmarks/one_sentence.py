"""CPU milliseconds of `Elmo.encode` for one sentence of 20 words whose tokens are remembered, in each precision.

    python benchmarks/one_sentence.py [--sizes small] [--models small-en] [--calls 80]

It uses one thread, and prints the minimum and the median of the calls: other work on the machine only adds time. Sizes
are random models in the released layout, models are bundled ones. To compare two versions, alternate between them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import torch

from elmokit import Elmo
from random_checkpoint import SIZES, write_random_checkpoint

PRECISIONS = ("float32", "bfloat16", "int8")
SENTENCE = "the council said that the river bank had been flooded when the old bank closed its doors in May ."


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", nargs="*", default=["small"], choices=SIZES)
    parser.add_argument("--models", nargs="*", default=["small-en"])
    parser.add_argument("--calls", type=int, default=80)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            write_random_checkpoint(size, Path(folder) / size)
        for model in [*arguments.models, *(Path(folder) / size for size in arguments.sizes)]:
            for precision in PRECISIONS:
                elmo = Elmo(model, precision=precision, device="cpu")
                found[f"{Path(model).name}, {precision}"] = milliseconds(elmo, arguments.calls)
    print(json.dumps({"least and median": found, "load_average": round(os.getloadavg()[0], 1)}, indent=2))


def milliseconds(elmo: Elmo, num_calls: int) -> tuple[float, float]:
    elmo.encode([SENTENCE.split()])
    times: list[float] = []
    for _ in range(num_calls):
        began = time.thread_time()
        elmo.encode([SENTENCE.split()])
        times.append(1000 * (time.thread_time() - began))
    return round(min(times), 1), round(statistics.median(times), 1)


if __name__ == "__main__":
    main()
