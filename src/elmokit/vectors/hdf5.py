"""Vectors in HDF5, as the released tools write them: a dataset per sentence, named by its number from 0.

A dataset is (T,E), or (L,T,E) with all layers. The file's attributes record the model and its settings,
but are not read. This layout is for other programs; it is the only one that cannot be memory-mapped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.hdf5 import SIGNATURE, write_datasets
from elmokit.files.hdf5_numbered import NumberedDatasets
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from jaxtyping import Float32, Int64

    from elmokit.vectors.reader import FlatVectors


def recognise_hdf5(path: Path, start: bytes) -> bool:
    """Whether the file, which starts with these bytes, is an HDF5 file with a dataset `0`, or a damaged one."""
    if not start.startswith(SIGNATURE):
        return False
    try:
        return len(NumberedDatasets(path)) > 0
    except FormatError:
        return True  # so that the reader reports what is wrong with it


def write_hdf5(path: Path, stored: FlatVectors) -> None:
    """Write the file atomically."""
    write_datasets(path, ((str(sentence), stored[sentence]) for sentence in range(len(stored))), about=stored.about)


class HDF5Vectors:
    """The arrays of an HDF5 file; each is read, as float32, and checked when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._datasets = NumberedDatasets(path)
        if len(self._datasets) == 0:
            raise FormatError(path, "is missing; expected the vectors of the first sentence", part="dataset 0")
        first = self._datasets.shape(0)
        if len(first) not in (2, 3) or 0 in (*first[:-2], first[-1]):
            raise FormatError(
                path, f"has shape {first}; expected (tokens, width) or (layers, tokens, width)", part="dataset 0"
            )
        self.num_layers = first[0] if len(first) == 3 else None
        self.dim = first[-1]
        self.about: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._datasets)

    def __getitem__(self, sentence: int) -> Float32[np.ndarray, "*L T E"]:
        self._length(sentence)
        return self._datasets[sentence]

    def lengths(self) -> Int64[np.ndarray, " B"]:
        return np.array([self._length(sentence) for sentence in range(len(self))], np.int64)

    def sentences(self) -> list[list[str]] | None:
        """None, as the file has no text."""
        return None

    def _length(self, sentence: int) -> int:
        shape = self._datasets.shape(sentence)
        layers = () if self.num_layers is None else (self.num_layers,)
        if len(shape) != 2 + len(layers) or (*shape[:-2], shape[-1]) != (*layers, self.dim):
            raise FormatError(
                self._path,
                f"has shape {shape}; expected {(*layers, 'tokens', self.dim)} as in dataset 0",
                part=f"dataset {sentence}",
            )
        return shape[-2]
