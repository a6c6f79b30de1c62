"""What readers of weights know of a file, of whatever kind: its arrays by name, each described before it is read."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elmokit.system.messages import FormatError

Array: TypeAlias = NDArray[np.float32]

MAX_EXPANSION = 20
"""Largest ratio of the size of weights to their compressed size; trained weights shrink only by a tenth."""
SMALL = 1 << 20
"""Size in bytes that anything may always expand to: zero biases compress a thousandfold."""


@dataclass(frozen=True)
class Entry:
    """A name in the file. `refusal` says why it must not be read, if so; only datasets have a shape and a dtype."""

    name: str
    kind: Literal["dataset", "group", "other"]
    refusal: str | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""
    num_stored_bytes: int = 0
    """Bytes that the file has for it; other entries may claim the same ones."""

    @property
    def num_bytes(self) -> int:
        """Declared size in bytes, in the type of the file."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize if self.dtype else 0


class WeightsFile(Protocol):
    """An open file of weights."""

    path: Path
    num_bytes: int
    entries: dict[str, Entry]

    def read(self, name: str) -> Array:
        """An array as float32, perhaps not aligned in memory. Raises FormatError if its entry has a refusal."""
        ...


def map_array(path: Path, dtype: str | np.dtype[Any], offset: int, shape: tuple[int, ...]) -> NDArray[Any]:
    """The file itself at any byte, mapped: what is written to it stays in memory, and does not reach the file."""
    return np.asarray(np.memmap(path, dtype, "c", offset=offset, shape=shape))


def give_back(array: Array) -> None:
    """Free the memory of a mapped array to which nothing was written; where it is used again, it is read again.

    So what is used is what was checked only as long as no process writes into the file; ours replace files as a whole.
    """
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def require_finite(path: Path, name: str, array: Array) -> None:
    """Raise FormatError if the array contains NaN or infinity."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity gives NaN, which is tested below
        total = np.sum(array, dtype=np.float64)  # finite float32 values cannot overflow it, and no mask is allocated
    if not np.isfinite(total):
        raise FormatError(path, "holds NaN or infinity; the weights are damaged", part=name)
