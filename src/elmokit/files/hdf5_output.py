"""Writing HDF5 to a disk that may be full: the HDF5 library crashes the interpreter when one of its writes fails."""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py


@contextmanager
def new_hdf5(path: Path) -> Generator[tuple[h5py.File, FailsafeFile]]:
    """A new HDF5 file and the `FailsafeFile` under it. When its `error` is set, stop; it is raised after closing."""
    with path.open("w+b", buffering=0) as raw:
        disk = FailsafeFile(raw)
        try:
            # format 1.8, because the older one keeps the names of all datasets in memory
            with h5py.File(disk, "w", libver="v108") as file:
                yield file, disk
        except (OSError, RuntimeError):
            if disk.error is None:
                raise
        if disk.error is not None:
            raise OSError(disk.error.errno, disk.error.strerror, str(path)) from disk.error


class FailsafeFile(io.RawIOBase):
    """A file that records the first failure, and from then on only pretends to write, so that HDF5 can close it."""

    def __init__(self, raw: io.FileIO) -> None:
        super().__init__()
        self.raw = raw
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        left = memoryview(data)
        try:
            while left and self.error is None:
                left = left[self.raw.write(left) :]
        except OSError as error:
            self.error = error
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        try:
            return self.raw.truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0

    def read(self, size: int = -1) -> bytes:
        return self.raw.read(size) or b""

    def readinto(self, buffer: Any) -> int | None:
        return self.raw.readinto(buffer)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self.raw.seek(offset, whence)

    def tell(self) -> int:
        return self.raw.tell()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
