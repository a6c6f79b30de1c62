"""NumPy arrays in files: written plainly, part by part, and mapped after their header was compared with the file.

Nothing is written through a memory map: there, a full disk is not an error but a signal that ends the program.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import prod
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from elmokit.system.untrusted import FormatError, readable_bytes, shown

if TYPE_CHECKING:
    from pathlib import Path

    from jaxtyping import Float, Shaped

MAGIC = b"\x93NUMPY"
ROWS_PER_WRITE = 4096
"""Rows that are copied at once: a mapped array is never in memory as a whole."""

_DAMAGE = (ValueError, EOFError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)


@dataclass(frozen=True)
class ArrayHeader:
    """What a `.npy` file says of its array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    num_bytes: int
    """Of the header: the array begins after them."""


def write_header(file: IO[bytes], dtype: np.dtype[Any] | type[np.generic], shape: tuple[int, ...]) -> None:
    """The start of a `.npy` file, as `numpy.save` writes it."""
    npy.write_array_header_1_0(file, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape})


def write_rows(file: IO[bytes], array: Shaped[np.ndarray, "..."]) -> None:
    """The numbers of an array, without a header."""
    if array.ndim == 0:
        file.write(array.tobytes())
        return
    for start in range(0, len(array), ROWS_PER_WRITE):
        file.write(array[start : start + ROWS_PER_WRITE].tobytes())


def write_array(file: IO[bytes], array: Shaped[np.ndarray, "..."]) -> None:
    """A whole `.npy` file."""
    write_header(file, array.dtype, array.shape)
    write_rows(file, array)


def read_header(path: Path, file: IO[bytes], *, num_bytes: int, part: str | None = None) -> ArrayHeader:
    """The header of an array that has the next `num_bytes` of `file`; `FormatError` if they are something else.

    `path` and `part` name the array in errors. Arrays of Python objects are refused, so nothing is ever unpickled.
    """
    start = file.tell()
    try:
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, fortran_order, dtype = read(file)
    except _DAMAGE as error:
        raise FormatError(path, f"is not a NumPy array: {shown(str(error))}", part=part) from None
    if dtype.hasobject or fortran_order or min(shape, default=0) < 0:
        raise FormatError(
            path, f"is an array of {dtype} of shape {shape} that is not read; expected numbers in rows", part=part
        )
    header_bytes = file.tell() - start
    expected = header_bytes + prod(shape) * dtype.itemsize
    if expected != num_bytes:
        raise FormatError(
            path,
            f"is not a NumPy array, or is cut short: {dtype} of shape {shape} needs {readable_bytes(expected)}, and it "
            f"has {readable_bytes(num_bytes)}",
            part=part,
        )
    return ArrayHeader(dtype, shape, header_bytes)


def map_array(path: Path, header: ArrayHeader, *, start: int = 0) -> Shaped[np.ndarray, "..."]:
    """The array, read-only and left on disk. Its header begins at byte `start`; `read_header` has checked it."""
    if 0 in header.shape or header.dtype.itemsize == 0:
        try:
            return np.empty(header.shape, header.dtype)
        except ValueError as error:  # of the other dimensions, which nothing in the file bounds
            raise FormatError(path, f"has an array of shape {header.shape}: {error}") from None
    return np.asarray(np.memmap(path, header.dtype, "r", offset=start + header.num_bytes, shape=header.shape))


def fits_float16(array: Float[np.ndarray, "..."]) -> bool:
    """Whether every number is finite and not beyond what float16 holds, 65,504."""
    return bool(np.abs(array).max(initial=0.0) <= np.finfo(np.float16).max)


def map_npy(path: Path) -> Shaped[np.ndarray, "..."]:
    """The array of a `.npy` file, read-only and left on disk; `FormatError` if the file is something else."""
    with path.open("rb") as file:
        header = read_header(path, file, num_bytes=os.fstat(file.fileno()).st_size)
    return map_array(path, header)
