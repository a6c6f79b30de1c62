"""What the jobs of `writing_verbs` write when nobody disturbs them, and places to disturb them in."""

import atexit
import importlib
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attacks.outcome import Attempt, Outcome
from attacks.writing_verbs import Job, contents, go_on, make_inputs, run_whole

_IMPORTED = (
    *("elmokit.pretraining.train", "elmokit.tasks.train", "elmokit.vectors.embed_file", "elmokit.tasks.predict"),
    *("elmokit.corpus.prepare", "torch._dynamo"),
)
"""What commands import: the children find it imported."""
_IMPORTED_BY = {
    "report": ("elmokit.report.report", "matplotlib.figure", "matplotlib.backends.backend_svg"),
    "demo": ("elmokit.web.demo",),
    "explore": ("elmokit.web.explore.site",),
    "export": ("elmokit.integrations.onnx_export", "torch.onnx", "onnxscript", "onnxruntime"),
}
"""What single verbs import in addition, before their first job."""


@dataclass(frozen=True)
class Whole:
    """What a job writes, and what it needs for that."""

    files: dict[str, object]
    """As of `contents`."""
    seconds: float
    num_operations: int
    file_bytes: int
    """Of its largest file."""
    pages: int
    """Of 4 KiB, of all its files."""


class Undisturbed:
    """A temporary folder with the jobs' inputs; it stays if anything in it is a defect, to be looked at."""

    def __init__(self) -> None:
        _import(_IMPORTED)
        self._wholes: dict[str, Whole] = {}
        self.keep = False
        self.folder = Path(tempfile.mkdtemp(prefix="elmokit-attack-"))
        atexit.register(lambda: self.keep or shutil.rmtree(self.folder))
        make_inputs(self.folder / "inputs")

    def new_folder(self, job: Job, *, old: bool = False, empty: Path | None = None) -> Path:
        """A folder for the job, with what it works on; with `old`, there are also outputs of an earlier time."""
        folder = empty or Path(tempfile.mkdtemp(prefix="job-", dir=self.folder))
        if job.before:
            run_whole(job.before, folder)
        for name in job.old if old else ():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(b"as it was before\n")
        return folder

    def whole(self, job: Job) -> Whole:
        """What the job does when nobody disturbs it."""
        if job.name not in self._wholes:
            _import(_IMPORTED_BY.get(job.verb, ()))
            folder, began = self.new_folder(job), time.monotonic()
            ended = go_on(job, folder)
            seconds = time.monotonic() - began
            if ended.code:
                raise RuntimeError(f"elmokit {job.command} in {folder} ended with {ended.code}: {ended.said}")
            sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
            self._wholes[job.name] = Whole(
                files=contents(folder),
                seconds=seconds,
                num_operations=ended.num_operations,
                file_bytes=max(sizes, default=1),
                pages=sum(-(-size // 4096) for size in sizes),
            )
        return self._wholes[job.name]

    def difference(self, job: Job, folder: Path) -> str:
        """How the folder differs from what the job writes; "" if it does not."""
        whole, found = self.whole(job).files, contents(folder)
        parts = (
            ("other bits in", [name for name in whole if name in found and found[name] != whole[name]]),
            ("without", [name for name in whole if name not in found]),
            ("left over", [name for name in found if name not in whole]),
        )
        return "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)

    def half_written(self, job: Job, folder: Path, before: dict[str, object]) -> list[str]:
        """Files that should appear as a whole, and are neither that nor as `before`; none of a run's."""
        whole, found = self.whole(job).files, {} if job.grows else contents(folder)
        changed = [name for name in found if found[name] not in (None, whole.get(name), before.get(name))]
        return [name for name in changed if not re.search(r"(^|/)\.|\.partial(/|$)", name)]


def _import(modules: Sequence[str]) -> None:
    """Now, once, and not in every child."""
    for module in modules:
        importlib.import_module(module)


_shared = cache(Undisturbed)  # by all parts of this process


def attempts_on(
    jobs: Sequence[Job], disturb: Callable[[Undisturbed, Job, int, random.Random], str]
) -> Callable[[int, range], Iterator[Attempt]]:
    """Attempts of which the `n`-th disturbs the next job: its number and random numbers -> what is wrong then."""

    def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
        undisturbed = _shared()
        for number in numbers:
            job = jobs[number % len(jobs)]
            wrong = disturb(undisturbed, job, number, random.Random(f"{seed} {number}"))
            undisturbed.keep |= bool(wrong)
            for folder in undisturbed.folder.glob("job-*") if not undisturbed.keep else ():
                shutil.rmtree(folder)
            note = f"--seed {seed} --first {number}: {wrong} (in {undisturbed.folder})"
            yield Attempt(job.name, Outcome.WRONG if wrong else Outcome.OK, note)

    return attempts
