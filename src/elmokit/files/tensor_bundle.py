"""TensorFlow's checkpoints ("tensor bundles"), read without TensorFlow: an index, and files of plain numbers.

The index is a table of LevelDB: blocks of sorted names, each with a protobuf that says where a variable is. Source:
`tensor_bundle.proto` and `tensor_bundle.cc` of TensorFlow, `table_format.md` of LevelDB. Checksums are not compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from elmokit.files.weights_file import Array, Entry, map_array
from elmokit.system.messages import FormatError, readable_bytes

if TYPE_CHECKING:
    Message: TypeAlias = dict[int, list[int | memoryview]]

INDEX_ENDING = ".index"
_OTHER_ENDING = re.compile(r"\.(meta|data-\d{5}-of-\d{5})\Z")
MAX_INDEX_BYTES = 16 << 20
"""Largest index; that of a biLM has a few kilobytes."""
MAX_ENTRIES = 10_000
_MAX_NAME_BYTES = 1000
_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER_BYTES = 5  # of a block: how it is compressed, and a checksum
_FLOAT32 = 1
_DTYPES = {2: "float64", 3: "int32", 9: "int64", 14: "bfloat16", 19: "float16"}  # of types.proto


class TensorBundle:
    """A checkpoint whose index has been read and checked; the variables are read one by one.

    root: what the names of the variables begin with, which is cut off; variables with other names are left out.
    Raises FormatError, naming the index, if it is damaged or the files of its variables are not there.
    """

    def __init__(self, index: Path, *, root: str) -> None:
        self.path = index
        self._root = root
        if not index.name.endswith(INDEX_ENDING):
            raise FormatError(index, f"is the index of a checkpoint, so its name should end in {INDEX_ENDING}")
        self._prefix = index.with_name(index.name.removesuffix(INDEX_ENDING))
        self._places: dict[str, tuple[Path, int]] = {}
        self.entries: dict[str, Entry] = {}
        self._read_index()
        self.files = sorted({path for path, _ in self._places.values()})
        self.num_bytes = sum(path.stat().st_size for path in self.files)

    def read(self, name: str) -> Array:
        """A variable of float32, mapped: what is written to it stays in memory."""
        path, offset = self._places[name]
        entry = self.entries[name]
        if entry.refusal is not None:
            raise FormatError(self.path, entry.refusal, part=f"variable {name}")
        if not prod(entry.shape):
            return np.zeros(entry.shape, np.float32)
        return np.require(map_array(path, "<f4", offset, entry.shape), np.float32, ["ALIGNED"])

    def _read_index(self) -> None:
        size = self.path.stat().st_size
        if not _FOOTER_BYTES <= size <= MAX_INDEX_BYTES:
            raise FormatError(self.path, f"has {readable_bytes(size)}; the index of a checkpoint has a few kilobytes")
        table = _Table(self.path, self.path.read_bytes())
        num_shards = 0
        for key, value in table.items():
            message = table.message(value)
            if not key:
                num_shards = table.number(message, 1)
                if table.number(message, 2):
                    raise FormatError(self.path, "is of a big-endian machine, which is not supported")
                continue
            name = key.decode("utf-8", "replace")
            if not name.startswith(self._root):
                continue
            name = name.removeprefix(self._root)
            if name in self.entries:
                raise FormatError(self.path, "is there twice", part=name)
            self._add(name, table, message, num_shards)

    def _add(self, name: str, table: _Table, message: Message, num_shards: int) -> None:
        shape = tuple(table.number(table.message(dim), 1) for dim in table.dimensions(message))
        dtype = table.number(message, 1)
        shard, offset, num_bytes = (table.number(message, field) for field in (3, 4, 5))
        path = self._prefix.with_name(f"{self._prefix.name}.data-{shard:05d}-of-{num_shards:05d}")
        if not path.is_file():
            raise FormatError(path, f"is missing; {self.path.name} says that variables are in it")
        refusal = None
        if dtype != _FLOAT32:
            refusal = f"is of type {_DTYPES.get(dtype, f'number {dtype}')}; expected float32"
        elif 7 in message:
            refusal = "is in slices, which are not supported"
        elif num_bytes != 4 * prod(shape):
            refusal = f"has {num_bytes} bytes; float32 of shape {shape} has {4 * prod(shape)}"
        elif offset + num_bytes > path.stat().st_size:
            refusal = f"ends after {path.name}, which has {readable_bytes(path.stat().st_size)}"
        self._places[name] = (path, offset)
        self.entries[name] = Entry(name, "dataset", refusal, shape, "<f4" if dtype == _FLOAT32 else "", num_bytes)


def latest_index(indices: list[Path], listing: Path | None) -> Path:
    """Of several checkpoints, the one that the file `checkpoint` names, or else the last in their order by number.

    TensorFlow writes the absolute path of the machine that trained, so only the name of the file counts.
    """
    if listing is not None:
        with listing.open("rb") as file:
            head = file.read(10_000).decode("utf-8", "replace")
        for line in head.splitlines():
            field, _, value = line.partition(":")
            if field.strip() == "model_checkpoint_path":
                name = os.path.basename(value.strip().strip('"').replace("\\\\", "/").replace("\\", "/"))
                named = [index for index in indices if index.name == name + INDEX_ENDING]
                if named:
                    return named[0]
    return max(indices, key=lambda index: (_number(index), index.name))


def index_of(path: Path) -> Path | None:
    """The index of a checkpoint that is named as TensorFlow does, without an ending, or by one of its other files."""
    prefix = _OTHER_ENDING.sub("", path.name)
    if not prefix or (prefix == path.name and path.exists()):
        return None
    index = path.with_name(prefix + INDEX_ENDING)
    return index if index.is_file() else None


def has_data(index: Path) -> bool:
    """Whether a file with the variables of this index is next to it."""
    prefix = index.name.removesuffix(INDEX_ENDING)
    return any(file.name.startswith(f"{prefix}.data-") for file in index.parent.iterdir())


def _number(index: Path) -> int:
    digits = index.name.removesuffix(INDEX_ENDING).rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else -1


class _Table:
    """LevelDB's table in memory, and the protobufs in it. Every error names the file."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = memoryview(content)

    def damaged(self, reason: str) -> FormatError:
        return FormatError(self.path, f"is damaged: {reason}")

    def items(self) -> Iterator[tuple[bytes, memoryview]]:
        """All names and values, in order."""
        footer = self.content[-_FOOTER_BYTES:]
        if int.from_bytes(footer[-8:], "little") != _MAGIC:
            raise FormatError(self.path, "is not the index of a checkpoint")
        position = self.handle(footer, 0)[2]  # of the metaindex, which TensorFlow leaves empty
        offset, size, _ = self.handle(footer, position)
        count = end = 0
        for _, handle in self.block(offset, size):
            start, size, _ = self.handle(handle, 0)
            if start < end:  # or one block could be read thousands of times
                raise self.damaged("its blocks of names are not one after the other")
            end = start + size + _TRAILER_BYTES
            for item in self.block(start, size):
                count += 1
                if count > MAX_ENTRIES:
                    raise FormatError(self.path, f"has more than {MAX_ENTRIES} variables; a biLM has a few dozen")
                yield item

    def handle(self, content: memoryview, position: int) -> tuple[int, int, int]:
        offset, position = self.varint(content, position)
        size, position = self.varint(content, position)
        return offset, size, position

    def block(self, offset: int, size: int) -> Iterator[tuple[bytes, memoryview]]:
        whole = self.content[offset : offset + size + _TRAILER_BYTES]
        if len(whole) < size + _TRAILER_BYTES or size < 4:
            raise self.damaged("a block of names is not within the file")
        if whole[size] != 0:
            raise FormatError(self.path, f"is compressed (type {whole[size]}), which bilm-tf's checkpoints are not")
        end = size - 4 - 4 * int.from_bytes(whole[size - 4 : size], "little")
        position, key = 0, b""
        while position < end:
            shared, position = self.varint(whole, position)
            rest, position = self.varint(whole, position)
            length, position = self.varint(whole, position)
            if shared > len(key) or shared + rest > _MAX_NAME_BYTES or position + rest + length > end:
                raise self.damaged("a name or a value is not within its block")
            key = key[:shared] + bytes(whole[position : position + rest])
            position += rest
            yield key, whole[position : position + length]
            position += length

    def varint(self, content: memoryview, position: int) -> tuple[int, int]:
        value = 0
        for shift in range(0, 70, 7):
            if position >= len(content):
                break
            byte = content[position]
            position += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, position
        raise self.damaged("a number has no end")

    def message(self, content: int | memoryview) -> Message:
        """The fields of a protobuf, each with all of its values."""
        fields: Message = {}
        if isinstance(content, int):
            raise self.damaged("a protobuf has a number for a message")
        position = 0
        while position < len(content):
            tag, position = self.varint(content, position)
            kind = tag & 7
            if kind == 0:
                value, position = self.varint(content, position)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
                value = int.from_bytes(content[position : position + size], "little")
                position += size
            elif kind == 2:
                size, position = self.varint(content, position)
                value = content[position : position + size]
                position += size
            else:
                raise self.damaged(f"a protobuf has a field of kind {kind}")
            if position > len(content):
                raise self.damaged("a protobuf is cut short")
            fields.setdefault(tag >> 3, []).append(value)
        return fields

    def number(self, message: Message, field: int) -> int:
        """The number in a field; a field that is absent is 0."""
        value = message.get(field, [0])[-1]
        if not isinstance(value, int) or value >= 1 << 62:
            raise self.damaged("a protobuf has something else for a number")
        return value

    def dimensions(self, entry: Message) -> list[int | memoryview]:
        """Protobufs of the dimensions of a variable."""
        shapes = entry.get(2, [])
        dimensions = self.message(shapes[-1]).get(2, []) if shapes else []
        if len(dimensions) > 8:
            raise self.damaged(f"a variable has {len(dimensions)} dimensions")
        return dimensions
