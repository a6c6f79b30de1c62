"""The log of a run, metrics.jsonl: JSON objects, one per line, cut when a run is resumed; where results come from."""

from __future__ import annotations

import datetime
import errno
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.files.atomic import atomic_write
from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.system.messages import FormatError
from elmokit.version import __version__

Record = dict[str, Any]
UNKNOWN = "unknown"


@dataclass(frozen=True)
class LoggedRecords:
    """The records of a log, and their lines as they are written, by number; blank lines are left out."""

    path: Path
    records: list[Record]
    lines: dict[int, bytes]
    has_torn_line: bool
    """Whether part of another line follows: the run is writing it, or was killed while it did."""

    def fields(self) -> list[Fields]:
        """The records, as fields that name their file and line in errors."""
        numbered = zip(self.lines, self.records, strict=True)
        return [Fields(f"{self.path}, line {number}", record) for number, record in numbered]


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


def read_log(path: Path) -> LoggedRecords:
    """Read the records of a log, without a torn last line; there are none if the file does not exist.

    Raises ValueError, naming the file and the line, for a line that is not a JSON object.
    """
    if path.exists() and not path.is_file():  # reading a pipe would block
        raise FormatError(path, "is a folder, a device or a pipe; expected the log of a run")
    *ended, rest = path.read_bytes().split(b"\n") if path.exists() else [b""]
    lines = {number: line for number, line in enumerate(ended, start=1) if line.strip()}
    records = [parse_json_object(line, where=f"{path}, line {number}") for number, line in lines.items()]
    if rest.strip():
        try:  # perhaps only the line feed is missing, as some editors leave it
            records.append(parse_json_object(rest, where=path))
        except ValueError:
            return LoggedRecords(path, records, lines, has_torn_line=True)
        lines[len(ended) + 1] = rest
    return LoggedRecords(path, records, lines, has_torn_line=False)


def keep_records(path: Path, keep: Callable[[Fields], bool]) -> None:
    """Remove the records for which `keep` is false, and a torn last line; does nothing if the file does not exist.

    Raises ValueError as `read_log` does, and what `keep` raises of a record; then nothing is removed.
    """
    if path.exists():
        log = read_log(path)
        kept = [line for line, record in zip(log.lines.values(), log.fields(), strict=True) if keep(record)]
        with atomic_write(path) as temporary:
            temporary.write_bytes(b"".join(line + b"\n" for line in kept))


def provenance() -> dict[str, str]:
    """`version`, `commit` (see `commit_of`) and `date` (in UTC), for a line of a log."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"version": __version__, "commit": commit_of(Path(__file__)), "date": date}


def commit_of(file: Path) -> str:
    """The commit of the repository that tracks a file, with a plus if tracked files differ from it.

    `unknown` for a file that no repository tracks, such as one of a package installed in somebody's checkout.
    """
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return UNKNOWN
    return _git(file.parent, "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*") or UNKNOWN


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None if there is no git, or it refuses."""
    try:
        done = subprocess.run(("git", "-C", str(folder), *arguments), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
