"""Every verb that writes, each time in a new interpreter with another hash seed: always the same bits."""

import os
import random
import subprocess
import sys

from attacks.outcome import Part
from attacks.undisturbed import Undisturbed, attempts_on
from attacks.writing_verbs import JOBS, Job

_ROUND = (*JOBS[3:], *JOBS[:3])  # labels and vocabularies, which are sets at first, come first


def _disturb(undisturbed: Undisturbed, job: Job, number: int, randomness: random.Random) -> str:
    folder = undisturbed.new_folder(job)
    with (folder / job.stdin).open() as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "elmokit", *job.command.split()],
            env=os.environ | {"PYTHONHASHSEED": str(randomness.randrange(1, 1 << 32))},
            cwd=folder,
            stdin=stdin,
            capture_output=True,
            text=True,
        )
    wrong = done.stderr[-300:] if done.returncode else undisturbed.difference(job, folder)
    return f"in {folder}: code {done.returncode}: {wrong}" if wrong else ""


PART = Part("determinism", attempts_on(_ROUND, _disturb), count=10 * len(JOBS), small_count=1)
