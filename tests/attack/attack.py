"""Attacks on the commands that write: kills, full disks, two processes at once, other hash seeds.

    python tests/attack/attack.py kills --seed 3 --count 50

Attempt `n` of a seed does the same in every run. Exits with 1 if a result differs from that of an undisturbed run, if
something unfinished is left behind, or if an error is not one clear line.

* kills: the command dies before a random operation on files or in the middle of a write, once to three times. The same
  command, or the one that continues it, then ends with the same bits.
* disks: only some eighths of the space that the output needs are free. The disk is a tmpfs that only this process and
  its children see (Linux).
* pairs: two or three processes work on one output. At least one succeeds; the others may be refused.
* repeats: a new interpreter with another hash seed writes the same bits.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "toys")]

from child import Command, Ended, Kill
from jobs import FINETUNE, JOBS, PRETRAIN, TRAIN, VOCABULARY, Job, contents, go_on, make_inputs, run_whole

FULL = ("No space left on device", "free; choose another folder, or fewer layers")
REFUSALS = ("is in use by another process", "already holds a run", "is not an empty folder", "already exists")
NUM_SIZES = 8
PAGE_BYTES, NUM_PAGES = 4096, 8192
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE, MNT_DETACH = 16384, 1 << 18, 2
IMPORTED = (
    *("elmokit.pretraining.train", "elmokit.tasks.train", "elmokit.vectors.embed_file", "elmokit.tasks.predict"),
    *("elmokit.corpus.prepare", "torch._dynamo", "elmokit.report.report", "elmokit.web.demo"),
    *("elmokit.web.explore.site", "elmokit.integrations.onnx_export"),
)
"""Modules that commands import; the children start with them imported."""


class DefectError(Exception):
    """What is wrong after an attempt."""


@dataclass(frozen=True)
class Whole:
    """What a job writes, and what it needs for that."""

    files: dict[str, object]
    """As `contents` returns them."""
    seconds: float
    num_operations: int
    file_bytes: int
    """Size of its largest file."""
    pages: int
    """Pages of 4 KiB that all its files take."""


class Jobs:
    """A temporary folder with the jobs' inputs, and what each job writes when nothing disturbs it."""

    def __init__(self, folder: Path) -> None:
        for module in IMPORTED:
            importlib.import_module(module)
        self._wholes: dict[str, Whole] = {}
        self.folder = folder
        make_inputs(folder / "inputs")

    def new_folder(self, job: Job, *, old: bool = False, empty: Path | None = None) -> Path:
        """A folder with what the job works on; with `old`, also with outputs of an earlier time."""
        folder = empty or Path(tempfile.mkdtemp(prefix="job-", dir=self.folder))
        if job.before:
            run_whole(job.before, folder)
        for name in job.old if old else ():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(b"as it was before\n")
        return folder

    def whole(self, job: Job) -> Whole:
        if job.name not in self._wholes:
            folder, began = self.new_folder(job), time.monotonic()
            ended = go_on(job, folder)
            seconds = time.monotonic() - began
            assert ended.code == 0, f"elmokit {job.command} in {folder}: {ended.said}"
            sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
            pages = sum(-(-size // PAGE_BYTES) for size in sizes)
            self._wholes[job.name] = Whole(
                contents(folder), seconds, ended.num_operations, max(sizes, default=1), pages
            )
        return self._wholes[job.name]

    def check(self, job: Job, folder: Path, ended: Ended, *, codes: Sequence[int] = (0,)) -> None:
        """The job ended with one of these codes, and the folder holds what an undisturbed job writes."""
        whole, found = self.whole(job).files, contents(folder)
        parts = (
            ("other bits in", [name for name in whole if name in found and found[name] != whole[name]]),
            ("without", [name for name in whole if name not in found]),
            ("left over", [name for name in found if name not in whole]),
        )
        differences = [f"{what} {', '.join(names)}" for what, names in parts if names]
        if ended.code not in codes or differences:
            raise DefectError(f"code {ended.code}: {ended.last_line} {'; '.join(differences)}")

    def check_nothing_is_half_written(self, job: Job, folder: Path, before: dict[str, object]) -> None:
        """Each file is complete, or is as it was `before`; the files of a run may grow."""
        whole, found = self.whole(job).files, {} if job.grows else contents(folder)
        changed = [name for name in found if found[name] not in (None, whole.get(name), before.get(name))]
        if names := [name for name in changed if not re.search(r"(^|/)\.|\.partial(/|$)", name)]:
            raise DefectError(f"half written: {', '.join(names)}")


def kill(jobs: Jobs, job: Job, number: int, randomness: random.Random) -> None:
    """Start the job and kill it, up to three times or until a kill comes too late; then run it to its end."""
    whole = jobs.whole(job)
    folder = jobs.new_folder(job, old=randomness.random() < 0.5)
    before = contents(folder)
    for first in [True, *[False] * randomness.randint(0, 2)]:
        operation = randomness.randint(1, whole.num_operations)
        file_bytes = int(whole.file_bytes ** randomness.random()) - 1
        each = Kill(operation) if randomness.random() < 0.5 else Kill(operation, file_bytes=file_bytes)
        ended = go_on(job, folder, kill=each)
        jobs.check_nothing_is_half_written(job, folder, before)
        was_short = each.file_bytes is not None and ended.last_line.endswith(FULL[0])  # noticed before the kernel did
        if not ended.killed and not was_short:
            if ended.code and first:
                raise DefectError(f"code {ended.code} after {each}: {ended.last_line}")
            break
    jobs.check(job, folder, go_on(job, folder), codes=(0, 2))  # 2 if its output is there already


def fill_disk(jobs: Jobs, job: Job, number: int, randomness: random.Random) -> None:
    eighths = sum(divmod(number, len(ATTACKS["disks"][0]))) % NUM_SIZES  # a job gets all sizes in NUM_SIZES turns
    whole = jobs.whole(job)
    with _new_disk(jobs.folder / "disk") as folder:
        jobs.new_folder(job, old=randomness.random() < 0.5, empty=folder)
        before = contents(folder)
        with (folder / ".ballast").open("wb") as file:
            free_pages = os.statvfs(folder).f_bavail - whole.pages * eighths // NUM_SIZES
            os.posix_fallocate(file.fileno(), 0, free_pages * PAGE_BYTES)
        ended = go_on(job, folder)
        (folder / ".ballast").unlink()
        if ended.code:  # otherwise, replacing the outputs of an earlier time freed enough space
            errors = [line for line in ended.said.splitlines() if "error" in line.lower()]
            if ended.code != 2 or errors != [ended.last_line] or not ended.last_line.endswith(FULL):
                raise DefectError(f"code {ended.code}: {ended.said[-400:]}")
            jobs.check_nothing_is_half_written(job, folder, before)
            after = contents(folder)
            kept = [name for name in before if name in after and after[name] in (before[name], whole.files.get(name))]
            if lost := sorted(before.keys() - kept):
                raise DefectError(f"lost: {', '.join(lost)}")
            if hidden := [name for name in after if any(part.startswith(".") for part in Path(name).parts)]:
                raise DefectError(f"left over: {', '.join(hidden)}")
            ended = go_on(job, folder)
        jobs.check(job, folder, ended)


def enter_namespace() -> None:
    """Let this process mount disks that no other process sees. Raises OSError where that is forbidden."""
    user, group = os.getuid(), os.getgid()
    _system_call("unshare", CLONE_NEWNS | (CLONE_NEWUSER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _system_call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)


@contextmanager
def _new_disk(folder: Path) -> Iterator[Path]:
    """Mount an empty disk on a new folder, after `enter_namespace`."""
    folder.mkdir()
    _system_call("mount", b"none", bytes(folder), b"tmpfs", 0, f"size={NUM_PAGES * PAGE_BYTES}".encode())
    try:
        yield folder
    finally:
        _system_call("umount2", bytes(folder), MNT_DETACH)
        folder.rmdir()


def _system_call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def run_at_once(jobs: Jobs, job: Job, number: int, randomness: random.Random) -> None:
    """Run the job in two processes at once; every third time, run it in three."""
    folder, whole, command = jobs.new_folder(job), jobs.whole(job), job.command
    if job.grows and randomness.random() < 0.5:  # all of them continue a killed run
        go_on(job, folder, kill=Kill(randomness.randint(1, whole.num_operations)))
        command = job.resume if (folder / "run" / "config.json").exists() else command
    running = [Command(command.split(), folder, stdin=job.stdin)]
    for _ in range(2 if number % 3 == 2 else 1):
        time.sleep(randomness.choice((0.0, randomness.uniform(0, whole.seconds))))
        running.append(Command(command.split(), folder, stdin=job.stdin))
    endings = [each.wait() for each in running]
    for ended in endings:
        if ended.code and (ended.code != 2 or not any(text in ended.last_line for text in REFUSALS)):
            raise DefectError(f"code {ended.code}: {ended.said[-300:]}")
    jobs.check(job, folder, min(endings, key=lambda ended: ended.code))


def repeat(jobs: Jobs, job: Job, number: int, randomness: random.Random) -> None:
    folder = jobs.new_folder(job)
    with (folder / job.stdin).open() as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "elmokit", *job.command.split()],
            env=os.environ | {"PYTHONHASHSEED": str(randomness.randrange(1, 1 << 32))},
            cwd=folder,
            stdin=stdin,
            capture_output=True,
            text=True,
        )
    jobs.check(job, folder, Ended(done.returncode, done.stderr, num_operations=0))


Disturb = Callable[[Jobs, Job, int, random.Random], None]
ATTACKS: dict[str, tuple[Sequence[Job], Disturb]] = {  # each starts at another job, so that few attempts cover many
    "kills": ((*JOBS, *(PRETRAIN, FINETUNE, TRAIN) * 3), kill),
    "disks": ([job for job in (*JOBS[1:], PRETRAIN) if job.verb != "cache"], fill_disk),  # `cache` only frees space
    "pairs": ((*JOBS[2:], *JOBS[:2]), run_at_once),
    "repeats": ((VOCABULARY, TRAIN, *JOBS), repeat),  # words and labels start as sets
}
"""The jobs in their order, and the function that disturbs them."""


def attack(name: str, jobs: Jobs, seed: int, numbers: range) -> list[str]:
    """What is wrong after the attempts with these numbers."""
    in_turn, disturb = ATTACKS[name]
    found: list[str] = []
    for number in numbers:
        job = in_turn[number % len(in_turn)]
        try:
            disturb(jobs, job, number, random.Random(f"{seed} {number}"))
        except DefectError as wrong:
            found.append(f"{name} --seed {seed} --first {number}, {job.name}: {wrong}")
        for folder in jobs.folder.glob("job-*"):
            shutil.rmtree(folder)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the attacks that are named; 1 if something is wrong."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "TQDM_DISABLE": "1"}
    sys.dont_write_bytecode = True  # these writes would count as operations of the first job that imports a module
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("attacks", nargs="+", choices=ATTACKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first attempt (default: 0)")
    parser.add_argument("--count", type=int, default=4, metavar="N", help="attempts of each (default: 4)")
    given = parser.parse_args(argv)
    names = list(given.attacks)
    if "disks" in names:
        try:
            enter_namespace()  # needs a process with one thread
        except OSError as error:
            print(f"disks: not attacked, because mounting is forbidden here ({error})")
            names.remove("disks")
    numbers = range(given.first, given.first + given.count)
    with tempfile.TemporaryDirectory(prefix="elmokit-attack-") as folder:
        jobs = Jobs(Path(folder))
        found = [wrong for name in names for wrong in attack(name, jobs, given.seed, numbers)]
    print("\n".join(found) or f"{given.count} attempts of {', '.join(names)}: nothing wrong")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
