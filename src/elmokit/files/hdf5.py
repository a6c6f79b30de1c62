"""HDF5 files of float32 arrays: those that are read are checked before anything is allocated; new ones appear whole.

HDF5 can follow links into other files, keep a dataset in any other file on the disk, and declare terabytes in a
kilobyte. Files of weights or vectors need none of it, so all of it is refused; then h5py reads. A crafted file can
still crash the HDF5 library, so models are read in a process with limits.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import ceil, prod
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import h5py as _h5py
import numpy as np

from elmokit.files.atomic import atomic_write
from elmokit.files.weights_file import MAX_EXPANSION, SMALL, Array, Entry, map_array
from elmokit.system.messages import FormatError, printable, readable_bytes

h5py: Any = _h5py  # has no type stubs; all results are cast below

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MAX_ENTRIES = 10_000
DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, ArithmeticError, MemoryError)
"""Errors that h5py raises for damaged files."""
_HARD_LINK = 0  # the ordinary name of an object; others lead elsewhere in the file, or into another one
_IS_LINK = "is a soft link or an external link; links are not followed"


class HDF5File:
    """An open file whose datasets are checked one by one, when they are read. It closes with its last reference."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"{path}: there is no such file")
        self.path = path
        with refusing_damage(path, "cannot be opened as HDF5, perhaps truncated"):
            self.file = h5py.File(path, "r")
        self.root = self.file.id
        self.num_bytes = path.stat().st_size
        self.entries: dict[str, Entry] = {}
        """All that is in it, if `open_hdf5` has opened it."""

    def read(self, name: str) -> Array:
        """A dataset as float32; where it is stored as such, it is the file, mapped, which need not stay open."""
        entry = self.entries[name]
        _require_readable(self.path, entry)
        offset = cast("int | None", h5py.h5o.open(self.root, name.encode()).get_offset())
        if offset is not None and entry.dtype == "<f4":
            return map_array(self.path, entry.dtype, offset, entry.shape)
        return self.read_entry(entry)

    def entry(self, name: str) -> Entry:
        """What the file says of a dataset, all of which is stored; no other is looked at. FormatError otherwise."""
        part = f"dataset {name}"
        with refusing_damage(self.path, "is damaged", part=part):
            if not self.root.links.exists(name.encode()):
                raise FormatError(self.path, "is missing", part=part)
            if self.root.links.get_info(name.encode()).type != _HARD_LINK:
                raise FormatError(self.path, _IS_LINK, part=part)
            opened = h5py.h5o.open(self.root, name.encode())
            if not isinstance(opened, h5py.h5d.DatasetID):
                raise FormatError(self.path, "is not a dataset", part=part)
            entry = describe_dataset(name, opened, self.num_bytes)
        _require_readable(self.path, entry)
        return entry

    def read_entry(self, entry: Entry) -> Array:
        """A dataset without a refusal, as float32, in memory. Raises FormatError if it is damaged."""
        with refusing_damage(self.path, "cannot be read", part=f"dataset {entry.name}"):
            array = np.empty(entry.shape, dtype=np.float32)
            h5py.h5o.open(self.root, entry.name.encode()).read(h5py.h5s.ALL, h5py.h5s.ALL, array)
            return array


@contextmanager
def open_hdf5(path: Path) -> Generator[HDF5File]:
    """Open a file for reading and check everything in it. Raises FormatError if it is truncated or damaged."""
    opened = HDF5File(path)
    with opened.file:
        with refusing_damage(path, "is damaged"):
            opened.entries |= {entry.name: entry for entry in _walk(path, opened.root, opened.num_bytes)}
        yield opened


