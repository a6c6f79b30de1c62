"""Every verb that writes, again and again, each time in a new interpreter with another hash seed: always the same bits.

An attempt is one run of one verb. An interpreter runs every verb once, each in a forked child; what they write is
compared, apart from times, with what the first runs wrote.

    python -m attacks.determinism        # runs the jobs of a JSON list of [verb, words, folder, stdin]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from attacks.outcome import Attempt, Outcome, Part
from attacks.stopped_child import Command
from attacks.undisturbed import Undisturbed, import_what_jobs_import
from attacks.writing_verbs import JOBS, Job


def attempts(seed: int, numbers: range) -> Iterator[Attempt]:
    """Attempt `n` is of the `n`-th job, in the interpreter of its round."""
    with Undisturbed() as undisturbed:
        for turn, some in groupby(numbers, key=lambda number: number // len(JOBS)):
            jobs = {number: JOBS[number % len(JOBS)] for number in some}
            folders = [undisturbed.new_folder(job) for job in jobs.values()]
            endings = _run(list(jobs.values()), folders, hash_seed=1000 * seed + turn + 1)
            for (number, job), folder, (code, said) in zip(jobs.items(), folders, endings, strict=True):
                wrong = f"code {code}: {said[-300:]}" if code else undisturbed.difference(job, folder)
                shutil.rmtree(folder)
                outcome = Outcome.WRONG if wrong else Outcome.OK
                yield Attempt(job.name, outcome, f"--seed {seed} --first {number}: {wrong}")


def _run(jobs: list[Job], folders: list[Path], *, hash_seed: int) -> list[tuple[int, str]]:
    """Run the jobs in a new interpreter; exit codes, and what was said."""
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(sys.path)}
    wanted = [
        [job.verb, job.command.split(), str(folder), job.stdin] for job, folder in zip(jobs, folders, strict=True)
    ]
    command = [sys.executable, "-m", "attacks.determinism"]
    done = subprocess.run(
        command, input=json.dumps(wanted), stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    """Run the jobs of the standard input, one after the other."""
    endings: list[tuple[int, str]] = []
    for verb, words, folder, stdin in json.load(sys.stdin):
        import_what_jobs_import(verb)
        ended = Command(words, Path(folder), stdin=stdin).wait()
        endings.append((ended.code, ended.said))
    print(json.dumps(endings))


PART = Part("determinism", attempts, count=10 * len(JOBS), small_count=4)

if __name__ == "__main__":
    main()
