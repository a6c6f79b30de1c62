"""Untrusted HDF5 files of numbered datasets, one per sentence, as other tools write vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py as _h5py

from elmokit.files.hdf5 import DAMAGE, describe_dataset, link_refusal, open_unseen, read_dataset, require_readable
from elmokit.files.weights_file import Entry
from elmokit.system.messages import FormatError, printable

if TYPE_CHECKING:
    from elmokit.files.weights_file import Array

h5py: Any = _h5py  # has no type stubs; all results are cast below

SENTENCE_TO_INDEX = b"sentence_to_index"
"""Name of the dataset that AllenNLP's `elmo` command writes next to the numbered ones."""


class NumberedDatasets:
    """The datasets `0` to `N - 1` of a file. There may be millions, so each is checked only when it is read.

    Raises FormatError for a dataset that is damaged, missing, or refused. The file is closed when nothing refers to
    it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_unseen(path)
        self._num_bytes = path.stat().st_size
        self._root = self._file.id
        try:
            num_names = int(self._root.get_num_objs()) - int(self._root.links.exists(SENTENCE_TO_INDEX))
            self._len = num_names if self._exists(0) else 0
        except DAMAGE as error:
            raise FormatError(path, f"is damaged: {printable(str(error))}") from error

    def __len__(self) -> int:
        return self._len

    def __getitem__(self, number: int) -> Array:
        return read_dataset(self.path, self._root, self._entry(number), self._num_bytes)

    def shape(self, number: int) -> tuple[int, ...]:
        """Declared shape of a dataset, after a check that all of it is stored."""
        entry = self._entry(number)
        require_readable(self.path, entry)
        return entry.shape

    def _exists(self, number: int) -> bool:
        return bool(self._root.links.exists(str(number).encode()))

    def _entry(self, number: int) -> Entry:
        name = str(number)
        part = f"dataset {name}"
        try:
            if not self._exists(number):
                raise FormatError(self.path, f"is missing; expected 0 to {self._len - 1}", part=part)
            if (refusal := link_refusal(int(self._root.links.get_info(name.encode()).type))) is not None:
                return Entry(name, "other", refusal)
            opened = h5py.h5o.open(self._root, name.encode())
            if not isinstance(opened, h5py.h5d.DatasetID):
                return Entry(name, "other", "is not a dataset")
            return describe_dataset(name, opened, self._num_bytes)
        except FormatError:
            raise
        except DAMAGE as error:
            raise FormatError(self.path, f"is damaged: {printable(str(error))}", part=part) from error
