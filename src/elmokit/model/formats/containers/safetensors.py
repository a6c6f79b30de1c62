"""Weights of a biLM in safetensors files that a stranger may have written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elmokit.model.formats.stored import Array, require_finite
from elmokit.system.safetensors import TensorEntry, read_layout, write_arrays
from elmokit.system.untrusted import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

DTYPES = {"float32": "F32", "float16": "F16"}
LARGEST_FLOAT16 = 65504.0


def read_header(path: Path) -> dict[str, TensorEntry]:
    """Every tensor's type, shape and place; `FormatError` unless they fill the file without a gap or an overlap."""
    return read_layout(path, dtypes=DTYPES.values()).tensors


def read_tensors(path: Path, names: Iterable[str]) -> dict[str, Array]:
    """These tensors and no others, in float32: of float16 a copy, of float32 the file itself, mapped.

    What is written to a mapped one stays in memory, and does not reach the file.
    """
    layout = read_layout(path, dtypes=DTYPES.values())
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
    converted = {name: np.asarray(array, dtype=dtype) for name, array in tensors.items()}
    write_arrays(path, converted, metadata={"format": "elmokit"})


def require_float16(path: Path, tensors: dict[str, Array]) -> None:
    """Raise FormatError, naming the file and the tensor, for a value that float16 cannot hold."""
    for name, array in tensors.items():
        largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
        if largest > LARGEST_FLOAT16:
            raise FormatError(path, f"has a value of {largest:g}, too large for float16: write float32", part=name)
