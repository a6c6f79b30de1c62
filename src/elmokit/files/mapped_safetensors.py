"""Weights of a biLM in safetensors files that a stranger may have written."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.safetensors import DTYPES as NUMPY_DTYPES
from elmokit.files.safetensors import TensorEntry, read_layout, write_arrays
from elmokit.files.weights_file import Array, require_finite
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from jaxtyping import Shaped
    from numpy.typing import NDArray

DTYPES = {"float32": "F32", "float16": "F16"}
INT8 = "I8"
LARGEST_FLOAT16 = float(np.finfo(np.float16).max)


def read_header(path: Path, *, dtypes: Iterable[str] = tuple(DTYPES.values())) -> dict[str, TensorEntry]:
    """Every tensor's type, shape and place; `FormatError` unless they fill the file without a gap or an overlap."""
    return read_layout(path, dtypes=dtypes).tensors


def read_tensors(
    path: Path, names: Iterable[str], *, dtypes: Iterable[str] = tuple(DTYPES.values())
) -> dict[str, Array]:
    """These tensors and no others, in float32: of other types a copy, of float32 the file itself, mapped.

    What is written to a mapped one stays in memory, and does not reach the file.
    """
    layout = read_layout(path, dtypes=dtypes)
    tensors: dict[str, Array] = {}
    for name in names:
        entry = layout.tensors[name]
        mapped: NDArray[np.float16 | np.float32 | np.int8] = np.memmap(
            path, NUMPY_DTYPES[entry.dtype], "c", offset=layout.num_header_bytes + entry.start, shape=entry.shape
        )
        tensors[name] = np.require(np.asarray(mapped), np.float32, ["ALIGNED"])
        require_finite(path, f"tensor {name}", tensors[name])
        _forget_pages(mapped)
    return tensors


def _forget_pages(mapped: NDArray[np.float16 | np.float32 | np.int8]) -> None:
    """Take out of memory what the check has read of a mapped file: it is read again where it is needed, if at all.

    So what is used is what was checked only as long as no process writes into the file; ours replace files as a whole.
    Copies would take as much memory as the file has bytes, next to the packed weights: loading `original` in int8 takes
    157 MB, and took 424 MB with them (CHANGELOG).
    """
    file = mapped.base
    if isinstance(file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED)


def write_tensors(path: Path, tensors: dict[str, Array], *, dtype: str) -> None:
    """Write in float32 or float16 (then `require_float16` first), whole or not at all."""
    write_typed(path, {name: np.asarray(array, dtype=dtype) for name, array in tensors.items()})


def write_typed(path: Path, arrays: Mapping[str, Shaped[np.ndarray, "..."]]) -> None:
    """Write arrays in the types that they have, whole or not at all."""
    write_arrays(path, arrays, metadata={"format": "elmokit"})


def require_float16(path: Path, tensors: dict[str, Array]) -> None:
    """Raise FormatError, naming the file and the tensor, for a value that float16 cannot hold."""
    for name, array in tensors.items():
        largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
        if largest > LARGEST_FLOAT16:
            raise FormatError(path, f"has a value of {largest:g}, too large for float16: write float32", part=name)
