"""The tensors of PyTorch's files (.pkl, .th, .pt), old ones and new ones, read without torch and without unpickling.

Since PyTorch 1.6 a file is a zip of a pickle and a member per storage; before, it was five pickles, then the storages.
"""

from __future__ import annotations

import mmap
import struct
import zipfile
import zlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from elmokit.files.pickled import MAX_BYTES, Storage, View, unpickle
from elmokit.files.weights_file import Array, require_finite
from elmokit.system.messages import FormatError, readable_bytes, shown

if TYPE_CHECKING:
    from pathlib import Path

_OLD_MAGIC = 0x1950A86A20F9469CFC6C
_OLD_START = b"\x80\x02\x8a\x0a" + _OLD_MAGIC.to_bytes(10, "little") + b"."
_OLD_VERSION = 1001
_ZIP_START = b"PK\x03\x04"
_PICKLE_NAME = "data.pkl"
_ZIP_DAMAGE = (
    zipfile.BadZipFile,
    NotImplementedError,
    OSError,
    ValueError,
    KeyError,
    EOFError,
    struct.error,
    OverflowError,
)
"""Errors that zipfile raises for damaged archives."""
_LOCAL_HEADER_BYTES = 30
_MAX_MEMBERS = 100_000


@dataclass(frozen=True)
class TorchFile:
    """The tensors of a state dict by name, and the position of the first byte of each storage by key."""

    path: Path
    tensors: dict[str, View]
    positions: dict[str, int]

    def dtypes(self) -> list[str]:
        """Names of the types of all tensors."""
        return sorted({np.dtype(view.storage.dtype).name for view in self.tensors.values()})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all tensors by name."""
        return {name: view.shape for name, view in self.tensors.items()}

    def read(self, name: str) -> Array:
        """A tensor as float32: of float32 a view of the file, mapped, and of another type of float a copy.

        Raises FormatError for a tensor that is not there, is not of floats, or holds NaN or infinity.
        """
        part = f"tensor {name}"
        view = self.tensors.get(name)
        if view is None:
            raise FormatError(self.path, "is missing", part=part)
        dtype = np.dtype(view.storage.dtype)
        if dtype.kind != "f":
            raise FormatError(self.path, f"is of type {dtype}; expected floats", part=part)
        if not prod(view.shape):
            return np.zeros(view.shape, np.float32)
        start = self.positions[view.storage.key]
        stored = np.memmap(self.path, dtype, "c", offset=start, shape=(view.storage.num_elements,))
        strides = [step * dtype.itemsize for step in view.strides]
        array = np.lib.stride_tricks.as_strided(stored[view.offset :], view.shape, strides)
        with np.errstate(over="ignore"):  # infinity is refused below
            read = np.require(np.asarray(array), np.float32, ["ALIGNED", "C_CONTIGUOUS"])
        require_finite(self.path, part, read)
        return read


def looks_like_torch_file(path: Path) -> bool:
    """Whether the file starts as one of PyTorch does; other pickles start in other ways."""
    with path.open("rb") as file:
        head = file.read(len(_OLD_START))
    return head == _OLD_START or head.startswith(_ZIP_START)


def read_torch_file(path: Path) -> TorchFile:
    """The tensors of a file whose contents are a state dict: a dict of tensors by name. None of them is read yet.

    Raises FormatError for a file that is damaged, is something else, or whose pickle needs more than a state dict
    does; nothing in it is run.
    """
    with path.open("rb") as file:
        if not file.read(1):
            raise FormatError(path, "is empty")
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    read = _read_zip(path) if bytes(content[:4]) == _ZIP_START else _read_old(path, content)
    for name, view in read.tensors.items():
        _check(path, name, view)
    return read


def _check(path: Path, name: str, view: View) -> None:
    """Raise FormatError for a tensor that is larger than its storage, or reaches out of it."""
    size = prod(view.shape)
    last = view.offset + sum((length - 1) * step for length, step in zip(view.shape, view.strides, strict=True))
    if size > view.storage.num_elements or (size and last >= view.storage.num_elements):
        reason = f"of shape {view.shape} is not within its storage of {view.storage.num_elements} elements"
        raise FormatError(path, reason, part=f"tensor {name}")


def _state_dict(path: Path, value: object) -> dict[str, View]:
    """The tensors of the dict; what is not a tensor in it (numbers, settings) is left out."""
    if not isinstance(value, dict):
        raise FormatError(path, "holds no state dict (a dict of tensors by name)")
    return {
        name: view
        for name, view in cast("dict[object, object]", value).items()
        if isinstance(name, str) and isinstance(view, View)
    }


def _storages(path: Path, tensors: dict[str, View]) -> dict[str, Storage]:
    storages: dict[str, Storage] = {}
    for view in tensors.values():
        if storages.setdefault(view.storage.key, view.storage) != view.storage or view.storage.num_elements < 0:
            raise FormatError(path, "is described in two ways", part=f"storage {view.storage.key}")
    return storages


def _read_old(path: Path, content: memoryview) -> TorchFile:
    magic, position = _unpickle(path, content, 0)
    if magic != _OLD_MAGIC:
        raise FormatError(path, "is a pickle, but not a file of PyTorch (nothing in it was run)")
    version, position = _unpickle(path, content, position)
    if version != _OLD_VERSION:
        raise FormatError(path, "is of a version of PyTorch that is not supported")
    system, position = _unpickle(path, content, position)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise FormatError(path, "is from a machine that is not supported")
    state, position = _unpickle(path, content, position)
    tensors = _state_dict(path, state)
    del state  # what else was in it
    keys, position = _unpickle(path, content, position)
    return TorchFile(path, tensors, _old_positions(path, content, position, keys, _storages(path, tensors)))


def _unpickle(path: Path, content: memoryview, position: int) -> tuple[object, int]:
    """The value of the pickle at this position, and the position after it."""
    value, num_bytes = unpickle(path, content[position:])
    return value, position + num_bytes


def _old_positions(
    path: Path, content: memoryview, position: int, keys: object, storages: dict[str, Storage]
) -> dict[str, int]:
    """Each storage, in the order of `keys`, is its number of elements and then the elements."""
    positions: dict[str, int] = {}
    for key in cast("list[object]", keys) if isinstance(keys, list) else [None]:
        storage = storages.get(key) if isinstance(key, str) else None
        if storage is None or storage.key in positions:
            named = shown(key) if isinstance(key, str) else "one without a name"
            raise FormatError(path, f"has a storage of no tensor: {named}")
        head = bytes(content[position : position + 8])
        position += 8
        positions[storage.key] = position
        position += storage.num_elements * np.dtype(storage.dtype).itemsize
        if int.from_bytes(head, "little") != storage.num_elements or position > len(content):
            raise FormatError(path, "is cut short, or has another number of elements", part=f"storage {storage.key}")
    if missing := storages.keys() - positions.keys():
        raise FormatError(path, "is missing", part=f"storage {min(missing)}")
    if position != len(content):
        raise FormatError(path, f"has {readable_bytes(len(content) - position)} after its last storage")
    return positions


def _read_zip(path: Path) -> TorchFile:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if len(archive.infolist()) > _MAX_MEMBERS or len(members) < len(archive.infolist()):
                raise FormatError(path, "has a repeated name, or too many names")
            described = next((name for name in members if name.endswith(f"/{_PICKLE_NAME}")), None)
            if described is None:
                raise FormatError(path, f"is a zip archive without {_PICKLE_NAME}, so not a file of PyTorch")
            for member in members.values():
                if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                    raise FormatError(path, "is compressed or encrypted; PyTorch does neither", part=member.filename)
            root = described.removesuffix(_PICKLE_NAME)
            if members[described].file_size > MAX_BYTES:
                raise FormatError(path, "is larger than the pickle of a state dict", part=described)
            order = archive.read(f"{root}byteorder") if f"{root}byteorder" in members else b"little"
            value, _ = unpickle(path, memoryview(archive.read(described)))
    except FormatError:
        raise
    except _ZIP_DAMAGE as error:
        raise FormatError(path, f"is damaged: {shown(str(error))}") from error
    if order != b"little":
        raise FormatError(path, "is from a big-endian machine, which is not supported")
    tensors = _state_dict(path, value)
    storages = _storages(path, tensors)
    positions = {key: _zip_position(path, members.get(f"{root}data/{key}"), storages[key]) for key in storages}
    return TorchFile(path, tensors, positions)


def _zip_position(path: Path, member: zipfile.ZipInfo | None, storage: Storage) -> int:
    """The position of a storage's elements in the file. Raises FormatError unless size and checksum are right."""
    part = f"storage {storage.key}"
    if member is None:
        raise FormatError(path, "is missing", part=part)
    num_bytes = storage.num_elements * np.dtype(storage.dtype).itemsize
    if member.file_size != num_bytes or member.compress_size != num_bytes:
        raise FormatError(path, f"has {member.file_size} bytes; its tensors need {num_bytes}", part=part)
    with path.open("rb") as file:
        file.seek(member.header_offset)
        head = file.read(_LOCAL_HEADER_BYTES)
        if len(head) < _LOCAL_HEADER_BYTES or head[:4] != _ZIP_START:
            raise FormatError(path, "is damaged: it is not where the archive says", part=part)
        name_bytes, extra_bytes = struct.unpack("<HH", head[26:30])
        position = member.header_offset + _LOCAL_HEADER_BYTES + int(name_bytes) + int(extra_bytes)
        file.seek(position)
        checksum = 0
        left = num_bytes
        while left and (piece := file.read(min(left, 1 << 20))):
            checksum = zlib.crc32(piece, checksum)
            left -= len(piece)
    if left or checksum != member.CRC:
        raise FormatError(path, "is damaged: its checksum is another one", part=part)
    return position
