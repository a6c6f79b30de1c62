"""A run is a folder of files that are whole or absent: atomic writes, and `metrics.jsonl` a line at a time."""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Generator[Path]:
    """Give a path beside `path` to write to; at the end the file takes the place of `path`, or is removed on failure.

    The temporary name ends like the real one, because some writers look at it. A link is followed. Raises OSError at
    once, before anything is computed, when the folder is missing or the target is a folder or a device.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist; make it first")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is a device, not a file; a file is put in its place as a whole")
    unfinished = target.with_name(f".{target.stem}.{os.getpid()}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield unfinished
        unfinished.chmod(_mode(target))
        with unfinished.open("r+b") as file:
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, or of a new one; some writers make files for their owner alone."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def append_json_line(path: str | os.PathLike[str], record: Mapping[str, object]) -> None:
    """Add one JSON object as a line of its own, as a whole or not at all.

    Raises ValueError for what JSON cannot hold (NaN, infinity), OSError when the line cannot be written.
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
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
    finally:
        os.close(file)
