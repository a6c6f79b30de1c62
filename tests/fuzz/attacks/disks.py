"""The disk is full, at eight sizes for every verb that writes: one clear line, and nothing is damaged.

Each attempt leaves an eighth to all but an eighth of the space that the job's output needs, or none. The verb must say
in one line, with exit code 2, that the disk is full; an output of an earlier time stays as it was; nothing unfinished
stays. With space again, the same command, or the one that continues it, makes the bits of an undisturbed run. The disk
is a tmpfs, mounted where only this process and its children see it (Linux): that needs a mount namespace, and a user
namespace for those who are not root.
"""

import ctypes
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attacks.outcome import Attempt, Outcome, Part
from attacks.undisturbed import Undisturbed, attempts_on
from attacks.writing_verbs import JOBS, Job, contents, go_on

_FULL = ("No space left on device", "free; choose another folder, or fewer layers")
_NUM_SIZES = 8
_JOBS = [job for job in JOBS if job.verb != "cache"]  # which only frees space
PAGE_BYTES = 4096
_NUM_PAGES = 8192
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_REC, _MS_PRIVATE, _MNT_DETACH = 16384, 1 << 18, 2


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Attempt `n` runs the next job, with the next size after all have had their turn."""
    try:
        enter_namespace()
    except OSError:
        yield Attempt("not attacked, because mounting is forbidden here", Outcome.OK)
        return
    yield from attempts_on(_JOBS, _disturb)(seed, numbers)


def _disturb(undisturbed: Undisturbed, job: Job, number: int, randomness: random.Random) -> str:
    eighths = sum(divmod(number, len(_JOBS))) % _NUM_SIZES  # all sizes, when each job has had so many turns
    free_pages = undisturbed.whole(job).pages * eighths // _NUM_SIZES
    with new_disk(undisturbed.folder / "disk") as disk:
        undisturbed.new_folder(job, old=randomness.random() < 0.5, empty=disk)
        wrong = _what_is_wrong(undisturbed, job, disk, free_pages=free_pages)
    return f"{free_pages} pages free: {wrong}" if wrong else ""


def _what_is_wrong(undisturbed: Undisturbed, job: Job, folder: Path, *, free_pages: int) -> str:
    before = contents(folder)
    with (folder / ".ballast").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, (os.statvfs(folder).f_bavail - free_pages) * PAGE_BYTES)
    ended = go_on(job, folder)
    (folder / ".ballast").unlink()
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


def enter_namespace() -> None:
    """From now on this process may mount what nobody else sees. Raises OSError where that is forbidden."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", _CLONE_NEWNS | (_CLONE_NEWUSER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)


@contextmanager
def new_disk(folder: Path) -> Iterator[Path]:
    """Mount an empty disk on a new folder, after `enter_namespace`."""
    folder.mkdir()
    _call("mount", b"none", bytes(folder), b"tmpfs", 0, f"size={_NUM_PAGES * PAGE_BYTES}".encode())
    try:
        yield folder
    finally:
        _call("umount2", bytes(folder), _MNT_DETACH)
        folder.rmdir()


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


PART = Part("disks", attempts, count=_NUM_SIZES * len(_JOBS), small_count=4)
