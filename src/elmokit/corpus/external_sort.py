"""External merge sort for more records than fit in memory: writes sorted runs to disk and merges them on reading."""

from __future__ import annotations

import heapq
import secrets
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

MEMORY_BYTES = 256 * 2**20
"""Default limit for the records that are in memory at once."""

RUNS_AT_ONCE = 64  # files that are open during a merge
_READ_BYTES = 2**17  # read buffer of each file
_RECORD_OVERHEAD = 41  # header of a bytes object and its entry in a list
_LENGTH = struct.Struct("<I")


class ExternalSort:
    """Records (bytes) in sorted order, with duplicates. About `memory_bytes` are in memory, the rest in `folder`.

    The caller creates and removes `folder`; see `files.atomic.temporary_folder`.
    """

    def __init__(self, folder: Path, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._records: list[bytes] = []
        self._size = 0
        self._runs: list[Path] = []

    def add(self, record: bytes) -> None:
        self._records.append(record)
        self._size += len(record) + _RECORD_OVERHEAD
        if self._size >= self._memory_bytes:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        """All records in order. This works only once: the files are removed while they are read."""
        if not self._runs:
            self._records.sort()
            yield from self._records
            return
        if self._records:
            self._spill()
        while len(self._runs) > RUNS_AT_ONCE:
            first, self._runs = self._runs[:RUNS_AT_ONCE], self._runs[RUNS_AT_ONCE:]
            self._runs.append(self._write(_merged(first)))
        yield from _merged(self._runs)

    def _spill(self) -> None:
        self._records.sort()
        self._runs.append(self._write(self._records))
        self._records, self._size = [], 0

    def _write(self, records: Iterable[bytes]) -> Path:
        path = self._folder / f"run-{secrets.token_hex(8)}"
        with path.open("wb") as file:
            for record in records:
                file.write(_LENGTH.pack(len(record)))
                file.write(record)
        return path


def _merged(runs: list[Path]) -> Iterator[bytes]:
    yield from heapq.merge(*map(_read, runs))
    for run in runs:
        run.unlink()


def _read(run: Path) -> Iterator[bytes]:
    with run.open("rb", buffering=_READ_BYTES) as file:
        while length := file.read(_LENGTH.size):
            yield file.read(*_LENGTH.unpack(length))
