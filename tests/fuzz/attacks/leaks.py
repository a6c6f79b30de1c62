"""Memory after hundreds of thousands of calls with ever new tokens, and after many resumes in one process.

An attempt is a block of calls of `encode`, or of resumes. The memory of the process is measured after each block; what
it has more than after the first blocks, when everything is warm, must stay within `MOST_BYTES`.
"""

import gc
import random
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from io import StringIO
from itertools import count
from pathlib import Path

from attacks.outcome import Attempt, Outcome, Part
from attacks.run_folders import pretrain_tiny
from attacks.targets import new_folder
from attacks.weights import stored_bilm
from elmokit.elmo.elmo import Elmo
from elmokit.formats.native import write_native
from elmokit.pretraining.train import resume_pretraining

MOST_BYTES = 20_000_000
CALLS = 200
"""Of `encode` in a block."""
BLOCKS = 1000
"""Of calls, before those of resumes: 200,000 calls and 50 resumes in all."""
_WARM = 50
"""Blocks after which memory may no longer grow."""


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Blocks of calls; those below `BLOCKS` are of `encode`, the others of resumes."""
    with new_folder() as folder:
        write_native(folder / "bilm", stored_bilm())
        elmo, randomness = Elmo.from_pretrained(folder / "bilm", device="cpu"), random.Random(seed)

        def encode() -> None:
            for _ in range(CALLS):  # each with tokens that no call had before
                tokens = [f"{randomness.getrandbits(64):x}" for _ in range(randomness.randrange(1, 4))]
                elmo.encode([tokens], show_progress_bar=False)

        yield from _measured("encode", CALLS, encode, [number for number in numbers if number < BLOCKS])
        resumes = [number for number in numbers if number >= BLOCKS]
        if resumes:
            pretrain_tiny(folder / "run")
            steps = count(3)
            yield from _measured("resume", 1, lambda: _resume(folder / "run", next(steps)), resumes)


def _resume(run: Path, num_steps: int) -> None:
    with redirect_stderr(StringIO()):
        resume_pretraining(run, [f"num_steps={num_steps}"], device="cpu")


def _measured(name: str, units: int, block: Callable[[], None], numbers: list[int]) -> Iterator[Attempt]:
    start = 0
    for done, number in enumerate(numbers, start=1):
        block()
        gc.collect()
        memory = _resident_bytes()
        if done <= _WARM:
            start = memory
        grown = memory - start
        leaks = grown > MOST_BYTES
        outcome = Outcome.MEMORY if leaks else Outcome.OK
        note = f"block {number}: {grown / 1e6:.1f} MB more than after block {numbers[0] + _WARM - 1}" if leaks else ""
        yield Attempt(name, outcome, note, units=units, measured={f"MB more after {name}": grown / 1e6})


def _resident_bytes() -> int:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024


PART = Part("leaks", attempts, count=BLOCKS + 50, small_count=0)  # memory grows, if at all, over many blocks
