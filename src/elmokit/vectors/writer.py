"""The writer of embedding jobs. It appends rows to a partial output. If a job is killed, another can resume it.

The folder `OUTPUT.partial` has three kinds of files:

| file | holds |
|---|---|
| `job.json` | everything that the vectors depend on; it must be the same in a resumed job |
| `vectors` | a row for each token, in float32. It only grows. In `.npy` and `.safetensors` it becomes the output |
| `OUTPUT.names.txt` etc. | files that will be next to the output |
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from elmokit.files.atomic import atomic_write, check_is_not_input, check_output, write_text
from elmokit.files.json import json_text, parse_json, read_json
from elmokit.system.messages import FormatError, first_token, join_names, readable_bytes
from elmokit.vectors.files import format_to_write
from elmokit.vectors.flat import FlatVectors, RowsInFile, tokens_first, write_array

if TYPE_CHECKING:
    from jaxtyping import Float32, Int64

FLOAT = RowsInFile.dtype


def check_is_new(*paths: Path, overwrite: bool) -> None:
    """Raise FileExistsError if one of the files exists, unless `overwrite` is true. A folder is always refused."""
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; expected the name of a file")
        if path.exists() and not overwrite:
            raise FileExistsError(
                f"{path} exists; choose another name, or add --overwrite, or overwrite=True, to replace it"
            )


def check_outputs(*paths: Path, source: Path, overwrite: bool) -> None:
    """Raise OSError or ValueError if one of the files exists, cannot be written, or would replace the source."""
    for path in paths:
        check_is_not_input(path, source)
        check_output(path)
    check_is_new(*paths, overwrite=overwrite)


def partial_folder(output: Path) -> Path:
    """The folder of an unfinished output."""
    return output.with_name(f"{output.name}.partial")


class Writer:
    """The partial output of a job. Call `start`, then `append` for each block, then `finish`, which makes the output.

    As a context manager, it removes the folder at the end and after a ValueError or OSError. With `resume`, an error
    leaves the folder if a sentence is finished or the job was resumed. Anything else that ends the job leaves it too.
    """

    def __init__(self, output: Path, *, resume: bool) -> None:
        self.output = output
        self.folder: Final = partial_folder(output)
        self.num_sentences: int = 0
        """Sentences whose vectors are complete."""
        self._resume = resume
        self._job = self.folder / "job.json"
        self._vectors = self.folder / "vectors"
        self._is_resumed = self._job.exists()
        self._open_files = ExitStack()

    def __enter__(self) -> Self:
        if self._is_resumed and not self._resume:
            raise ValueError(
                f"{self.folder} holds an interrupted job; add --resume, or resume=True, to continue it, or delete the "
                "folder to start over"
            )
        self.folder.mkdir(exist_ok=True)
        ours = (self._job.name, f".{self._job.name}.", self._vectors.name, f"{self.output.name}.")
        if strange := [name for name in sorted(os.listdir(self.folder)) if not name.startswith(ours)]:
            raise ValueError(
                f"{self.folder} holds {join_names(strange)}, which this version of elmokit does not write; delete the "
                "folder to start over"
            )
        return self

    def start(self, job: Mapping[str, object], *, shape: tuple[int, ...], offsets: Int64[np.ndarray, " M"]) -> None:
        """Begin the rows, or find out which rows exist already. `job` is everything that the vectors depend on.

        shape: shape of a token's vectors, (2D) or (L,2D).
        offsets: the row at which each sentence begins, and the number of rows.
        Raises ValueError if the interrupted job differs, and OSError if the disk has no space for the output.
        """
        layout = format_to_write(self.output)
        about = {name: str(job[name]) for name in ("model", "precision", "layers")}
        rows = (int(offsets[-1]), *shape)
        begin = b"" if layout.start is None else layout.start(rows, offsets, about)
        self._first_row = len(begin)
        self._stored = FlatVectors(RowsInFile(self._vectors, self._first_row, rows), offsets, about)
        self._row_bytes = FLOAT.itemsize * prod(shape)
        if self._is_resumed:
            self._check_is_same(job)
        there = self._vectors.stat().st_size if self._is_resumed and self._vectors.exists() else 0
        num_bytes = len(begin) + rows[0] * self._row_bytes
        self._check_space(num_bytes * (2 if layout.start is None else 1) - there)
        is_begun = there > len(begin)
        self._file = self._open_files.enter_context(self._vectors.open("r+b" if is_begun else "wb"))
        if is_begun and (self._file.read(len(begin)) != begin or there > num_bytes):
            raise FormatError(self._vectors, f"is damaged; delete the folder {self.folder} to start over")
        if is_begun:
            num_rows = (there - len(begin)) // self._row_bytes
            self.num_sentences = int(np.searchsorted(offsets, num_rows, side="right")) - 1
        else:
            self._file.write(begin)
        if not self._is_resumed:
            write_text(self._job, json_text(self._job, job))

    def append(self, start: int, arrays: Sequence[Float32[np.ndarray, "*L T E"]]) -> None:
        """Write the vectors of the sentences from number `start` on. When it returns, they are on the disk."""
        offsets = self._stored.offsets[start : start + len(arrays) + 1]
        if [array.shape[-2] for array in arrays] != np.diff(offsets).tolist():
            raise self._text_has_changed()
        self._file.seek(self._first_row + int(offsets[0]) * self._row_bytes)
        self._file.writelines(tokens_first(array).astype(FLOAT).tobytes() for array in arrays)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.num_sentences = start + len(arrays)

    def finish(self, *, beside: Iterable[Path], texts: Iterable[tuple[str, list[str]]] | None, raw_text: bool) -> None:
        """Move the files that belong next to the output out of the folder, then make the output."""
        layout = format_to_write(self.output)
        if self.num_sentences != len(self._stored):
            raise self._text_has_changed()
        self._open_files.close()
        for path in beside:
            _move(self.folder / path.name, path)
        if layout.write is not None:
            layout.write(self.output, replace(self._stored, texts=texts, raw_text=raw_text))
            return
        for path in layout.files(self.output)[1:]:
            with atomic_write(path) as unfinished, unfinished.open("wb") as file:
                write_array(file, self._stored.offsets)
        self._job.unlink()
        _move(self._vectors, self.output)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with suppress(OSError):  # rows that did not fit on the disk; `finish` has closed a complete file
            self._open_files.close()
        is_kept = self._resume and (self._is_resumed or self.num_sentences > 0)
        if error is None or (isinstance(error, ValueError | OSError) and not is_kept):
            self._job.unlink(missing_ok=True)  # first: a folder without it, left by a kill, does not count
            shutil.rmtree(self.folder)

    def _check_is_same(self, job: Mapping[str, object]) -> None:
        interrupted = read_json(self._job)
        for name, value in parse_json(json_text(self._job, job), where=self._job).items():
            if (before := interrupted.get(name)) != value:
                raise ValueError(
                    f"{self.folder}: the interrupted job had a different {name} ({first_token(str(before))}, now "
                    f"{first_token(str(value))}); resume it as it was started, or delete the folder to start over"
                )

    def _text_has_changed(self) -> ValueError:
        return ValueError(f"{self.output}: the text has changed since it was first read; start over")

    def _check_space(self, num_bytes: int) -> None:
        free = shutil.disk_usage(self.output.parent).free
        if num_bytes > free:
            raise OSError(
                f"{self.output}: needs {readable_bytes(num_bytes)} while it is written, but {self.output.parent} has "
                f"only {readable_bytes(free)} free; choose another folder, or fewer layers"
            )


def _move(unfinished: Path, path: Path) -> None:
    with atomic_write(path) as place:
        shutil.move(unfinished, place)
