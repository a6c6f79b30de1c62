"""safetensors files that a stranger may have written: the header is checked in full, then the tensors are read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file  # pyright: ignore[reportUnknownVariableType]

from elmokit.model.formats.stored import Array, require_finite
from elmokit.system.files import atomic_write
from elmokit.system.json_fields import Fields, parse_json_object
from elmokit.system.untrusted import FormatError, readable_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

MAX_HEADER_BYTES = 1 << 20
"""A biLM's header has some kilobytes; the format allows 100 MB."""
DTYPES = {"float32": "F32", "float16": "F16"}
_ITEM_BYTES = {"F32": 4, "F16": 2}
_METADATA = "__metadata__"
LARGEST_FLOAT16 = 65504.0


@dataclass(frozen=True)
class TensorEntry:
    """What the header says of a tensor; `start` and `end` count from the first byte behind the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def looks_like_safetensors(start: bytes) -> bool:
    """From the first nine bytes: the header's length, and the brace that opens it."""
    return start[8:9] == b"{" and 2 <= int.from_bytes(start[:8], "little") < 100_000_000


@dataclass(frozen=True)
class Layout:
    """All that a header says."""

    tensors: dict[str, TensorEntry]
    metadata: dict[str, str]
    num_header_bytes: int
    """Before the first tensor."""


def read_header(path: Path) -> dict[str, TensorEntry]:
    """Every tensor's type, shape and place; `FormatError` unless they fill the file without a gap or an overlap."""
    return read_layout(path).tensors


def read_layout(path: Path, *, item_bytes: Mapping[str, int] = _ITEM_BYTES) -> Layout:
    """As `read_header`, and the metadata. `item_bytes`: the types that are read, and the bytes of a number of each."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    with path.open("rb") as file:
        num_bytes = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or not 2 <= length <= min(MAX_HEADER_BYTES, num_bytes - 8):
            raise FormatError(
                path,
                f"is not a safetensors file, or is cut short: it has {readable_bytes(num_bytes)}, its header would "
                f"have {readable_bytes(length)} (at most {readable_bytes(MAX_HEADER_BYTES)} are read)",
            )
        header = Fields(path, parse_json_object(file.read(length), where=path, part="header"))
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


def read_tensors(path: Path, names: Iterable[str]) -> dict[str, Array]:
    """These tensors and no others, in float32: of float16 a copy, of float32 the file itself, mapped.

    What is written to a mapped one stays in memory, and does not reach the file.
    """
    layout = read_layout(path)
    tensors: dict[str, Array] = {}
    for name in names:
        entry = layout.tensors[name]
        dtype = {"F32": "<f4", "F16": "<f2"}[entry.dtype]
        mapped: NDArray[np.float16 | np.float32] = np.memmap(
            path, dtype, "c", offset=layout.num_header_bytes + entry.start, shape=entry.shape
        )
        tensors[name] = np.require(np.asarray(mapped), np.float32, ["ALIGNED"])
    for name, array in tensors.items():
        require_finite(path, f"tensor {name}", array)
    return tensors


def write_tensors(path: Path, tensors: dict[str, Array], *, dtype: str) -> None:
    """Write in float32 or float16 (then `require_float16` first), whole or not at all."""
    converted = {name: np.ascontiguousarray(array, dtype=dtype) for name, array in tensors.items()}
    with atomic_write(path) as temporary:
        try:
            save_file(converted, temporary, metadata={"format": "elmokit"})
        except SafetensorError as error:  # a full disk, for what else could be wrong has been checked
            raise OSError(f"{path.name} cannot be written: {error}") from error


def require_float16(path: Path, tensors: dict[str, Array]) -> None:
    for name, array in tensors.items():
        largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
        if largest > LARGEST_FLOAT16:
            raise FormatError(path, f"has a value of {largest:g}, too large for float16: write float32", part=name)


def _read_entry(path: Path, name: str, fields: Fields, item_bytes: Mapping[str, int]) -> TensorEntry:
    part = f"tensor {name}"
    dtype = fields.text("dtype")
    if dtype not in item_bytes:
        raise FormatError(path, f"is of type {shown(dtype)}; expected {' or '.join(item_bytes)}", part=part)
    shape = fields.integers("shape", most_integers=4, most=1 << 40)
    offsets = fields.integers("data_offsets", most_integers=2, most=1 << 60)
    if len(offsets) != 2:
        raise FormatError(path, f"has {len(offsets)} data_offsets; expected 2", part=part)
    start, end = offsets
    if end - start != prod(shape) * item_bytes[dtype]:
        raise FormatError(path, f"has {end - start} bytes; {dtype} of shape {shape} is another number", part=part)
    fields.require_known(("dtype", "shape", "data_offsets"))
    return TensorEntry(dtype, shape, start, end)
