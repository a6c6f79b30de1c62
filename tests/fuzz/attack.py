"""Attacks on the package, each from a seed: damaged files, odd text, kills, full disks, leaks.

    python tests/fuzz/attack.py mutants --count 10000 --seed 3 --output mutants-3.json
    python tests/fuzz/attack.py small                        # a little of each part, or of those named
    python tests/fuzz/attack.py report mutants-*.json text.json --output benchmarks/results/attack.json

Attempt `n` of a seed does the same in every run. Exits with 1 if anything happened that must not: a traceback, a crash,
a hang, memory out of proportion, a wrong result. `report` adds up the counts of several runs.
"""

import argparse
import importlib
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from attacks.outcome import Part, Result, read_results, write_results

PARTS = ("disks", "kills", "pairs", "determinism", "mutants", "text", "leaks")
"""Modules of `attacks/`; the constant `PART` of each says what it does. `disks` is first, as it needs one thread."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a part, or a little of each, or merge results; 1 if there is a defect among the outcomes."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "TQDM_DISABLE": "1"}
    sys.path.append(str(Path(__file__).parents[1] / "toys"))
    arguments = _parser().parse_args(argv)
    if arguments.part == "report":
        results = [result for name in arguments.names for result in read_results(Path(name))]
    elif arguments.part == "small":
        counts = {name: part_named(name).small_count for name in arguments.names or PARTS}
        results = [_result(name, arguments.seed, range(count)) for name, count in counts.items() if count]
    else:
        count = part_named(arguments.part).count if arguments.count is None else arguments.count
        results = [_result(arguments.part, arguments.seed, range(arguments.first, arguments.first + count))]
    if arguments.output:
        write_results(arguments.output, results)
    for result in results:
        print(_text(result), flush=True)
    return int(any(result.num_defects for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=(*PARTS, "small", "report"), help="small: a little of each part")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the parts of `small`, the results of `report`")
    parser.add_argument("--output", type=Path, metavar="FILE", help="results as JSON, keyed by part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first attempt (default: 0)")
    parser.add_argument("--count", type=int, metavar="N", help="attempts (default: as in the goals)")
    return parser


def part_named(name: str) -> Part:
    """The part of this name. Its module is imported now, because some import torch."""
    return importlib.import_module(f"attacks.{name}").PART


def _result(name: str, seed: int, numbers: range) -> Result:
    """What became of the attempts of these numbers."""
    from elmokit import __version__

    command = f"python tests/fuzz/attack.py {name} --seed {seed} --first {numbers.start} --count {len(numbers)}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    result, began = Result(name, [command], machine, __version__), time.monotonic()
    for attempt in part_named(name).attempts(seed, numbers):
        defect = [f"{attempt.target}: {attempt.outcome}: {attempt.note}"] if attempt.outcome.is_defect else []
        result.add({attempt.target: {attempt.outcome.value: attempt.units}}, attempt.measured, defect)
    result.seconds = round(time.monotonic() - began, 1)
    return result


def _text(result: Result) -> str:
    lines = [f"{result.part}: {result.num_defects:,} defects, {result.seconds:,.0f} s"]
    for target, outcomes in result.counts.items():
        lines.append(f"  {target}: " + ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items()))
    lines += [f"  largest {name}: {value:,.1f}" for name, value in result.largest.items()]
    return "\n".join([*lines, *(f"  DEFECT {defect}" for defect in result.defects)])


if __name__ == "__main__":
    sys.exit(main())
