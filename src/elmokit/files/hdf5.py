"""Read and write HDF5 files of floats. A file is checked before memory is allocated, and written whole or not at all.

HDF5 can follow links into other files, keep a dataset in any other file on the disk, and declare terabytes in a
kilobyte. Files of weights or vectors need none of this, so elmokit refuses it before h5py reads any values. A crafted
file can still crash the HDF5 library, so models are read in a process with limits.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from math import ceil, prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from elmokit.files.atomic import atomic_write
from elmokit.files.weights_file import MAX_EXPANSION, SMALL, Array, Entry
from elmokit.system.messages import FormatError, as_format_error, readable_bytes


class _H5py:
    """The package, imported on first use: the import takes as long as loading a model, and few models need it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("h5py"), name)


h5py: Any = _H5py()
SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, ArithmeticError, MemoryError)
"""Errors that h5py raises for damaged files."""
_FLOATS = ("float16", "float32", "float64")
_HARD_LINK = 0  # the ordinary link; others lead elsewhere in the file, or into another file


def refusing_damage(path: Path, reason: str, *, part: str | None = None) -> AbstractContextManager[None]:
    """Turn the errors that h5py raises for damaged files into FormatError."""
    return as_format_error(path, reason, errors=_DAMAGE, part=part)


class HDF5File:
    """An open file. Its datasets are checked before they are read. It closes with its last reference."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"{path}: there is no such file")
        self.path = path
        with refusing_damage(path, "cannot be opened as HDF5, perhaps truncated"):
            self._file = h5py.File(path, "r")
        self.root: Final = self._file.id
        self._num_bytes = path.stat().st_size

    @property
    def entries(self) -> dict[str, Entry]:
        """Everything in the file except groups. Links are not followed, and nothing is described twice."""
        return self._entries

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        links: list[tuple[bytes, int]] = []
        found: dict[str, Entry] = {}

        def see(name: bytes, link: Any) -> None:
            links.append((name, link.type))  # h5py has one object for all links

        with refusing_damage(self.path, "is damaged"):
            self.root.links.visit(see, info=True)
            seen: set[int | None] = {_address(self.root)}
            for name, kind in links:
                opened = h5py.h5o.open(self.root, name) if kind == _HARD_LINK else None
                entry = self._described(opened)
                address = None if opened is None else _address(opened)
                if address is not None and address in seen:
                    entry = Entry(is_array=False, refusal="is a second name of a group or dataset; expected one name")
                seen.add(address)
                if entry is not None:
                    found[name.decode("utf-8", "surrogateescape")] = entry
        return found

    def entry(self, name: str) -> Entry:
        """Describe one dataset, without opening the others. Raises FormatError if it must not be read."""
        with refusing_damage(self.path, "is damaged", part=f"dataset {name}"):
            if not self.root.links.exists(name.encode()):
                raise FormatError(self.path, "is missing", part=f"dataset {name}")
            is_named = self.root.links.get_info(name.encode()).type == _HARD_LINK
            entry = self._described(h5py.h5o.open(self.root, name.encode()) if is_named else None)
        if entry is None or entry.refusal is not None:
            reason = (entry and entry.refusal) or "is not a dataset"
            raise FormatError(self.path, reason, part=f"dataset {name}")
        return entry

    def read(self, name: str) -> Array:
        """Read a dataset whose entry has no refusal into memory, as float32. Raises FormatError if it is damaged."""
        with refusing_damage(self.path, "cannot be read", part=f"dataset {name}"):
            dataset = h5py.h5d.open(self.root, name.encode("utf-8", "surrogateescape"))
            array = np.empty(dataset.shape, np.float32)
            dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, array)
            return array

    def _described(self, opened: Any) -> Entry | None:
        """Describe the object behind a name, without reading it; None for a group. `opened` is None for a link.

        The order matters: asking a virtual dataset for its shape opens files.
        """
        if opened is None:
            return Entry(is_array=False, refusal="is a soft link or an external link; links are not followed")
        if isinstance(opened, h5py.h5g.GroupID):
            return None
        if not isinstance(opened, h5py.h5d.DatasetID):
            return Entry(is_array=False, refusal="is a named type, not a dataset")
        dataset = h5py.Dataset(opened)
        if dataset.external is not None:
            return Entry(refusal="keeps its values in another file (external storage)")
        if dataset.is_virtual:
            return Entry(refusal="is a virtual dataset; its values are in other files or datasets")
        if not isinstance(opened.get_type(), h5py.h5t.TypeFloatID) or dataset.dtype.name not in _FLOATS:
            return Entry(refusal="holds values of another type; expected 16, 32 or 64 bit floats")
        if dataset.shape is None:
            return Entry(refusal="holds nothing (a null dataset)")
        return Entry(dataset.shape, dataset.dtype.name, self._refusal(dataset))

    def _refusal(self, dataset: Any) -> str | None:
        """Why a dataset must not be read, or None. h5py would return zeros for values that are not stored."""
        num_bytes, stored = prod(dataset.shape) * dataset.dtype.itemsize, int(dataset.id.get_storage_size())
        sizes = f"declares {readable_bytes(num_bytes)} but stores {readable_bytes(stored)}"
        if dataset.chunks is None:
            end = (dataset.id.get_offset() or 0) + stored
            return sizes if stored != num_bytes or end > self._num_bytes else None
        if stored > self._num_bytes or num_bytes > MAX_EXPANSION * stored + SMALL:
            return f"{sizes}; weights do not compress that well"
        expected = prod(ceil(length / step) for length, step in zip(dataset.shape, dataset.chunks, strict=True))
        if dataset.id.get_num_chunks() != expected:
            return f"stores only {dataset.id.get_num_chunks()} of its {expected} chunks"
        return None


def _address(opened: Any) -> int:
    """Where the header of an open group or dataset is in the file."""
    return int(h5py.h5o.get_info(opened).addr)


def write_datasets(
    path: Path,
    datasets: Iterable[tuple[str, object]],
    *,
    about: Mapping[str, str] = MappingProxyType({}),
    in_order: bool = False,
) -> None:
    """Write arrays by name, neither chunked nor compressed, as bilm-tf does; `about` becomes attributes of the file.

    in_order: whether h5py lists the datasets in the order of writing, instead of by name (0, 1, 10, 2).

    The file is written completely or not at all. Writing stops at the first disk error. Raises OSError for a full disk.
    """
    with atomic_write(path) as unfinished, _FailsafeFile(unfinished, "w+") as disk:
        try:
            # format 1.8, because the older one keeps the names of all datasets in memory
            with h5py.File(disk, "w", libver="v108", track_order=in_order) as file:
                file.attrs.update(about)
                for name, data in datasets:
                    file.create_dataset(name, data=data)
                    if disk.error is not None:
                        break
        except (OSError, RuntimeError):
            if disk.error is None:
                raise
        if disk.error is not None:
            raise OSError(disk.error.errno, disk.error.strerror, str(path)) from disk.error


class _FailsafeFile(io.FileIO):
    """A file that records the first failure, and from then on only pretends to write, so that HDF5 can close it.

    The HDF5 library crashes the interpreter when one of its writes fails.
    """

    error: OSError | None = None

    def write(self, b: Any, /) -> int:
        left = memoryview(b)
        try:
            while left and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        return len(b)

    def truncate(self, size: int | None = None, /) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0
