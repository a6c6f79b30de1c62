"""Logs of runs: `metrics.jsonl` (one JSON object per line, cut when a run is resumed) and `runs.jsonl` (for reports).

A `runs.jsonl` has one line per run, `{"name": ..., "config": {...}, "metrics": [{...}, ...]}`: the name of its folder,
its config.json (or null), and the lines of its metrics.jsonl.
"""

from __future__ import annotations

import datetime
import errno
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmokit.files.atomic import atomic_write
from elmokit.files.json import as_type, parse_json, read_json
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.system.messages import FormatError
from elmokit.version import __version__

RUNS_NAME = "runs.jsonl"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Record:
    """A line of a log."""

    values: dict[str, Any]
    where: str = field(compare=False)
    """The file and the line, for errors."""
    line: bytes = field(default=b"", compare=False)
    """The line as written in the file, without its line feed."""

    def integer(self, name: str) -> int:
        """A field, such as `step`. Raises FormatError, naming the line, if it is missing or not a whole number."""
        return as_type(self.values.get(name), int, where=self.where, part=f"field {name}")


@dataclass(frozen=True)
class Log:
    """The records of a log; blank lines are left out."""

    records: list[Record]
    has_torn_line: bool
    """Whether part of another line follows: the run is writing it, or was killed while it did."""


def append_json_line(path: str | os.PathLike[str], record: Mapping[str, object]) -> None:
    """Append one JSON object as a line, completely or not at all.

    Raises ValueError for what JSON cannot hold (NaN, infinity), and OSError if the line cannot be written.
    """
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error} in {record!r}") from None
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        size = os.fstat(file).st_size
        if os.write(file, line) != len(line):
            os.ftruncate(file, size)  # part of a line would spoil the next one
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        error.filename = os.fspath(path)
        raise
    finally:
        os.close(file)


def read_log(path: Path) -> Log:
    """Read the records of a log, without a torn last line; there are none if the file does not exist.

    Raises FormatError, naming the file and the line, for a line that is not a JSON object.
    """
    if path.exists() and not path.is_file():  # reading a pipe would block
        raise FormatError(path, "is a folder, a device or a pipe; expected the log of a run")
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    records: list[Record] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                values = parse_json(line, where=where)
            except FormatError:
                if number < len(lines):
                    raise
                return Log(records, has_torn_line=True)
            records.append(Record(values, where, line))
    return Log(records, has_torn_line=False)


def keep_records(path: Path, keep: Callable[[Record], bool]) -> None:
    """Remove the records for which `keep` is false, and a torn last line; does nothing if the file does not exist.

    Raises FormatError as `read_log` does, and whatever `keep` raises. Then nothing is removed.
    """
    if path.exists():
        kept = [record.line + b"\n" for record in read_log(path).records if keep(record)]
        with atomic_write(path) as temporary:
            temporary.write_bytes(b"".join(kept))


@dataclass(frozen=True)
class LoggedRun:
    """Config and log of a run."""

    name: str
    """Name of the run's folder."""
    where: str
    """The folder, or the file and the run in it, for errors."""
    config_where: str
    """Where the config was read, for errors."""
    config: dict[str, Any] | None
    """None if there is only a log."""
    records: list[Record]
    """The complete lines of the log; empty if the run has not logged anything yet."""
    has_torn_line: bool = False


@dataclass(frozen=True)
class _RunLine:
    """A line of runs.jsonl."""

    name: str
    config: dict[str, Any] | None
    metrics: list[dict[str, Any]]


def read_runs(paths: Sequence[Path]) -> list[LoggedRun]:
    """Read the runs of each path: the folder of a run, its metrics.jsonl, a runs.jsonl, or a folder of any of these.

    If a run is both in a folder and in the runs.jsonl next to it, the folder is read. Raises FileNotFoundError for a
    path without runs, and FormatError, naming the file, for what cannot be read.
    """
    return [run for path in paths for run in _runs_of(path)]


def is_run_folder(path: Path) -> bool:
    """Whether a path is the folder of a run: it has a config or a log."""
    return (path / CONFIG_NAME).is_file() or (path / METRICS_NAME).is_file()


def _runs_of(path: Path) -> list[LoggedRun]:
    if path.is_file():
        return _runs_in_file(path)
    if not path.exists():
        raise FileNotFoundError(f"no run {path}; expected the folder of a run, its {METRICS_NAME}, or a {RUNS_NAME}")
    if is_run_folder(path):
        return [_run_in_folder(path, read_log(path / METRICS_NAME))]
    kept, folders = path / RUNS_NAME, {child.name: child for child in sorted(path.iterdir()) if is_run_folder(child)}
    runs = [run for run in (_runs_in_file(kept) if kept.is_file() else ()) if run.name not in folders]
    runs += [_run_in_folder(folder, read_log(folder / METRICS_NAME)) for folder in folders.values()]
    if not runs:
        raise FileNotFoundError(f"{path} has no {METRICS_NAME} and no {RUNS_NAME}, and no folder in it is a run")
    return runs


def _run_in_folder(folder: Path, log: Log) -> LoggedRun:
    path = folder / CONFIG_NAME
    config = read_json(path) if path.is_file() else None
    return LoggedRun(folder.resolve().name, str(folder), str(path), config, log.records, log.has_torn_line)


def _runs_in_file(path: Path) -> list[LoggedRun]:
    """The runs of a runs.jsonl, or the run of a metrics.jsonl; the first line tells the two apart."""
    log = read_log(path)
    if not log.records or "metrics" not in log.records[0].values:
        return [_run_in_folder(path.parent, log)]
    if log.has_torn_line:
        raise FormatError(path, "the last line is incomplete; write the file again")
    runs: list[LoggedRun] = []
    for line in log.records:
        found = as_type(line.values, _RunLine, where=line.where)
        where = f"{path}, run {found.name}"
        records = [Record(values, f"{where}, line {number}") for number, values in enumerate(found.metrics, start=1)]
        runs.append(LoggedRun(found.name, where, where, found.config, records))
    return runs


def provenance() -> dict[str, str]:
    """`version`, `commit` (see `commit_of`) and `date` (in UTC), for a line of a log."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"version": __version__, "commit": commit_of(Path(__file__)), "date": date}


def commit_of(file: Path) -> str:
    """The commit of the repository that tracks a file, with a plus if tracked files differ from it.

    `unknown` for an untracked file, such as a file of a package that is installed inside another checkout.
    """
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return UNKNOWN
    return _git(file.parent, "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*") or UNKNOWN


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None without git, or if it fails."""
    try:
        done = subprocess.run(("git", "-C", str(folder), *arguments), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
