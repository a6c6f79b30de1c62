"""TensorFlow's checkpoints ("tensor bundles"), read without TensorFlow: an index, and files of plain numbers.

The index is a LevelDB table: blocks of sorted names, each with a protobuf that says where a variable is. Source:
`tensor_bundle.proto` and `tensor_bundle.cc` of TensorFlow, `table_format.md` of LevelDB. Checksums are not verified.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from elmokit.files.weights_file import Array, Entry
from elmokit.system.messages import FormatError, as_format_error, readable_bytes
from elmokit.system.paths import first_bytes

INDEX_ENDING = ".index"
_OTHER_ENDING = re.compile(r"\.(meta|data-\d{5}-of-\d{5})\Z")
_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
_FLOAT32 = 1  # from types.proto


class TensorBundle:
    """A checkpoint whose index has been read; the variables are read one by one.

    root: prefix to cut off the names of the variables. Variables without this prefix are left out.
    """

    def __init__(self, index: Path, *, root: str) -> None:
        self.path = index
        self.entries: dict[str, Entry] = {}
        self._places: dict[str, tuple[Path, int]] = {}
        reason = "is damaged, or not the index of a checkpoint"
        with as_format_error(index, reason, errors=(LookupError, TypeError, ValueError)):
            (_, header), *variables = read_table(index.read_bytes())
            for key, message in variables:
                if (name := key.decode()).startswith(root):
                    self._add(name.removeprefix(root), message, num_shards=_number(header, 1))
            if _number(header, 2):
                raise FormatError(index, "comes from a big-endian machine, which is not supported")
        self.files: Final = sorted({path for path, _ in self._places.values()})

    def read(self, name: str) -> Array:
        """Read a float32 variable whose entry has no refusal."""
        path, offset = self._places[name]
        shape = self.entries[name].shape
        return np.fromfile(path, "<f4", prod(shape), offset=offset).reshape(shape)

    def _add(self, name: str, message: Message, *, num_shards: int) -> None:
        dimensions = _message(message[2][-1]).get(2, []) if 2 in message else []
        shape = tuple(_number(_message(dimension), 1) for dimension in dimensions)
        dtype, shard, offset, num_bytes = (_number(message, field) for field in (1, 3, 4, 5))
        path = self.path.with_name(f"{self.path.stem}.data-{shard:05d}-of-{num_shards:05d}")
        if not path.is_file():
            raise FormatError(path, f"is missing; {self.path.name} says that variables are in it")
        refusal = None
        if dtype != _FLOAT32:
            refusal = f"has another type (number {dtype}); expected float32"
        elif num_bytes != 4 * prod(shape):  # a variable in slices has none
            refusal = f"has {num_bytes} bytes; float32 of shape {shape} has {4 * prod(shape)}"
        elif offset + num_bytes > path.stat().st_size:
            refusal = f"extends beyond the end of {path.name} ({readable_bytes(path.stat().st_size)})"
        self._places[name] = (path, offset)
        self.entries[name] = Entry(shape, "float32", refusal)


def latest_index(indices: list[Path], listing: Path | None) -> Path:
    """The checkpoint that the file `checkpoint` (`listing`) names, or else the checkpoint with the highest number.

    TensorFlow writes an absolute path on the machine that trained, so only the name of the file counts.
    """
    if listing is not None:
        head = first_bytes(listing, 10_000).decode("utf-8", "replace")
        for path in re.findall(r'^\s*model_checkpoint_path\s*:\s*"?(.*?)"?\s*$', head, re.MULTILINE):
            name = os.path.basename(path.replace("\\", "/"))
            if named := [index for index in indices if index.name == name + INDEX_ENDING]:
                return named[0]
    return max(indices, key=_order)


def _order(index: Path) -> tuple[int, str]:
    number = re.search(r"-([0-9]{1,18})$", index.stem)
    return int(number[1]) if number else -1, index.name


def index_of(path: Path) -> Path | None:
    """The index file of a checkpoint. `path` is its prefix, as in TensorFlow, or another file of the checkpoint."""
    prefix = _OTHER_ENDING.sub("", path.name)
    if not prefix or (prefix == path.name and path.exists()):
        return None
    index = path.with_name(prefix + INDEX_ENDING)
    return index if index.is_file() else None


def has_data(index: Path) -> bool:
    """Whether a file with the variables of this index is next to it."""
    return any(file.name.startswith(f"{index.stem}.data-") for file in index.parent.iterdir())


Message: TypeAlias = dict[int, list[Any]]
"""The fields of a protobuf, each with all of its values: numbers, or bytes."""


def read_table(content: bytes) -> Iterator[tuple[bytes, Message]]:
    """All names and their protobufs, in order. Raises LookupError or ValueError for a damaged table."""
    footer = content[-_FOOTER_BYTES:]
    if int.from_bytes(footer[-8:], "little") != _MAGIC:
        raise ValueError("the number at its end is wrong")
    handles = footer[_handle(footer, 0)[2] :]  # skips the metaindex's handle; TensorFlow leaves the metaindex empty
    for _, handle in _block(content, handles):
        yield from ((name, _message(value)) for name, value in _block(content, handle))


def _block(content: bytes, handle: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The names and values of a block. The first number says how much a name shares with the name before it."""
    offset, size, _ = _handle(handle, 0)
    block = content[offset : offset + size]
    if content[offset + size] != 0:
        raise ValueError("it is compressed, unlike the checkpoints of bilm-tf")
    end = size - 4 - 4 * int.from_bytes(block[-4:], "little")
    position, name = 0, b""
    while position < end:
        shared, position = _varint(block, position)
        rest, num_bytes, position = _handle(block, position)
        name = name[:shared] + block[position : position + rest]
        yield name, block[position + rest : position + rest + num_bytes]
        position += rest + num_bytes


def _handle(content: bytes, position: int) -> tuple[int, int, int]:
    """Two numbers, such as the place and the size of a block, and the position after them."""
    first, position = _varint(content, position)
    second, position = _varint(content, position)
    return first, second, position


def _varint(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position


def _message(content: bytes) -> Message:
    fields: Message = {}
    position = 0
    while position < len(content):
        tag, position = _varint(content, position)
        kind = tag & 7
        if kind in (0, 2):
            value, position = _varint(content, position)
        else:
            value = {1: 8, 5: 4}[kind]
        if kind != 0:
            start, position = position, position + value
            value = content[start:position] if kind == 2 else int.from_bytes(content[start:position], "little")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _number(message: Message, field: int) -> int:
    """The number in a field; 0 if the field is absent."""
    value = message.get(field, [0])[-1]
    if not isinstance(value, int):
        raise TypeError(f"field {field} of a variable is not a number")
    return value
