"""Untrusted HDF5 files of numbered datasets, one per sentence, as other tools write vectors, and their short texts.

Texts among the attributes are read without the HDF5 library, which keeps them in a global heap, and never returns from
a heap in which one size is damaged to 0. The format is that of the HDF5 File Format Specification, version 3.0,
sections III.E, IV.A and IV.A.2.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import h5py as _h5py

from elmokit.files.hdf5 import (
    DAMAGE,
    describe_dataset,
    link_refusal,
    object_address,
    open_unseen,
    read_dataset,
    require_readable,
)
from elmokit.files.weights_file import Entry
from elmokit.system.messages import FormatError, printable

if TYPE_CHECKING:
    from elmokit.files.weights_file import Array

h5py: Any = _h5py  # has no type stubs; all results are cast below

SENTENCE_TO_INDEX = b"sentence_to_index"
"""Name of the dataset that AllenNLP's `elmo` command writes next to the numbered ones."""
Read = Callable[[int, int], bytes]
"""Address and number of bytes -> the bytes."""

MAX_TEXT_BYTES = 10_000
_MAX_CHUNKS = 100
_MAX_CHUNK_BYTES = 1 << 20
_MAX_HEAP_BYTES = 1 << 24
_ATTRIBUTE, _CONTINUATION = 0x0C, 0x10  # types of messages
_FIXED_STRING, _VARIABLE_LENGTH = 3, 9  # classes of types
_STRING = 1  # the kind of a type of variable length


class NumberedDatasets:
    """The datasets `0` to `N - 1` of a file. There may be millions, so each is checked only when it is read.

    Raises FormatError for a dataset that is damaged, missing, or refused. The file is closed when nothing refers to
    it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_unseen(path)
        self._num_bytes = path.stat().st_size
        self._root = self._file.id
        try:
            num_names = int(self._root.get_num_objs()) - int(self._root.links.exists(SENTENCE_TO_INDEX))
            self._len = num_names if self._exists(0) else 0
        except DAMAGE as error:
            raise FormatError(path, f"is damaged: {printable(str(error))}") from error

    def __len__(self) -> int:
        return self._len

    def __getitem__(self, number: int) -> Array:
        return read_dataset(self.path, self._root, self._entry(number), self._num_bytes)

    def shape(self, number: int) -> tuple[int, ...]:
        """Declared shape of a dataset, after a check that all of it is stored."""
        entry = self._entry(number)
        require_readable(self.path, entry)
        return entry.shape

    def attributes(self) -> dict[str, str]:
        """The attributes of the file that are short texts."""
        return text_attributes(self.path, object_address(self._root))

    def _exists(self, number: int) -> bool:
        return bool(self._root.links.exists(str(number).encode()))

    def _entry(self, number: int) -> Entry:
        name = str(number)
        part = f"dataset {name}"
        try:
            if not self._exists(number):
                raise FormatError(self.path, f"is missing; expected 0 to {self._len - 1}", part=part)
            if (refusal := link_refusal(int(self._root.links.get_info(name.encode()).type))) is not None:
                return Entry(name, "other", refusal)
            opened = h5py.h5o.open(self._root, name.encode())
            if not isinstance(opened, h5py.h5d.DatasetID):
                return Entry(name, "other", "is not a dataset")
            return describe_dataset(name, opened, self._num_bytes)
        except FormatError:
            raise
        except DAMAGE as error:
            raise FormatError(self.path, f"is damaged: {printable(str(error))}", part=part) from error


def text_attributes(path: Path, address: int) -> dict[str, str]:
    """The short single texts among the attributes of the object whose header is at this address.

    Attributes stored outside the header (of objects with many) are ignored. Raises FormatError for a header or a heap
    that is damaged.
    """
    try:
        with path.open("rb") as file:
            read = partial(_read_at, file)
            bodies = (body for kind, body in _messages(read, address) if kind == _ATTRIBUTE)
            found = (_text(read, body) for body in bodies)
            return dict(text for text in found if text is not None)
    except (ValueError, struct.error, IndexError) as error:
        raise FormatError(path, f"cannot be read: {error}", part="attributes") from error


def _read_at(file: IO[bytes], address: int, size: int) -> bytes:
    if not 0 <= size <= _MAX_HEAP_BYTES or address + size > os.fstat(file.fileno()).st_size:
        raise ValueError(f"{size} bytes at {address} are not in the file")
    file.seek(address)
    return file.read(size)


def _messages(read: Read, address: int) -> Iterator[tuple[int, bytes]]:
    """Types and bodies of the messages of an object's header, in all of its chunks."""
    is_new = read(address, 4) == b"OHDR"
    head_bytes, chunks = _new_header(read, address) if is_new else _old_header(read, address)
    for start, size in chunks:  # which grow on the way
        if size > _MAX_CHUNK_BYTES or len(chunks) > _MAX_CHUNKS:
            raise ValueError("the header is too large")
        chunk = read(start, size)
        at = 0
        while at + head_bytes <= len(chunk):
            kind, size = struct.unpack_from("<BH" if is_new else "<HH", chunk, at)
            body = chunk[at + head_bytes : at + head_bytes + size]
            at += head_bytes + size
            if kind != _CONTINUATION:
                yield kind, body
                continue
            where, length = struct.unpack_from("<QQ", body)
            chunks.append((where + 4, length - 8) if is_new else (where, length))  # a signature, and a checksum


