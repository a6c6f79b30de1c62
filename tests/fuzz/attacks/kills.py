"""`kill -9` at random moments, half of them inside a write: the same command again ends with the same bits.

Each attempt kills a verb once to three times. Every other first kill comes after a random share of the job's CPU time;
the others before a random operation on files, or in the middle of a write. Then the command runs again until it ends,
as it is, or with `--resume` if the error advises that. Every file must have the bits of an undisturbed run, and none
may be left over. What appears as a whole must be whole, or as it was before, after each kill.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from attacks.outcome import Part
from attacks.stopped_child import Kill
from attacks.undisturbed import Undisturbed, Whole, attempts_on
from attacks.writing_verbs import FINETUNE, JOBS, PRETRAIN, TRAIN, Job, contents, go_on

MOST_TRIES = 30
"""Attempts with a kill that comes too late, one after the other."""
_ROUND = (*JOBS, *(PRETRAIN, FINETUNE, TRAIN) * 3)
_SHORT_WRITE = "No space left on device"
"""What a verb says that noticed, before the kernel would have ended it, that a line was not written whole."""


def _disturb(undisturbed: Undisturbed, job: Job, number: int, randomness: random.Random) -> str:
    """Kill the job, first by its time if the number is even."""
    whole = undisturbed.whole(job)
    for _ in range(MOST_TRIES):
        folder = undisturbed.new_folder(job, old=randomness.random() < 0.5)
        kills = [_kill(whole, randomness, timed=number % 2 == 0)]
        kills += [_kill(whole, randomness, timed=randomness.random() < 0.5) for _ in range(randomness.randrange(3))]
        num_killed, wrong = _killed(undisturbed, job, folder, kills)
        if num_killed or wrong:
            break
        shutil.rmtree(folder)
    else:
        return f"it ended {MOST_TRIES} times before it was killed"
    wrong = wrong or _what_is_wrong_in_the_end(undisturbed, job, folder)
    if wrong:
        return f"{wrong} after {', '.join(map(str, kills[:num_killed]))}"
    shutil.rmtree(folder)
    return ""


def _kill(whole: Whole, randomness: random.Random, *, timed: bool) -> Kill:
    if timed:
        return Kill(processor_seconds=randomness.uniform(0, whole.processor_seconds))
    operation = randomness.randint(1, whole.num_operations)
    if randomness.random() < 0.5:
        return Kill(operation=operation)
    return Kill(operation=operation, file_bytes=int(whole.file_bytes ** randomness.random()) - 1)


def _killed(undisturbed: Undisturbed, job: Job, folder: Path, kills: list[Kill]) -> tuple[int, str]:
    """Start the job and kill it, again and again; how many kills did not come too late, and what is wrong then."""
    before = contents(folder)
    num_killed = 0
    for kill in kills:
        ended = go_on(job, folder, kill=kill)
        num_killed += ended.killed
        if half_written := undisturbed.half_written(job, folder, before):
            return num_killed, f"half written: {', '.join(half_written)}"
        was_short = kill.file_bytes is not None and ended.last_line.endswith(_SHORT_WRITE)
        if not (ended.killed or was_short):
            return num_killed, "" if ended.code == 0 or num_killed else f"code {ended.code}: {ended.last_line}"
    return num_killed, ""


def _what_is_wrong_in_the_end(undisturbed: Undisturbed, job: Job, folder: Path) -> str:
    """Run the job to its end; a job that was killed after its end may be refused, because its output is there."""
    ended = go_on(job, folder)
    difference = undisturbed.difference(job, folder)
    if ended.code not in (0, 2) or (ended.code == 2 and difference):
        return f"code {ended.code}: {ended.last_line} {difference}"
    return difference


PART = Part("kills", attempts_on(_ROUND, _disturb), count=50 * len(_ROUND), small_count=7)
