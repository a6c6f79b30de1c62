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

from attacks.limited_child import own_memory
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
        steps = count(3)

        def encode() -> None:
            for _ in range(CALLS):  # each with tokens that no call had before
                tokens = [f"{randomness.getrandbits(64):x}" for _ in range(randomness.randrange(1, 4))]
                elmo.encode([tokens], show_progress_bar=False)

        def resume() -> None:
            with redirect_stderr(StringIO()):
                resume_pretraining(folder / "run", [f"num_steps={next(steps)}"], device="cpu")

        pretrain_tiny(folder / "run")
        yield from _measured("encode", CALLS, encode, [number for number in numbers if number < BLOCKS])
        yield from _measured("resume", 1, resume, [number for number in numbers if number >= BLOCKS])


def _measured(name: str, units: int, block: Callable[[], None], numbers: list[int]) -> Iterator[Attempt]:
    start = 0
    for done, number in enumerate(numbers, start=1):
        block()
        gc.collect()
        memory = own_memory("VmRSS")
        start = memory if done <= _WARM else start
        grown = memory - start
        outcome = Outcome.MEMORY if grown > MOST_BYTES else Outcome.OK
        note = f"block {number}: {grown / 1e6:.1f} MB more than after block {numbers[0] + _WARM - 1}"
        yield Attempt(name, outcome, note, units=units, measured={f"MB more after {name}": grown / 1e6})


PART = Part("leaks", attempts, count=BLOCKS + 50, small_count=0)  # memory grows, if at all, over many blocks