def _new_header(read: Read, address: int) -> tuple[int, list[tuple[int, int]]]:
    """Bytes of the head of each message, and the first chunk."""
    flags = read(address, 6)[5]
    at = address + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    return 4 + (2 if flags & 4 else 0), [(at + width, int.from_bytes(read(at, width), "little"))]


def _old_header(read: Read, address: int) -> tuple[int, list[tuple[int, int]]]:
    version, size = struct.unpack("<B7xI", read(address, 12))
    if version != 1:
        raise ValueError(f"the header has version {version}")
    return 8, [(address + 16, size)]


def _text(read: Read, body: bytes) -> tuple[str, str] | None:
    """Name and text of an attribute; None if it is anything else, or longer."""
    version, flags, *sizes = struct.unpack_from("<BBHHH", body)
    if version not in (1, 2, 3) or (version > 1 and flags):  # types that several attributes share are elsewhere
        return None
    at = 9 if version == 3 else 8
    parts: list[bytes] = []
    for size in sizes:
        parts.append(body[at : at + size])
        at += (size + 7) // 8 * 8 if version == 1 else size
    name, kind, space = parts
    if space[1] != 0 or (space[0] == 2 and space[3] != 0):  # not a single value
        return None
    content = _content(read, kind, body[at:])
    return None if content is None else (name.rstrip(b"\0").decode(), content.rstrip(b"\0").decode())


def _content(read: Read, kind: bytes, value: bytes) -> bytes | None:
    if kind[0] & 0xF == _FIXED_STRING:
        size = int.from_bytes(kind[4:8], "little")
        return value[:size] if size <= MAX_TEXT_BYTES else None
    if kind[0] & 0xF == _VARIABLE_LENGTH and kind[1] & 0xF == _STRING:
        size, address, index = struct.unpack_from("<IQI", value)
        return _in_heap(read, address, index)[:size] if size <= MAX_TEXT_BYTES else None
    return None


def _in_heap(read: Read, address: int, index: int) -> bytes:
    signature, size = struct.unpack("<4s4xQ", read(address, 16))
    if signature != b"GCOL" or not 16 <= size <= _MAX_HEAP_BYTES:
        raise ValueError("a text is not in a heap")
    heap = read(address, size)
    at = 16
    while at + 16 <= size:
        found, length = struct.unpack_from("<H6xQ", heap, at)
        if found == index:
            return heap[at + 16 : at + 16 + length]
        at += 16 + (length + 7) // 8 * 8
    raise ValueError("a text is not in its heap")
