"""safetensors files: the `safetensors` package checks and reads them, and weights are memory-mapped."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from elmokit.files.atomic import atomic_write
from elmokit.files.weights_file import give_back, require_finite
from elmokit.system.messages import FormatError, printable, readable_bytes
from elmokit.system.paths import first_bytes

if TYPE_CHECKING:
    from jaxtyping import Shaped

MAX_HEADER_BYTES = 1 << 20
"""A biLM's header has a few kilobytes; the package would read up to 100 MB."""
_NUMBERS = {"I64": "<i8", "F64": "<f8", "F32": "<f4", "I32": "<i4", "F16": "<f2", "I16": "<i2", "I8": "i1", "U8": "u1"}
DTYPES = {name: np.dtype(code) for name, code in (_NUMBERS | {"BOOL": "?"}).items()}
"""The types that elmokit reads and writes, in the order by which the package sorts the tensors of a file."""
WEIGHTS = {"float32": "F32", "float16": "F16"}
"""The types of weights: NumPy's name -> the format's name."""
_BYTES_PER_PART = 1 << 24
_safe_open: Any = safe_open  # its type stub names no methods


@dataclass(frozen=True)
class TensorEntry:
    """What the header says about a tensor; `start` and `end` count from the first byte after the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Layout:
    """The contents of a header."""

    tensors: dict[str, TensorEntry]
    metadata: dict[str, str]
    num_header_bytes: int
    """Number of bytes before the first tensor."""


def looks_like_safetensors(start: bytes) -> bool:
    """Whether the first nine bytes are a plausible length of a header and the brace that opens it."""
    return start[8:9] == b"{" and 2 <= int.from_bytes(start[:8], "little") < 100_000_000


def read_layout(path: Path, *, dtypes: Iterable[str] = tuple(DTYPES)) -> Layout:
    """Read the type, shape and position of every tensor.

    Raises FileNotFoundError, and FormatError for types not in `dtypes` and for gaps and overlaps in the file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    header_bytes = int.from_bytes(first_bytes(path, 8), "little")
    if header_bytes > MAX_HEADER_BYTES:
        sizes = f"its header would have {readable_bytes(header_bytes)}; at most {readable_bytes(MAX_HEADER_BYTES)}"
        raise FormatError(path, f"is not a safetensors file: {sizes} are read")
    entries: dict[str, TensorEntry] = {}
    end = 0
    with _opened(path) as opened:
        for name in opened.offset_keys():  # in the order of the file
            tensor = opened.get_slice(name)
            dtype, shape = tensor.get_dtype(), tuple(tensor.get_shape())
            if dtype not in dtypes:
                raise FormatError(path, f"is of type {dtype}; expected {' or '.join(dtypes)}", part=f"tensor {name}")
            start, end = end, end + prod(shape) * DTYPES[dtype].itemsize
            entries[name] = TensorEntry(dtype, shape, start, end)
        return Layout(entries, opened.metadata() or {}, 8 + header_bytes)


def read_arrays(path: Path, layout: Layout) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Read all tensors of a file with this layout into memory."""
    with _opened(path) as opened:
        return {name: opened.get_tensor(name) for name in layout.tensors}


def map_weights(path: Path, layout: Layout, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """These tensors of a file with this layout, as views of the memory-mapped file.

    Writes to a view stay in memory and do not reach the file. Raises FormatError for NaN and infinity.
    """
    content = np.asarray(np.memmap(path, np.uint8, "c"))
    tensors: dict[str, NDArray[Any]] = {}
    for name in names:
        entry = layout.tensors[name]
        stored = content[layout.num_header_bytes + entry.start : layout.num_header_bytes + entry.end]
        tensor = stored.view(DTYPES[entry.dtype]).reshape(entry.shape)
        tensors[name] = tensor if tensor.flags.aligned else tensor.copy()
        require_finite(path, f"tensor {name}", tensors[name])
        give_back(tensors[name])
    return tensors


def write_arrays(
    path: Path, arrays: Mapping[str, Shaped[np.ndarray, "..."]], *, metadata: Mapping[str, str] | None = None
) -> None:
    """Write these tensors to a file, completely or not at all, with the same bytes as the package's `save_file`.

    (The package, however, writes metadata in random order.) An array on disk is read in parts, never as a whole. Raises
    OSError, which names `path`, if the disk is full, and ValueError for a type that is not in `DTYPES`.
    """
    order = {dtype: (rank, name) for rank, (name, dtype) in enumerate(DTYPES.items())}
    for name, array in arrays.items():
        if array.dtype not in order:
            raise ValueError(f"{path}: tensor {name} is of type {array.dtype}; expected {', '.join(DTYPES)}")
    ordered = dict(sorted(arrays.items(), key=lambda item: (order[item[1].dtype], item[0].encode())))
    tensors = {name: (order[array.dtype][1], array.shape, array.nbytes) for name, array in ordered.items()}
    with atomic_write(path) as unfinished, unfinished.open("wb") as file:
        file.write(header_bytes(tensors, metadata))
        for array in ordered.values():
            for part in rows_in_parts(array):
                file.write(part.tobytes())


def header_bytes(
    tensors: Mapping[str, tuple[str, tuple[int, ...], int]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """The first bytes of a file, from the type, shape and number of bytes of each tensor, in order."""
    header: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    end = 0
    for name, (dtype, shape, num_bytes) in tensors.items():
        start, end = end, end + num_bytes
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": (start, end)}
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    return len(encoded).to_bytes(8, "little") + encoded


def rows_in_parts(array: Any) -> Iterable[Shaped[np.ndarray, "..."]]:
    """The array in parts of several megabytes, so that an array on disk is never in memory as a whole."""
    if array.ndim == 0:
        return [array]
    num_rows = max(1, _BYTES_PER_PART // max(1, prod(array.shape[1:]) * array.dtype.itemsize))
    return (array[start : start + num_rows] for start in range(0, len(array), num_rows))


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    try:
        with _safe_open(path, framework="numpy") as opened:
            yield opened
    except SafetensorError as error:
        reason = f"is not a safetensors file, is damaged, or is cut short: {printable(str(error))}"
        raise FormatError(path, reason) from error
