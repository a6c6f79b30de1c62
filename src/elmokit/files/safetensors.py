"""safetensors files: a header that is checked in full before a tensor is read, and one writer for all rooms.

The library's writer ends in an error of its own when a disk is full, and its reader copies what it reads. This writer
writes plainly, and the same bytes; weights are mapped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.atomic import atomic_write
from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.files.weights_file import Array, give_back, map_array, require_finite
from elmokit.system.messages import FormatError, printable, readable_bytes

if TYPE_CHECKING:
    from jaxtyping import Shaped

MAX_HEADER_BYTES = 1 << 20
"""A biLM's header has some kilobytes; the format allows 100 MB."""
_NUMBERS = {"I64": "<i8", "F64": "<f8", "F32": "<f4", "I32": "<i4", "F16": "<f2", "I16": "<i2", "I8": "i1", "U8": "u1"}
DTYPES = {name: np.dtype(code) for name, code in (_NUMBERS | {"BOOL": "?"}).items()}
"""The types that are read and written, in the order in which the library puts their tensors into a file."""
WEIGHTS = {"float32": "F32", "float16": "F16"}
"""The types of weights, by the names of NumPy and of the format."""
_METADATA = "__metadata__"
_MAX_DIMENSIONS = 4
_BYTES_PER_WRITE = 1 << 24


@dataclass(frozen=True)
class TensorEntry:
    """What the header says of a tensor; `start` and `end` count from the first byte after the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Layout:
    """All that a header says."""

    tensors: dict[str, TensorEntry]
    metadata: dict[str, str]
    num_header_bytes: int
    """Before the first tensor."""


def looks_like_safetensors(start: bytes) -> bool:
    """From the first nine bytes: the header's length, and the brace that opens it."""
    return start[8:9] == b"{" and 2 <= int.from_bytes(start[:8], "little") < 100_000_000


