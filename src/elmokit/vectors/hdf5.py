"""Vectors in HDF5, as the released tools write them: a dataset per sentence, named by its number from 0.

A dataset is (T,E), or (L,T,E) with all layers. The file's attributes record the model and its settings,
but are not read. This layout is for other programs; it is the only one that cannot be memory-mapped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.hdf5 import HDF5File, refusing_damage, write_datasets
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from jaxtyping import Float32, Int64

    from elmokit.vectors.flat import FlatVectors

SENTENCE_TO_INDEX = b"sentence_to_index"
"""Name of the dataset that AllenNLP's `elmo` command writes next to the numbered ones."""


def recognise_hdf5(path: Path, start: bytes) -> bool:
    """Whether an HDF5 file has a dataset `0`, or is damaged."""
    try:
        with refusing_damage(path, "is damaged"):
            file = HDF5File(path)  # the variable keeps it open
            return bool(file.root.links.exists(b"0"))
    except FormatError:
        return True  # so that the reader reports the damage


def write_hdf5(path: Path, stored: FlatVectors) -> None:
    """Write the file atomically. h5py lists its datasets in the order of the sentences: 0, 1, 2, ..., 10."""
    datasets = ((str(sentence), stored[sentence]) for sentence in range(len(stored)))
    write_datasets(path, datasets, about=stored.about, in_order=True)


class HDF5Vectors:
    """The arrays of a file; each is read, as float32, and checked when it is asked for: there may be millions."""

    def __init__(self, path: Path) -> None:
        self._file = HDF5File(path)
        with refusing_damage(path, "is damaged"):
            self._len = int(self._file.root.get_num_objs()) - int(self._file.root.links.exists(SENTENCE_TO_INDEX))
        first = self._file.entry("0").shape
        if len(first) not in (2, 3) or 0 in (*first[:-2], first[-1]):
            reason = f"has shape {first}; expected (tokens, width) or (layers, tokens, width)"
            raise FormatError(path, reason, part="dataset 0")
        self.num_layers = first[0] if len(first) == 3 else None
        self.dim = first[-1]
        self.about: dict[str, str] = {}

    def __len__(self) -> int:
        return self._len

    def __getitem__(self, sentence: int) -> Float32[np.ndarray, "*L T E"]:
        self._num_tokens(sentence)
        return self._file.read(str(sentence))

    def lengths(self) -> Int64[np.ndarray, " B"]:
        return np.array([self._num_tokens(sentence) for sentence in range(len(self))], np.int64)

    def _num_tokens(self, sentence: int) -> int:
        """The tokens of a dataset, which must be as wide and as deep as the first one."""
        shape = self._file.entry(str(sentence)).shape
        layers = () if self.num_layers is None else (self.num_layers,)
        if len(shape) != 2 + len(layers) or (*shape[:-2], shape[-1]) != (*layers, self.dim):
            reason = f"has shape {shape}; expected {(*layers, 'tokens', self.dim)} as in dataset 0"
            raise FormatError(self._file.path, reason, part=f"dataset {sentence}")
        return shape[-2]
