"""NumPy arrays in files: written plainly, part by part, and memory-mapped once their header fits the file's size.

Nothing is written through a memory map, because there a full disk is not an error but a signal that ends the program.
"""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from elmokit.files.safetensors import rows_in_parts
from elmokit.system.messages import FormatError, printable, readable_bytes

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped

MAGIC = b"\x93NUMPY"

_DAMAGE = (ValueError, EOFError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)


def write_header(file: IO[bytes], dtype: np.dtype[Any] | type[np.generic], shape: tuple[int, ...]) -> None:
    """Write the start of a `.npy` file, as `numpy.save` does."""
    npy.write_array_header_1_0(file, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape})


def write_array(file: IO[bytes], array: Shaped[np.ndarray, "..."]) -> None:
    """Write a complete `.npy` file."""
    write_header(file, array.dtype, array.shape)
    for part in rows_in_parts(array):
        file.write(part.tobytes())


def map_npy_part(path: Path, file: IO[bytes], *, num_bytes: int, part: str | None = None) -> Shaped[np.ndarray, "..."]:
    """Map the array in the next `num_bytes` of `file`, read-only. Raises `FormatError` if they are something else.

    `path` and `part` name the array in errors. Arrays of Python objects are refused, so nothing is ever unpickled.
    """
    start = file.tell()
    try:
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, fortran_order, dtype = read(file)
    except _DAMAGE as error:
        raise FormatError(path, f"is not a NumPy array: {printable(str(error))}", part=part) from None
    if dtype.hasobject or fortran_order or min(shape, default=0) < 0:
        raise FormatError(path, f"is an array of {dtype} of shape {shape}; expected numbers in rows", part=part)
    expected = file.tell() - start + prod(shape) * dtype.itemsize
    if expected != num_bytes:
        sizes = f"{dtype} of shape {shape} needs {readable_bytes(expected)}, but it has {readable_bytes(num_bytes)}"
        raise FormatError(path, f"is not a NumPy array, or is cut short: {sizes}", part=part)
    return map_array(path, dtype, shape, start=file.tell())


def map_array(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], *, start: int) -> Shaped[np.ndarray, "..."]:
    """Map an array read-only; it is known to end before the file does."""
    if 0 in shape or dtype.itemsize == 0:
        try:
            return np.empty(shape, dtype)
        except ValueError as error:  # the size of the file does not bound the other dimensions
            raise FormatError(path, f"has an array of shape {shape}: {error}") from None
    return np.asarray(np.memmap(path, dtype, "r", offset=start, shape=shape))


def fits_float16(array: Float[np.ndarray, "..."]) -> bool:
    """Whether every number is finite and within float16's range, up to 65,504."""
    return bool(np.abs(array).max(initial=0.0) <= np.finfo(np.float16).max)


def map_npy(path: Path) -> Shaped[np.ndarray, "..."]:
    """Map the array of a `.npy` file read-only. Raises FileNotFoundError, or `FormatError` for anything else."""
    if not path.is_file():  # opening a pipe would block
        raise FileNotFoundError(f"{path}: there is no such file")
    with path.open("rb") as file:
        return map_npy_part(path, file, num_bytes=os.fstat(file.fileno()).st_size)
