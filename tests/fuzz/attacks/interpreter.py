"""A new Python interpreter that runs commands of `elmokit`, each in a forked child: as a new process, at less cost.

python -m attacks.interpreter        # reads lines of JSON, {"words": [...], "folder": ..., "stdin": ...}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.stopped_child import Command
from attacks.undisturbed import import_what_jobs_import

if TYPE_CHECKING:
    from attacks.writing_verbs import Job


class Interpreter:
    """An interpreter of its own, with its own seed of hashes, until the end of a `with` block."""

    def __init__(self, *, hash_seed: int) -> None:
        environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "attacks.interpreter"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, job: Job, folder: Path) -> str:
        """Run a job's command; "" if its exit code was 0, or else what it said."""
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {"verb": job.verb, "words": job.command.split(), "folder": str(folder), "stdin": job.stdin}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the interpreter has ended")
        ended = json.loads(answer)
        return "" if ended["code"] == 0 else f"code {ended['code']}: {ended['said'][-300:]}"


def main() -> None:
    """Run the commands of the standard input, one after the other."""
    for line in sys.stdin:
        request = json.loads(line)
        import_what_jobs_import(request["verb"])
        ended = Command(request["words"], Path(request["folder"]), stdin=request["stdin"]).wait()
        print(json.dumps({"code": ended.code, "said": ended.said}), flush=True)


if __name__ == "__main__":
    main()
