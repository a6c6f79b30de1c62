"""Untrusted HDF5 files of float32 weights: everything in them is checked before anything is allocated.

HDF5 can follow links into other files. Files of weights have no links, so all links are refused.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import h5py as _h5py
import numpy as np

from elmokit.files.hdf5_dataset import DAMAGE, describe_dataset, link_refusal, read_dataset
from elmokit.files.hdf5_output import new_hdf5
from elmokit.files.weights_file import Array, Entry
from elmokit.system.messages import FormatError, printable

if TYPE_CHECKING:
    from elmokit.files.hdf5_output import FailsafeFile

h5py: Any = _h5py  # has no type stubs; all results are cast below

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MAX_ENTRIES = 10_000


class HDF5File:
    """An open file: its entries, and reads of single datasets. Use `open_hdf5` to get one."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self.num_bytes = path.stat().st_size
        self._file = file
        self.entries: dict[str, Entry] = {entry.name: entry for entry in _walk(path, file.id, self.num_bytes)}

    def read(self, name: str) -> Array:
        """A dataset as float32. Raises FormatError if its entry has a refusal."""
        return read_dataset(self.path, self._file.id, self.entries[name], self.num_bytes)


def looks_like_hdf5(start: bytes) -> bool:
    """Whether the first eight bytes are those of an HDF5 file."""
    return start.startswith(SIGNATURE)


@contextmanager
def open_hdf5(path: Path) -> Generator[HDF5File]:
    """Open a file for reading and check everything in it. Raises FormatError if it is truncated or damaged."""
    with open_unseen(path) as file:
        try:
            opened = HDF5File(path, file)
        except FormatError:
            raise
        except DAMAGE as error:
            raise FormatError(path, f"is damaged: {printable(str(error))}") from error
        yield opened


def write_hdf5(path: Path, datasets: Iterable[tuple[str, Array]]) -> None:
    """Write float32 datasets, neither chunked nor compressed, as bilm-tf does. Raises OSError if the disk is full."""
    with new_hdf5(path) as opened:
        file, disk = cast("tuple[Any, FailsafeFile]", opened)
        for name, array in datasets:
            if disk.error is None:
                file.create_dataset(name, data=np.ascontiguousarray(array, dtype=np.float32))


def open_unseen(path: Path) -> Any:
    """The file as h5py opens it, without any check of its contents."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    with path.open("rb") as start:
        if start.read(len(SIGNATURE)) != SIGNATURE:
            raise FormatError(path, "is not an HDF5 file")
    try:
        return h5py.File(path, "r")
    except DAMAGE as error:
        raise FormatError(path, f"cannot be opened as HDF5, perhaps truncated: {printable(str(error))}") from error


def _walk(path: Path, root: Any, file_bytes: int) -> Iterator[Entry]:
    """All entries of the file; no link is followed, and nothing is entered or described twice."""
    visited = {object_address(root)}
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
            if (refusal := link_refusal(link)) is not None:
                yield Entry(name, "other", refusal)
                continue
            target = h5py.h5o.open(group, raw_name)
            is_group = isinstance(target, h5py.h5g.GroupID)
            if not is_group and not isinstance(target, h5py.h5d.DatasetID):
                yield Entry(name, "other", "is a named type, not a dataset")
                continue
            is_again = object_address(target) in visited
            visited.add(object_address(target))
            if is_again:
                what = "group" if is_group else "dataset"
                yield Entry(
                    name, "other" if is_group else "dataset", f"is a second name of a {what}; expected one name"
                )
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


def object_address(opened: Any) -> int:
    """Where the header of an open file, group or dataset is in the file."""
    return int(h5py.h5o.get_info(opened).addr)
