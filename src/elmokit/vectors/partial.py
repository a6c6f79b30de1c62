"""Vectors of the lines embedded so far, in a folder next to the output, so that a killed job can continue.

`vectors` and `offsets` only ever grow; `journal.json` says how much of them counts. What a killed job wrote after that
is cut off again.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import IO, TYPE_CHECKING

import numpy as np

from elmokit.system.files import atomic_write
from elmokit.system.json_fields import Fields, read_json_object
from elmokit.vectors.stored import FlatVectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from jaxtyping import Float32

FLOAT = np.dtype("<f4")
OFFSET = np.dtype("<i8")


class PartialVectors:
    """The folder of a job, new or resumed; `job` says all that the vectors depend on, and another one is refused.

    `num_lines`, `num_tokens` and `digest` (of the lines' text) describe what is finished.
    """

    def __init__(self, folder: Path, *, job: Mapping[str, object], shape: tuple[int, ...], resume: bool) -> None:
        self.folder = folder
        self.job = dict(job)
        self.shape = shape
        """Of one token: (2D), or (L,2D) of all layers."""
        self.num_lines = 0
        self.num_tokens = 0
        self.digest = ""
        if self._journal.exists():
            self._read_journal(resume=resume)
        else:
            shutil.rmtree(folder, ignore_errors=True)  # a job that was killed before its first lines
            folder.mkdir()
            self._vectors.touch()
            np.zeros(1, OFFSET).tofile(self._offsets)
        self._cut(self._vectors, self.num_tokens * self._bytes_per_token)
        self._cut(self._offsets, (self.num_lines + 1) * OFFSET.itemsize)

    def append(self, arrays: Sequence[Float32[np.ndarray, "*L T E"]], *, digest: str) -> None:
        """Vectors of the next lines; `digest` is that of all lines up to here. All of them are kept, or none."""
        ends = self.num_tokens + np.cumsum([array.shape[-2] for array in arrays], dtype=OFFSET)
        with self._vectors.open("ab") as file:
            for array in arrays:
                file.write((array if array.ndim == 2 else array.swapaxes(0, 1)).astype(FLOAT).tobytes())
            _to_disk(file)
        with self._offsets.open("ab") as file:
            file.write(ends.tobytes())
            _to_disk(file)
        self.num_lines += len(arrays)
        self.num_tokens = int(ends[-1])
        self.digest = digest
        record = {"job": self.job, "lines": self.num_lines, "tokens": self.num_tokens, "digest": digest}
        with atomic_write(self._journal) as unfinished:
            unfinished.write_text(json.dumps(record, indent=1))

    def stored(self) -> FlatVectors:
        """All vectors so far, left on disk."""
        vectors = np.empty((0, *self.shape), FLOAT)
        if self.num_tokens:
            vectors = np.memmap(self._vectors, FLOAT, "r", shape=(self.num_tokens, *self.shape))
        about = {name: str(self.job[name]) for name in ("model", "precision", "layers") if name in self.job}
        return FlatVectors(vectors, np.memmap(self._offsets, OFFSET, "r"), about)

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def _journal(self) -> Path:
        return self.folder / "journal.json"

    @property
    def _vectors(self) -> Path:
        return self.folder / "vectors"

    @property
    def _offsets(self) -> Path:
        return self.folder / "offsets"

    @property
    def _bytes_per_token(self) -> int:
        return FLOAT.itemsize * int(np.prod(self.shape))

    def _read_journal(self, *, resume: bool) -> None:
        record = Fields(self._journal, read_json_object(self._journal))
        num_lines, num_tokens = record.integer("lines"), record.integer("tokens")
        job = record.object("job")
        if not resume:
            raise ValueError(
                f"{self.folder} holds {num_lines:,} lines of a job that was interrupted: "
                "add --resume to continue it, or delete the folder to start over"
            )
        for name, value in self.job.items():
            before = job.get(name)
            if before != value:
                raise ValueError(
                    f"{self.folder}: the interrupted job had another {name} ({before!r}, now {value!r}); "
                    "resume it as it was started, or delete the folder to start over"
                )
        self.num_lines, self.num_tokens, self.digest = num_lines, num_tokens, record.text("digest")

    def _cut(self, path: Path, size: int) -> None:
        if path.stat().st_size < size:
            raise ValueError(f"{path} is shorter than journal.json says; delete the folder {self.folder} to start over")
        os.truncate(path, size)


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
