"""Two and three processes at once on one output or run folder: it is whole, and the others are refused.

The processes of an attempt start within the time that one of them takes. At least one must succeed. Another one may be
refused with exit code 2, if it names a process that holds the output, or says that the output is already there.
"""

import random
import time
from pathlib import Path

from attacks.outcome import Part
from attacks.stopped_child import Command, Kill
from attacks.undisturbed import Undisturbed, attempts_on
from attacks.writing_verbs import JOBS, Job, go_on

_REFUSALS = ("is in use by another process", "already holds a run", "is not an empty folder", "already exists")


def _disturb(undisturbed: Undisturbed, job: Job, number: int, randomness: random.Random) -> str:
    """Run the job in two processes at once, every third time in three."""
    num_processes = 3 if number % 3 == 2 else 2
    folder = undisturbed.new_folder(job)
    whole, command = undisturbed.whole(job), job.command
    if job.grows and randomness.random() < 0.5:  # all of them continue what was killed
        go_on(job, folder, kill=Kill(randomness.randint(1, whole.num_operations)))
        command = job.resume if (folder / "run" / "config.json").exists() else command
    wrong = _wrong_with([command] * num_processes, job, folder, whole.seconds, randomness)
    wrong = wrong or undisturbed.difference(job, folder)
    return f"{num_processes} in {folder}: {wrong}" if wrong else ""


def _wrong_with(commands: list[str], job: Job, folder: Path, seconds: float, randomness: random.Random) -> str:
    """Run the commands at once; "" if each ended as it may."""
    running: list[Command] = []
    for command in commands:
        if running:
            time.sleep(randomness.choice((0.0, randomness.uniform(0, seconds))))
        running.append(Command(command.split(), folder, stdin=job.stdin))
    endings = [command.wait() for command in running]
    wrong = [f"code {ended.code}: {ended.said[-300:]}" for ended in endings if ended.code not in (0, 2)]
    for ended in endings:
        if ended.code == 2 and not any(text in ended.last_line for text in _REFUSALS):
            wrong.append(ended.last_line)
    if all(ended.code for ended in endings):
        wrong.append("none succeeded")
    return "; ".join(wrong)


PART = Part("pairs", attempts_on(JOBS, _disturb), count=8 * len(JOBS), small_count=2)
