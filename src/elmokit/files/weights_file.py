"""Weight files of other programs: arrays by name, each described before it is read, and checks of arrays."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from elmokit.system.messages import FormatError

Array: TypeAlias = NDArray[np.float32]

MAX_EXPANSION = 20
"""Largest ratio of the size of weights to their compressed size. Trained weights shrink only by a tenth."""
SMALL = 1 << 20
"""Size in bytes that anything may always expand to: zero biases compress a thousandfold."""


@dataclass(frozen=True)
class Entry:
    """What a file says about a name in it. `refusal` is the reason why it must not be read, if there is one."""

    shape: tuple[int, ...] = ()
    dtype: str = ""
    refusal: str | None = None
    is_array: bool = True


class WeightsFile(Protocol):
    """A file of weights, in any format."""

    @property
    def path(self) -> Path: ...

    @property
    def entries(self) -> Mapping[str, Entry]: ...

    def read(self, name: str) -> Array:
        """Read an array whose entry has no refusal, as float32."""
        ...


class JoinedFiles:
    """Several files as one. If two files have the same name, the later file wins."""

    def __init__(self, path: Path, *files: WeightsFile) -> None:
        self.path = path
        self._files = {name: file for file in files for name in file.entries}
        self.entries: Final = {name: file.entries[name] for name, file in self._files.items()}

    def read(self, name: str) -> Array:
        return self._files[name].read(name)


def check_entry(file: WeightsFile, name: str, shape: tuple[int, ...], *, expected: str) -> None:
    """Raise FormatError, naming file and array, if the array is missing, has another shape, or must not be read.

    expected: says where the shape comes from.
    """
    entry = file.entries.get(name)
    reason = f"is missing; {expected} shape {shape}" if entry is None else entry.refusal
    if entry is not None and reason is None and entry.shape != shape:
        reason = f"has shape {entry.shape}; {expected} {shape}"
    if reason is not None:
        raise FormatError(file.path, reason, part=f"tensor {name}")


def read_finite(file: WeightsFile, name: str) -> Array:
    """Read an array whose entry has no refusal. Raises FormatError if it holds NaN or infinity."""
    array = file.read(name)
    require_finite(file.path, f"tensor {name}", array)
    return array


def give_back(array: NDArray[Any]) -> None:
    """Free the memory of a mapped array that nothing was written to. The next use reads it from the file again.

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
