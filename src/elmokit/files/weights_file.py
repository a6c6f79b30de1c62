"""What readers of weights know of a file, of whatever kind: its arrays by name, each described before it is read."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
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


class WeightsFile(Protocol):
    """An open file of weights."""

    path: Path
    entries: dict[str, Entry]

    def read(self, name: str) -> Array:
        """An array as float32, whose entry has no refusal."""
        ...


def give_back(array: NDArray[Any]) -> None:
    """Free the memory of a mapped array to which nothing was written; where it is used again, it is read again.

    This is safe as long as no process writes into the file in place; elmokit always replaces whole files.
    """
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)


def require_finite(path: Path, part: str, array: NDArray[Any]) -> None:
    """Raise FormatError if the array contains NaN or infinity."""
    if array.dtype == np.float16:  # a sum would convert each number, which takes four times as long
        is_finite = not ((array.view(np.uint16) & 0x7C00) == 0x7C00).any()
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())
    if not is_finite:
        raise FormatError(path, "holds NaN or infinity; the weights are damaged", part=part)
