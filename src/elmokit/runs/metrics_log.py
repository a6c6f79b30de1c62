"""The log of a run, metrics.jsonl: one JSON object per line."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