def write_datasets(
    path: Path,
    datasets: Iterable[tuple[str, object]],
    *,
    about: Mapping[str, str] = MappingProxyType({}),
    in_order: bool = False,
) -> None:
    """Write arrays by name, neither chunked nor compressed, as bilm-tf does; `about` becomes attributes of the file.

    in_order: whether h5py lists the datasets in the order in which they are written, and not by name: 0, 1, 10, 2.

    The file appears complete or not at all. Stops at the first failure of the disk. Raises OSError if the disk is full.
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


@contextmanager
def refusing_damage(path: Path, reason: str, *, part: str | None = None) -> Generator[None]:
    """Turn the errors that h5py raises for damaged files into FormatError."""
    try:
        yield
    except FormatError:
        raise
    except DAMAGE as error:
        raise FormatError(path, f"{reason}: {printable(str(error))}", part=part) from error


def _walk(path: Path, root: Any, file_bytes: int) -> Iterator[Entry]:
    """All entries of the file; no link is followed, and nothing is entered or described twice."""
    visited = {_object_address(root)}
    open_groups: list[tuple[str, Any]] = [("", root)]
    count = 0
    while open_groups:
        prefix, group = open_groups.pop()
        seen: set[bytes] = set()
        for raw_name, link in _links(group):
            count += 1
            if count > MAX_ENTRIES:
                raise FormatError(path, f"holds more than {MAX_ENTRIES} names; a file of weights has a few dozen")
            if b"/" in raw_name or raw_name in (b"", b".") or raw_name in seen:
                raise FormatError(path, "is damaged: it has a duplicate or invalid name", part=f"group {prefix}")
            seen.add(raw_name)
            name = prefix + raw_name.decode("utf-8", "surrogateescape")
            if link != _HARD_LINK:
                yield Entry(name, "other", _IS_LINK)
                continue
            target = h5py.h5o.open(group, raw_name)
            is_group = isinstance(target, h5py.h5g.GroupID)
            if not is_group and not isinstance(target, h5py.h5d.DatasetID):
                yield Entry(name, "other", "is a named type, not a dataset")
                continue
            is_again = _object_address(target) in visited
            visited.add(_object_address(target))
            if is_again:
                kind, what = ("other", "group") if is_group else ("dataset", "dataset")
                yield Entry(name, kind, f"is a second name of a {what}; expected one name")
            elif is_group:
                open_groups.append((name + "/", target))
                yield Entry(name, "group")
            else:
                yield describe_dataset(name, target, file_bytes)


def _links(group: Any) -> list[tuple[bytes, int]]:
    found: list[tuple[bytes, int]] = []

    def note(name: bytes, info: Any) -> bool | None:
        found.append((name, int(info.type)))
        return True if len(found) > MAX_ENTRIES else None  # True stops the iteration

    group.links.iterate(note, info=True)
    return found


def _object_address(opened: Any) -> int:
    """Where the header of an open file, group or dataset is in the file."""
    return int(h5py.h5o.get_info(opened).addr)


def describe_dataset(name: str, dataset: Any, file_bytes: int) -> Entry:
    """Describe a dataset without reading it. The order matters: asking a virtual dataset for its extent opens files."""
    properties = dataset.get_create_plist()
    layout = properties.get_layout()
    if properties.get_external_count() > 0:
        return Entry(name, "dataset", "keeps its values in another file (external storage)")
    if layout == h5py.h5d.VIRTUAL:
        return Entry(name, "dataset", "is a virtual dataset; its values are in other files or datasets")
    dtype = _float_type(dataset.get_type())
    if dtype is None:
        return Entry(name, "dataset", "holds other values; expected 16, 32 or 64 bit floats")
    space = dataset.get_space()
    if space.get_simple_extent_type() == h5py.h5s.NULL:
        return Entry(name, "dataset", "holds nothing (a null dataset)", (0,), dtype)
    shape, stored = tuple(int(length) for length in space.shape), int(dataset.get_storage_size())
    entry = Entry(name, "dataset", None, shape, dtype, stored)
    if layout == h5py.h5d.CHUNKED:
        return replace(entry, refusal=_refuse_chunked(dataset, properties.get_chunk(), entry, file_bytes))
    return replace(entry, refusal=_refuse_whole(dataset, entry, file_bytes))


def _require_readable(path: Path, entry: Entry) -> None:
    if entry.refusal is not None or entry.kind != "dataset":
        raise FormatError(path, entry.refusal or "is not a dataset", part=f"dataset {entry.name}")


def _refuse_whole(dataset: Any, entry: Entry, file_bytes: int) -> str | None:
    """Why a contiguous or compact dataset cannot be read: its declared bytes must all be stored."""
    stored = entry.num_stored_bytes
    if stored != entry.num_bytes:
        return f"declares {readable_bytes(entry.num_bytes)} but stores {readable_bytes(stored)}"
    offset = cast("int | None", dataset.get_offset())  # None for a compact dataset, which is in its header
    if offset is not None and offset + stored > file_bytes:
        return f"ends at byte {offset + stored}, after the end of the file at {file_bytes}"
    return None


def _refuse_chunked(dataset: Any, chunk: tuple[int, ...], entry: Entry, file_bytes: int) -> str | None:
    stored = entry.num_stored_bytes
    if stored > file_bytes:
        return f"claims {readable_bytes(stored)} of a file of {readable_bytes(file_bytes)}"
    if entry.num_bytes > MAX_EXPANSION * stored + SMALL:
        sizes = f"declares {readable_bytes(entry.num_bytes)} but stores {readable_bytes(stored)}"
        return f"{sizes}, less than 1/{MAX_EXPANSION}; weights do not compress like that"
    expected = prod(ceil(length / step) for length, step in zip(entry.shape, chunk, strict=True))
    if int(dataset.get_num_chunks()) != expected:  # h5py would read zeros
        return f"stores {int(dataset.get_num_chunks())} of its {expected} chunks"
    return None


def _float_type(stored: Any) -> str | None:
    for bits in (16, 32, 64):
        for letter, order in (("L", "<"), ("B", ">")):
            if stored.equal(getattr(h5py.h5t, f"IEEE_F{bits}{letter}E")):
                return f"{order}f{bits // 8}"
    return None
