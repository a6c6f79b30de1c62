"""Flat vectors of sentences, in memory or on disk, and the files next to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int64


@dataclass(frozen=True)
class RowsInFile:
    """The rows of a float32 array that ends a file. A slice is read, not mapped, so the memory does not grow."""

    path: Path
    start: int
    """Byte of the first row."""
    shape: tuple[int, ...]
    dtype = np.dtype("<f4")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Float[np.ndarray, "N *L E"]:
        first, end, _ = rows.indices(len(self))
        row = self.shape[1:]
        at = self.start + first * prod(row) * self.dtype.itemsize
        numbers = np.fromfile(self.path, self.dtype, (end - first) * prod(row), offset=at)
        return numbers.reshape(end - first, *row)


@dataclass(frozen=True)
class FlatVectors:
    """Vectors of the tokens of all sentences, concatenated; usually arrays on disk, so read them a part at a time."""

    vectors: Float[np.ndarray, "N *L E"] | RowsInFile
    offsets: Int64[np.ndarray, " M"]
    """Sentence i has the rows from `offsets[i]` up to `offsets[i + 1]` (exclusive)."""
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    """The model's fingerprint, the precision, the layers."""
    texts: Iterable[tuple[str, list[str]]] | None = None
    """The text of each sentence and its tokens, when vectors are written in a layout that holds them."""
    raw_text: bool = False
    """Whether the texts were tokenised; if not, they are nothing but the tokens."""

    @property
    def num_layers(self) -> int | None:
        return self.vectors.shape[1] if self.vectors.ndim == 3 else None

    @property
    def dim(self) -> int:
        return self.vectors.shape[-1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, sentence: int) -> Float[np.ndarray, "*L T E"]:
        return tokens_first(self.vectors[self.offsets[sentence] : self.offsets[sentence + 1]])

    def lengths(self) -> Int64[np.ndarray, " B"]:
        return np.diff(self.offsets)


def tokens_first(array: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The vectors (T,E) of a sentence as they are, (L,T,E) as (T,L,E), and (T,L,E) as (L,T,E)."""
    return array if array.ndim == 2 else array.swapaxes(0, 1)


def offsets_path(path: Path) -> Path:
    """The path `NAME.offsets.npy` for `NAME.npy`."""
    return path.with_suffix(".offsets.npy")


def tokens_path(path: Path) -> Path:
    """Where the tokens of raw text that was embedded are: `NAME.ENDING.tokens.txt`."""
    return path.with_name(f"{path.name}.tokens.txt")