def read_layout(path: Path, *, dtypes: Iterable[str] = tuple(DTYPES)) -> Layout:
    """Every tensor's type, shape and place; `dtypes` are those that are read.

    Raises FileNotFoundError, and FormatError unless the tensors fill the file without a gap or an overlap.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    with path.open("rb") as file:
        num_bytes = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or not 2 <= length <= min(MAX_HEADER_BYTES, num_bytes - 8):
            sizes = f"it has {readable_bytes(num_bytes)}, its header would have {readable_bytes(length)}"
            most = f"at most {readable_bytes(MAX_HEADER_BYTES)} are read"
            raise FormatError(path, f"is not a safetensors file, or is cut short: {sizes} ({most})")
        header = Fields(path, parse_json_object(file.read(length), where=path, part="header"))
    item_bytes = {name: DTYPES[name].itemsize for name in dtypes}
    entries: dict[str, TensorEntry] = {}
    for name in header.unread:
        if name != _METADATA:
            entries[name] = _read_entry(path, name, header.fields(name), item_bytes)
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].end)):
        if entry.start != end:
            raise FormatError(path, f"starts at byte {entry.start}; expected {end}", part=f"tensor {name}")
        end = entry.end
    if end != num_bytes - 8 - length:
        raise FormatError(path, f"its tensors end at byte {8 + length + end}, the file at {num_bytes}: it is cut short")
    metadata = header.fields(_METADATA) if _METADATA in header else Fields(path, {})
    return Layout(entries, {name: metadata.text(name) for name in metadata.names}, 8 + length)


def read_arrays(path: Path, layout: Layout) -> dict[str, Shaped[np.ndarray, "..."]]:
    """All tensors, in memory of their own; `layout` is that of the same file.

    Raises FormatError if the file was cut short meanwhile, and OSError, which names it, if it cannot be read.
    """
    arrays: dict[str, Shaped[np.ndarray, "..."]] = {}
    with path.open("rb") as file:
        for name, entry in layout.tensors.items():
            file.seek(layout.num_header_bytes + entry.start)
            arrays[name] = np.empty(entry.shape, DTYPES[entry.dtype])
            try:
                num_bytes = file.readinto(arrays[name].data)  # `np.fromfile` takes an error of the disk for the end
            except OSError as error:
                raise OSError(error.errno, error.strerror, os.fspath(path)) from error
            if num_bytes != arrays[name].nbytes:
                raise FormatError(path, "was cut short while it was read", part=f"tensor {name}")
    return arrays


def map_weights(
    path: Path, names: Iterable[str], *, dtypes: Iterable[str] = tuple(WEIGHTS.values())
) -> dict[str, Array]:
    """These tensors and no others, in float32: of other types a copy, of float32 the file itself, mapped.

    What is written to a mapped one stays in memory, and does not reach the file. Raises FormatError for NaN and
    infinity, and the errors of `read_layout`.
    """
    layout = read_layout(path, dtypes=dtypes)
    tensors: dict[str, Array] = {}
    for name in names:
        entry = layout.tensors[name]
        mapped = map_array(path, DTYPES[entry.dtype], layout.num_header_bytes + entry.start, entry.shape)
        tensors[name] = np.require(mapped, np.float32, ["ALIGNED"])
        require_finite(path, f"tensor {name}", tensors[name])
        give_back(tensors[name])
    return tensors


def write_arrays(
    path: Path, arrays: Mapping[str, Shaped[np.ndarray, "..."]], *, metadata: Mapping[str, str] | None = None
) -> None:
    """A file of these tensors, whole or not at all, with the bytes that the library's `save_file` writes.

    Of an array on disk no more than a part is in memory. Raises OSError, which names `path`, if the disk is full;
    ValueError for a type that is not among `DTYPES`.
    """
    order = {dtype.str: (rank, name) for rank, (name, dtype) in enumerate(DTYPES.items())}
    for name, array in arrays.items():
        if array.dtype.str not in order:
            raise ValueError(f"{path}: tensor {name} is of type {array.dtype}; expected {', '.join(DTYPES)}")
    ordered = dict(sorted(arrays.items(), key=lambda item: (order[item[1].dtype.str], item[0].encode())))
    header: dict[str, object] = {} if metadata is None else {_METADATA: dict(metadata)}
    end = 0
    for name, array in ordered.items():
        start, end = end, end + array.nbytes
        header[name] = {"dtype": order[array.dtype.str][1], "shape": array.shape, "data_offsets": (start, end)}
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    with atomic_write(path) as unfinished, unfinished.open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for array in ordered.values():
            for part in rows_in_parts(array):
                file.write(part.tobytes())


def rows_in_parts(array: Shaped[np.ndarray, "..."]) -> Iterable[Shaped[np.ndarray, "..."]]:
    """The array in parts of some megabytes, so that one on disk is never in memory as a whole."""
    if array.ndim == 0 or array.size == 0:
        return [array]
    num_rows = max(1, _BYTES_PER_WRITE * len(array) // array.nbytes)
    return (array[start : start + num_rows] for start in range(0, len(array), num_rows))


def _read_entry(path: Path, name: str, fields: Fields, item_bytes: Mapping[str, int]) -> TensorEntry:
    part = f"tensor {name}"
    dtype = fields.text("dtype")
    if dtype not in item_bytes:
        raise FormatError(path, f"is of type {printable(dtype)}; expected {' or '.join(item_bytes)}", part=part)
    shape: tuple[int, ...] = fields.read("shape", tuple[int, ...], most=1 << 40)
    if len(shape) > _MAX_DIMENSIONS:
        raise fields.error("shape", f"has {len(shape)} entries; expected at most {_MAX_DIMENSIONS}")
    start, end = fields.read("data_offsets", tuple[int, int])
    if end - start != prod(shape) * item_bytes[dtype]:
        raise FormatError(path, f"has {end - start} bytes; {dtype} of shape {shape} is another number", part=part)
    fields.require_known(("dtype", "shape", "data_offsets"))
    return TensorEntry(dtype, shape, start, end)
