"""Damaged files of every kind that we read: each is read, or refused with one line that names it.

Two thirds of the attempts are on weights. Reading takes at most twice the memory that the files have bytes, and 64 MiB.
"""

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from attacks.limited_child import Call, Ending, run_limited
from attacks.mutations import damage
from attacks.outcome import Attempt, Outcome, Part
from attacks.run_folders import run_targets
from attacks.targets import Target, new_folder
from attacks.text_files import text_targets
from attacks.vector_files import vector_targets
from attacks.weights import stored_bilm, weights_targets
from elmokit.formats.native import write_native

MEMORY_PER_BYTE = 2
MEMORY = 64 << 20
"""Bytes that reading the smallest file may take: a line of text has up to 16 MiB, and is decoded."""


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Damage files and read them, one attempt for each number."""
    with new_folder() as folder:
        (given := folder / "given").mkdir()
        write_native(given / "bilm", stored_bilm())
        weights = list(weights_targets(folder / "weights"))
        makers = (run_targets, vector_targets, text_targets)
        others = [found for make in makers for found in make(folder / "others", given)]
        targets = [_target_of(number, weights, others) for number in numbers]
        pairs = zip(targets, numbers, strict=True)
        calls = (_call(target, seed, number, folder / "damaged") for target, number in pairs)
        for target, number, ending in zip(targets, numbers, run_limited(calls), strict=True):
            yield _attempt(target, ending, where=f"--seed {seed} --first {number}", place=folder)


def _target_of(number: int, weights: list[Target], others: list[Target]) -> Target:
    turn, kind = divmod(number, 3)
    return others[turn % len(others)] if kind == 2 else weights[(2 * turn + kind) % len(weights)]


def _call(target: Target, seed: int, number: int, place: Path) -> Call:
    def prepare() -> None:
        damage(target.files, random.Random(f"{seed}/{number}"), devices=not target.is_named)(place)

    return Call(run=partial(target.use, place), prepare=prepare)


def _attempt(target: Target, ending: Ending, *, where: str, place: Path) -> Attempt:
    outcome, said = ending.outcome, ending.said
    most = MEMORY_PER_BYTE * target.num_bytes + MEMORY
    if ending.memory > most:
        outcome, said = Outcome.MEMORY, f"{ending.memory / 2**20:.0f} MiB, {said}"
    elif outcome is Outcome.REFUSED and str(place) not in said:
        outcome, said = Outcome.WRONG, f"the file is not named: {said}"
    note = f"{where}: {said}" if outcome.is_defect else ""
    measured = {"seconds": ending.seconds, "MiB beyond twice the files": (ending.memory - 2 * target.num_bytes) / 2**20}
    return Attempt(target.name, outcome, note, measured=measured)


PART = Part("mutants", attempts, count=150_000, small_count=40)
