"""Kills `elmokit pretrain` with SIGKILL again and again, and compares what becomes of it with a run left alone.

    python benchmarks/resume_torture.py [--rounds 200] [--seed N] [--threads 1] [--output FILE]

Each round starts a small run in a new folder, kills it up to three times, lets it end, and compares every file bit by
bit, apart from the times that it notes. Rounds take turns in how the first kill finds its moment:

    time       uniformly over the processor time that the whole run takes (others may be using the machine too)
    save       while a checkpoint is being written, which shows in its folder
    operation  at a file operation of Python's; round by round the first, the last, the second, the last but one, ...

Later kills of a round draw one of the three. Processes are forked from one that has torch imported and nothing
computed; the run left alone is `python -m elmokit pretrain`. Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import math
import multiprocessing
import os
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from pathlib import Path

from elmokit.cli.main import main as elmokit

NUM_STEPS = 42
KEEP_CHECKPOINTS = 2
SETTINGS = (
    *(f"num_steps={NUM_STEPS}", "checkpoint_every=3", f"keep_checkpoints={KEEP_CHECKPOINTS}", "log_every=2"),
    *("precision=float32", "softmax=sampled", "num_negatives=64", "dropout_rate=0.1", "reset_state=false"),
    *("lstm_dim=48", "batch_size=8", "bptt_steps=3", "evaluate_every=7", "evaluate_sentences=5"),
)
TIMES = ("seconds", "tokens_per_second", "checksum")
MOMENTS = (
    "before config.json",
    "before the first checkpoint",
    "between checkpoints",
    "inside a save",
    "after the end",
)

FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Whole:
    """The run left alone: its files, and what forked ones of its kind take."""

    files: dict[str, object]
    processor_seconds: float
    seconds_per_save: float
    num_operations: int


@dataclass(frozen=True)
class Kill:
    """When a process is to die: after `processor_seconds`, or in the save after them, or at a file operation."""

    kind: str
    processor_seconds: float = 0.0
    seconds_into_save: float = 0.0
    operation: int = 0


class DoesNotGoOnError(Exception):
    """A run could not be resumed, or a folder without one was not refused."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": str(arguments.threads), "OMP_WAIT_POLICY": "passive"}
    for module in ("elmokit.pretraining.train", "torch._dynamo"):  # the latter is what a first optimiser imports
        importlib.import_module(module)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="resume-torture-"))
    runs = Runs(folder)
    whole = runs.whole()
    print(f"a run: {whole.processor_seconds:.2f} processor seconds, {whole.num_operations} file operations", flush=True)
    kills: Counter[str] = Counter()
    inside_a_save = 0
    results: Counter[str] = Counter()
    leftovers: Counter[str] = Counter()
    for number in range(arguments.rounds):
        moments, different, superfluous = torture(runs, whole, number, seed=arguments.seed)
        kills.update(moments)
        inside_a_save += "inside a save" in moments
        results["different" if different else "equal"] += 1
        leftovers.update({re.sub(r"\d[\da-f-]*", "*", name) for name in superfluous})  # without numbers of processes
        verdict = f"DIFFERENT, see {runs.folder / str(number)}: {', '.join(different)}" if different else "equal"
        print(f"round {number}: killed {', '.join(moments)}: {verdict}", flush=True)
    record = {
        "command": " ".join(["python", *sys.argv]),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {arguments.threads} threads",
        "torch": importlib.metadata.version("torch"),
        "steps": NUM_STEPS,
        "seconds": round(time.monotonic() - began),
        "kills": {name: kills[name] for name in MOMENTS},
        "rounds": {name: results[name] for name in ("equal", "different")},
        "rounds_with_a_kill_inside_a_save": inside_a_save,
        "rounds_that_left_a_file_over": dict(leftovers.most_common()),
    }
    print(json.dumps(record, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if results["different"]:
        sys.exit(1)
    shutil.rmtree(folder)


def torture(runs: Runs, whole: Whole, number: int, *, seed: int) -> tuple[list[str], list[str], list[str]]:
    """One round: the moments of its kills, the names of files that differ, and of files that should not be there."""
    randomness = random.Random(f"{seed}/{number}")
    run_dir = runs.folder / str(number) / "run"
    run_dir.parent.mkdir()
    moments: list[str] = []
    try:
        for index in range(randomness.choice((1, 2, 2, 3))):
            kill = _first_kill(number, whole, randomness) if index == 0 else _later_kill(run_dir, whole, randomness)
            moments.append(runs.go_on_until(kill, run_dir))
        runs.go_on_until(None, run_dir)
    except DoesNotGoOnError as error:
        return moments, [str(error)], []
    files = contents(run_dir, hidden=True)
    different = [name for name, content in whole.files.items() if files.get(name) != content]
    if not different:
        shutil.rmtree(run_dir.parent)
    return moments, different, [name for name in files if name not in whole.files]


def _first_kill(number: int, whole: Whole, randomness: random.Random) -> Kill:
    turn, kind = divmod(number, 3)
    if kind < 2:
        return _timed_kill("time" if kind == 0 else "save", whole, randomness, left=1.0)
    nth = turn // 2 % whole.num_operations
    return Kill("operation", operation=nth + 1 if turn % 2 == 0 else whole.num_operations - nth)


def _later_kill(run_dir: Path, whole: Whole, randomness: random.Random) -> Kill:
    steps = _steps(run_dir)
    left = 1.0 - int(steps[-1].name.removeprefix("step-")) / NUM_STEPS if steps else 1.0
    kind = randomness.choice(("time", "save", "operation"))
    if kind == "operation":
        return Kill(kind, operation=randomness.randint(1, max(1, round(left * whole.num_operations))))
    return _timed_kill(kind, whole, randomness, left=left)


def _timed_kill(kind: str, whole: Whole, randomness: random.Random, *, left: float) -> Kill:
    return Kill(
        kind,
        processor_seconds=randomness.uniform(0, left * whole.processor_seconds),
        seconds_into_save=randomness.uniform(0, whole.seconds_per_save),
    )


class Runs:
    """Runs over the same synthetic text, in folders of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        randomness = random.Random(0)
        words = [f"word{number}" for number in range(300)]
        self.shards = [folder / f"shard-{number}.txt" for number in range(3)]
        for shard in self.shards:  # short enough that a run goes through several epochs
            lines = (" ".join(randomness.choices(words, k=randomness.randint(1, 9))) + "\n" for _ in range(30))
            shard.write_text("".join(lines), encoding="utf-8")
        self.vocabulary = folder / "vocabulary.txt"
        self.vocabulary.write_text("\n".join(["<S>", "</S>", "<UNK>", *words, ""]), encoding="utf-8")

    def whole(self) -> Whole:
        """Make the run left alone, and a forked one that is timed."""
        run_dir = self.folder / "whole" / "run"
        run_dir.parent.mkdir()
        command = [sys.executable, "-m", "elmokit", *self._start(run_dir)]
        subprocess.run(command, check=True, capture_output=True)
        forked_dir = self.folder / "forked" / "run"
        forked_dir.parent.mkdir()
        process = self._fork(self._start(forked_dir))
        saves: list[float] = []
        while process.is_alive():
            if _half_written(forked_dir):
                save_began = time.monotonic()
                while _half_written(forked_dir):
                    time.sleep(0.0005)
                saves.append(time.monotonic() - save_began)
            time.sleep(0.0005)
        processor_seconds, num_operations = _log(forked_dir).read_text(encoding="utf-8").split()[-2:]
        whole = Whole(
            files=contents(run_dir),
            processor_seconds=float(processor_seconds),
            seconds_per_save=statistics.median(saves),
            num_operations=int(num_operations),
        )
        if contents(forked_dir) != whole.files:
            sys.exit(f"a forked run differs from one left alone, before any kill; see {self.folder}")
        return whole

    def go_on_until(self, kill: Kill | None, run_dir: Path) -> str:
        """Start a run or resume it, as its folder asks for, until it is killed; returns the moment of that."""
        is_run = (run_dir / "config.json").exists()
        if not is_run and run_dir.exists():
            self._check_refused(run_dir)
        signs, half_written = _signs_of_a_save(run_dir), _half_written(run_dir)
        command = ["pretrain", "--resume", str(run_dir)] if is_run else self._start(run_dir)
        process = self._fork(command, die_at=kill.operation if kill else 0)
        if kill and kill.kind != "operation":
            while process.is_alive() and _processor_seconds(process) < kill.processor_seconds:
                time.sleep(0.001)
            if kill.kind == "save":
                while process.is_alive() and not _half_written(run_dir) - half_written:
                    time.sleep(0.0002)
                time.sleep(kill.seconds_into_save)
            process.kill()
        process.join()
        if process.exitcode == 0:
            return "after the end"
        if not kill or process.exitcode != -signal.SIGKILL:
            raise DoesNotGoOnError(f"{_log(run_dir)} ended with {process.exitcode}")
        if not (run_dir / "config.json").exists():
            return "before config.json"
        if _signs_of_a_save(run_dir) - signs:
            return "inside a save"
        return "between checkpoints" if _steps(run_dir) else "before the first checkpoint"

    def _check_refused(self, run_dir: Path) -> None:
        process = self._fork(["pretrain", "--resume", str(run_dir)])
        process.join()
        said = _log(run_dir).read_text(encoding="utf-8")
        if process.exitcode != 2 or "is not a run folder" not in said:
            raise DoesNotGoOnError(f"{run_dir} is not a run folder, but --resume said {said!r}")

    def _start(self, run_dir: Path) -> list[str]:
        shards = map(str, self.shards)
        files = ["--vocabulary", str(self.vocabulary), "--held-out", str(self.shards[0]), "--run", str(run_dir)]
        return ["pretrain", *shards, *files, "--recipe", "tiny", "--set", *SETTINGS]

    def _fork(self, command: list[str], *, die_at: int = 0) -> ForkProcess:
        log = _log(Path(command[command.index("--run" if "--run" in command else "--resume") + 1]))
        process = FORK.Process(target=run_forked, args=(command, log, die_at))
        process.start()
        return process


def run_forked(command: list[str], log: Path, die_at: int) -> None:
    """In a process of its own: `elmokit` with its output in a file; dies before file operation `die_at`, if not 0."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    count = 0

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event == "open":
            flags = arguments[2]
            changes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) != 0
        else:
            changes = event in {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod"}
        count += changes
        if changes and count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(audit)
    code = elmokit(command)
    print(time.process_time(), count, flush=True)
    sys.exit(code)


def contents(run_dir: Path, *, hidden: bool = False) -> dict[str, object]:
    """Every file by name: its bytes, or the records in it without the times. Hidden files are unfinished ones."""
    files: dict[str, object] = {}
    for path in sorted(run_dir.rglob("*")):
        if path.is_file() and (hidden or not path.name.startswith(".")):
            content: object = path.read_bytes()
            if path.name in ("training.json", "metrics.jsonl"):
                records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
                content = [{key: value for key, value in record.items() if key not in TIMES} for record in records]
            files[str(path.relative_to(run_dir))] = content
    return files


def _processor_seconds(process: ForkProcess) -> float:
    assert process.pid is not None
    try:
        return time.clock_gettime(~process.pid << 3 | 2)  # as clock_getcpuclockid(3) makes a process's clock
    except OSError:  # it has just ended
        return math.inf


def _steps(run_dir: Path) -> list[Path]:
    return sorted((run_dir / "checkpoints").glob("step-*"))


def _half_written(run_dir: Path) -> set[tuple[str, int]]:
    """Checkpoints, with the time of their last change, because a resumed run may find that of a save before."""
    try:
        return {(str(path), path.stat().st_ctime_ns) for path in (run_dir / "checkpoints").glob(".writing-*")}
    except FileNotFoundError:  # it has just become a whole one
        return set()


def _signs_of_a_save(run_dir: Path) -> set[tuple[str, int]]:
    """What a save does not leave: half written checkpoints, one that is not the run's model, more than are kept."""
    steps = _steps(run_dir)
    signs = steps[:-KEEP_CHECKPOINTS]
    model = run_dir / "model.safetensors"
    if steps and not (model.exists() and model.samefile(steps[-1] / model.name)):
        signs.append(steps[-1])
    return _half_written(run_dir) | {(str(path), path.stat().st_ctime_ns) for path in signs}


def _log(run_dir: Path) -> Path:
    return run_dir.parent / "log.txt"


if __name__ == "__main__":
    main()
