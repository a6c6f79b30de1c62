"""The disk is full, at eight sizes for every verb that writes: one clear line, and nothing is damaged.

Each attempt leaves an eighth to all but an eighth of the space that the job's output needs, or none. The verb must say
in one line, with exit code 2, that the disk is full; an output of an earlier time stays as it was; nothing unfinished
stays. With space again, the same command, or the one that continues it, makes the bits of an undisturbed run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from attacks.full_disk import Disk, enter_namespace, new_disk
from attacks.outcome import Attempt, Outcome, Part
from attacks.undisturbed import Undisturbed
from attacks.writing_verbs import EMBED, FINETUNE, LATER, OTHERS, PRETRAIN, TRAIN, Job, contents, go_on

_FULL = ("No space left on device", "free; choose another folder, or fewer layers")
_NUM_SIZES = 8
_JOBS = (PRETRAIN, OTHERS[0], EMBED[3], TRAIN, OTHERS[1], FINETUNE, *EMBED[:3], *EMBED[4:], *OTHERS[2:-1])
"""The last of the others is `cache clear`, which only frees space."""


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Attempt `n` runs the next job, with the next size after all have had their turn; then come the verbs `LATER`."""
    try:
        enter_namespace()
    except OSError:
        yield Attempt("not attacked, because mounting is forbidden here", Outcome.OK)
        return
    with Undisturbed() as undisturbed:
        for number in numbers:
            randomness = random.Random(f"disks {seed} {number}")
            turn, place = divmod(number, len(_JOBS))
            job, eighths = _JOBS[place], (turn + place) % _NUM_SIZES
            if turn >= _NUM_SIZES:
                later, eighths = divmod(number - _NUM_SIZES * len(_JOBS), _NUM_SIZES)
                job = LATER[later % len(LATER)]
            yield _attempt(undisturbed, job, eighths=eighths, old=randomness.random() < 0.5)


def _attempt(undisturbed: Undisturbed, job: Job, *, eighths: int, old: bool) -> Attempt:
    free_pages = undisturbed.whole(job).pages * eighths // _NUM_SIZES
    with new_disk(undisturbed.folder / "disk") as disk:
        folder = undisturbed.new_folder(job, old=old, empty=disk.folder)
        wrong = _what_is_wrong(undisturbed, job, disk, folder, free_pages=free_pages)
    if wrong:
        return Attempt(job.name, Outcome.WRONG, f"{free_pages} pages free: {wrong}")
    return Attempt(job.name, Outcome.OK)


def _what_is_wrong(undisturbed: Undisturbed, job: Job, disk: Disk, folder: Path, *, free_pages: int) -> str:
    before = contents(folder)
    disk.fill(free_pages=free_pages)
    ended = go_on(job, folder)
    disk.clear()
    if ended.code == 0:  # the outputs of an earlier time have made way for the new ones
        return undisturbed.difference(job, folder)
    errors = [line for line in ended.said.splitlines() if "error" in line.lower()]
    if ended.code != 2 or errors != [ended.last_line] or not ended.last_line.endswith(_FULL):
        return f"code {ended.code}: {ended.said[-400:]}"
    if half_written := undisturbed.half_written(job, folder, before):
        return f"half written: {', '.join(half_written)}"
    after = contents(folder)
    whole = undisturbed.whole(job).files
    if lost := [name for name in before if name not in after or after[name] not in (before[name], whole.get(name))]:
        return f"lost: {', '.join(lost)}"
    if hidden := [name for name in after if any(part.startswith(".") for part in Path(name).parts)]:
        return f"left over: {', '.join(hidden)}"
    ended = go_on(job, folder)
    difference = undisturbed.difference(job, folder)
    return f"then code {ended.code}: {ended.last_line} {difference}" if ended.code or difference else ""


PART = Part(
    name="disks",
    summary="the disk full at eight sizes for every verb that writes; then the same command with space",
    attempts=attempts,
    count=_NUM_SIZES * (len(_JOBS) + len(LATER)),
    small_count=4,
)
