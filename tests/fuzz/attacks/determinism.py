"""Every verb that writes, again and again, each time in a new interpreter with another hash seed: always the same bits.

An attempt is one run of one verb. An interpreter runs every verb once, each in a child of its own; what they write is
compared, apart from times, with what the first runs wrote.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import groupby

from attacks.interpreter import Interpreter
from attacks.outcome import Attempt, Outcome, Part
from attacks.undisturbed import Undisturbed
from attacks.writing_verbs import JOBS


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Attempt `n` is of the `n`-th job, in the interpreter of its round."""
    with Undisturbed() as undisturbed:
        for turn, some in groupby(numbers, key=lambda number: number // len(JOBS)):
            with Interpreter(hash_seed=1000 * seed + turn + 1) as interpreter:
                for number in some:
                    job = JOBS[number % len(JOBS)]
                    folder = undisturbed.new_folder(job)
                    wrong = interpreter.run(job, folder) or undisturbed.difference(job, folder)
                    shutil.rmtree(folder)
                    outcome = Outcome.WRONG if wrong else Outcome.OK
                    yield Attempt(job.name, outcome, f"--seed {seed} --first {number}: {wrong}")


PART = Part(
    name="determinism",
    summary="every verb that writes ten times, each in a new interpreter",
    attempts=attempts,
    count=10 * len(JOBS),
    small_count=4,
)
