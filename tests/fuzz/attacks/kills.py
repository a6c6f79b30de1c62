"""`kill -9` at random moments, half of them inside a write: the same command again ends with the same bits.

Each attempt kills a verb once to three times, before a random operation on files or in the middle of a write. Between
two operations nothing changes on the disk, so no other moment leaves anything else. Then the command runs again until
it ends, as it is, or with `--resume` if the error advises that. Every file must have the bits of an undisturbed run,
and none may be left over. What appears as a whole must be whole, or as it was before, after each kill.
"""

import random
from pathlib import Path

from attacks.outcome import Part
from attacks.stopped_child import Kill
from attacks.undisturbed import Undisturbed, Whole, attempts_on
from attacks.writing_verbs import FINETUNE, JOBS, PRETRAIN, TRAIN, Job, contents, go_on

_ROUND = (*JOBS, *(PRETRAIN, FINETUNE, TRAIN) * 3)
_SHORT_WRITE = "No space left on device"
"""What a verb says that noticed, before the kernel would have ended it, that a line was not written whole."""


def _disturb(undisturbed: Undisturbed, job: Job, number: int, randomness: random.Random) -> str:
    whole = undisturbed.whole(job)
    folder = undisturbed.new_folder(job, old=randomness.random() < 0.5)
    kills = [_kill(whole, randomness) for _ in range(randomness.randint(1, 3))]
    wrong = _wrong_after_kills(undisturbed, job, folder, kills) or _wrong_in_the_end(undisturbed, job, folder)
    return f"{wrong} after {', '.join(map(str, kills))}" if wrong else ""


def _kill(whole: Whole, randomness: random.Random) -> Kill:
    operation = randomness.randint(1, whole.num_operations)
    if randomness.random() < 0.5:
        return Kill(operation)
    return Kill(operation, file_bytes=int(whole.file_bytes ** randomness.random()) - 1)


def _wrong_after_kills(undisturbed: Undisturbed, job: Job, folder: Path, kills: list[Kill]) -> str:
    """Start the job and kill it, again and again, until a kill comes too late."""
    before = contents(folder)
    for number, kill in enumerate(kills):
        ended = go_on(job, folder, kill=kill)
        if half_written := undisturbed.half_written(job, folder, before):
            return f"half written: {', '.join(half_written)}"
        was_short = kill.file_bytes is not None and ended.last_line.endswith(_SHORT_WRITE)
        if not ended.killed and not was_short:
            return f"code {ended.code}: {ended.last_line}" if ended.code and number == 0 else ""
    return ""


def _wrong_in_the_end(undisturbed: Undisturbed, job: Job, folder: Path) -> str:
    """Run the job to its end; a job that was killed after its end may be refused, because its output is there."""
    ended = go_on(job, folder)
    difference = undisturbed.difference(job, folder)
    if ended.code not in (0, 2) or (ended.code == 2 and difference):
        return f"code {ended.code}: {ended.last_line} {difference}"
    return difference


PART = Part("kills", attempts_on(_ROUND, _disturb), count=50 * len(_ROUND), small_count=3)
