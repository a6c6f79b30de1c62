"""Two and three processes at once on one output, run folder or cache: each output whole, or one refused.

The processes of an attempt start within the time that one of them takes. At least one must succeed. Another one may be
refused with exit code 2, if it names a process that holds the output, or says that the output is already there.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from attacks.outcome import Part
from attacks.stopped_child import Command, Kill
from attacks.undisturbed import Undisturbed, attempts_on
from attacks.writing_verbs import JOBS, TRAIN, Job, contents, go_on

_REFUSALS = ("is in use by another process", "already holds a run", "is not an empty folder", "already exists")
_ONE_CACHE = replace(TRAIN, name="train, one cache")
_ROUND = (*JOBS[:2], _ONE_CACHE, *JOBS[2:])


def _disturb(undisturbed: Undisturbed, job: Job, number: int, randomness: random.Random) -> str:
    """Run the job in two processes at once, every third time in three."""
    num_processes = 3 if number % 3 == 2 else 2
    folder = undisturbed.new_folder(job)
    if job is _ONE_CACHE:
        wrong = _wrong_with_one_cache(undisturbed, folder, num_processes, randomness)
    else:
        wrong = _wrong_with_one_output(undisturbed, job, folder, num_processes, randomness)
    if wrong:
        return f"{num_processes} in {folder}: {wrong}"
    shutil.rmtree(folder)
    return ""


def _wrong_with_one_output(
    undisturbed: Undisturbed, job: Job, folder: Path, num_processes: int, randomness: random.Random
) -> str:
    seconds = undisturbed.whole(job).processor_seconds
    command = job.command
    if job.grows and randomness.random() < 0.5:  # all of them continue what was killed
        go_on(job, folder, kill=Kill(processor_seconds=randomness.uniform(0, seconds)))
        command = job.resume if (folder / "run" / "config.json").exists() else command
    wrong = _wrong_with([command] * num_processes, folder, seconds, randomness, stdin=job.stdin)
    return wrong or undisturbed.difference(job, folder)


def _wrong_with_one_cache(undisturbed: Undisturbed, folder: Path, num_processes: int, randomness: random.Random) -> str:
    """Runs into folders of their own; the third process clears the cache that they use."""
    whole = undisturbed.whole(TRAIN)
    names = [f"run{number}" for number in range(2)]
    commands = [TRAIN.command.replace("--run run", f"--run {name}") for name in names]
    commands += ["cache clear --cache cache"] * (num_processes - 2)
    wrong = _wrong_with(commands, folder, whole.processor_seconds, randomness, may_refuse=False)
    for name, content in contents(folder).items():
        first, _, rest = name.partition("/")
        if content != whole.files.get(f"run/{rest}".rstrip("/") if first in names else name, b""):
            wrong += f" {name} is not whole"
    return wrong


def _wrong_with(
    commands: Sequence[str],
    folder: Path,
    seconds: float,
    randomness: random.Random,
    *,
    stdin: str = os.devnull,
    may_refuse: bool = True,
) -> str:
    """Run the commands at once; "" if each ended as it may."""
    running: list[Command] = []
    for command in commands:
        if running:
            time.sleep(randomness.choice((0.0, randomness.uniform(0, seconds))))
        running.append(Command(command.split(), folder, stdin=stdin))
    endings = [command.wait() for command in running]
    wrong = [f"code {ended.code}: {ended.said[-300:]}" for ended in endings if ended.code not in (0, 2)]
    for ended in endings:
        is_refused = may_refuse and any(text in ended.last_line for text in _REFUSALS)
        if ended.code == 2 and not is_refused:
            wrong.append(ended.last_line)
    if all(ended.code for ended in endings):
        wrong.append("none succeeded")
    return "; ".join(wrong)


PART = Part("pairs", attempts_on(_ROUND, _disturb), count=8 * len(_ROUND), small_count=3)
