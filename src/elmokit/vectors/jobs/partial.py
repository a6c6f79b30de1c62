"""Vectors of the lines embedded so far, in a folder next to the output, so that a killed job can continue.

`vectors` and `offsets` only grow, a block at a time. The first line of `journal.jsonl` describes the job; then comes a
line per complete block, with its end, which is written when the bytes of the block are on the disk. A resumed job cuts
off what comes after the last of these lines.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.system.messages import FormatError, first_token, join_names
from elmokit.vectors.reader import FlatVectors, checked_flat_vectors

if TYPE_CHECKING:
    from jaxtyping import Float32

    from elmokit.vectors.jobs.sources import Block, Sentence

FLOAT = np.dtype("<f4")
OFFSET = np.dtype("<i8")
_NAMES = ("journal.jsonl", "vectors", "offsets")


@dataclass(frozen=True)
class End:
    """Where a block ends, as a line of the journal says it."""

    lines: int = 0
    """Up to the end of the block."""
    tokens: int = 0
    """Rows of vectors."""
    digest: str = ""
    """Of the text of all lines up to there."""


class PartialVectors:
    """The folder of a job, new or resumed. `job` has everything that the vectors depend on; a different one is refused.

    `end` says what is finished; `pass_over_finished` comes before `append`.
    """

    def __init__(self, folder: Path, *, job: Mapping[str, object], shape: tuple[int, ...], resume: bool) -> None:
        self.folder = folder
        self.job = dict(job)
        self.shape = shape
        """Shape of one token's vectors: (2D), or (L,2D) with all layers."""
        self._journal, self._vectors, self._offsets = (folder / name for name in _NAMES)
        self.end = End()
        self._text = hashlib.blake2b(digest_size=16)
        if not (self._journal.exists() and self._continue(resume=resume)):
            self._start()

    def pass_over_finished(self, sentences: Iterable[Sentence], *, source: str, unit: str) -> int:
        """Take the finished sentences, and return their number of tokens. Raises ValueError if the text is another."""
        num_tokens = 0
        for text, tokens in islice(sentences, self.end.lines):
            self._text.update(f"{text}\n".encode())
            num_tokens += len(tokens)
        if self.end.lines and self._text.hexdigest() != self.end.digest:
            raise ValueError(
                f"{source}: the first {self.end.lines:,} {unit} are not those that the interrupted job embedded; "
                f"give the same text, or delete the folder {self.folder} to start over"
            )
        return num_tokens

    def append(self, block: Block, arrays: Sequence[Float32[np.ndarray, "*L T E"]]) -> None:
        """Append the vectors of the next sentences, all or none."""
        ends = self.end.tokens + np.cumsum([array.shape[-2] for array in arrays], dtype=OFFSET)
        with self._vectors.open("ab") as file:
            for array in arrays:
                file.write((array if array.ndim == 2 else array.swapaxes(0, 1)).astype(FLOAT).tobytes())
            _to_disk(file)
        with self._offsets.open("ab") as file:
            file.write(ends.tobytes())
            _to_disk(file)
        self._text.update("".join(f"{text}\n" for text, _ in block).encode())
        self.end = End(self.end.lines + len(arrays), int(ends[-1]), self._text.hexdigest())
        self._write_line(asdict(self.end))

    def stored(self) -> FlatVectors:
        """All vectors so far, memory-mapped. Raises FormatError if the offsets are damaged."""
        vectors = np.empty((0, *self.shape), FLOAT)
        if self.end.tokens:
            vectors = np.memmap(self._vectors, FLOAT, "r", shape=(self.end.tokens, *self.shape))
        about = {name: str(self.job[name]) for name in ("model", "precision", "layers")}
        offsets = np.memmap(self._offsets, OFFSET, "r")
        return checked_flat_vectors(self._vectors, vectors, offsets, about=about, offsets_path=self._offsets)

    def remove(self) -> None:
        """Delete the folder; the journal first, because a kill may leave the rest, which is nothing without it."""
        self._journal.unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    def _start(self) -> None:
        """An empty folder in the place of one without a finished line; the journal comes last."""
        if self.folder.exists():
            if strange := {path.name for path in self.folder.iterdir()} - set(_NAMES):
                raise ValueError(
                    f"{self.folder} holds {join_names(sorted(strange))}, which a job of this elmokit does not write; "
                    "delete the folder to start over"
                )
            self.remove()
        self.folder.mkdir()
        try:
            self._vectors.touch()
            self._offsets.write_bytes(np.zeros(1, OFFSET).tobytes())
            self._write_line({"job": self.job})
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise OSError(error.errno, error.strerror, str(self.folder)) from error

    def _continue(self, *, resume: bool) -> bool:
        """Take up what the folder holds; False if no block is finished."""
        for path in (self._journal, self._vectors, self._offsets):
            if not path.is_file():  # reading a pipe would block
                raise FileNotFoundError(f"{path}: there is no such file; delete the folder {self.folder} to start over")
        *lines, _torn = self._journal.read_bytes().split(b"\n")
        if len(lines) < 2:
            return False
        where = f"{self._journal}, line {len(lines)}"
        end = Fields(where, parse_json_object(lines[-1], where=where))
        self.end = End(end.integer("lines"), end.integer("tokens"), end.text("digest"))
        if not resume:
            raise ValueError(
                f"{self.folder} holds {self.end.lines:,} lines of an interrupted job; "
                "add --resume, or resume=True, to continue it, or delete the folder to start over"
            )
        record = Fields(self._journal, parse_json_object(lines[0], where=f"{self._journal}, line 1"))
        interrupted = record.read("job", dict[str, object])
        for name, value in self.job.items():
            if (before := interrupted.get(name)) != value:
                raise ValueError(
                    f"{self.folder}: the interrupted job had a different {name} ({first_token(str(before))}, now "
                    f"{first_token(str(value))}); resume it as it was started, or delete the folder to start over"
                )
        token_bytes = FLOAT.itemsize * math.prod(self.shape)
        for path, num_bytes in (
            (self._vectors, self.end.tokens * token_bytes),
            (self._offsets, (self.end.lines + 1) * OFFSET.itemsize),
            (self._journal, sum(len(line) + 1 for line in lines)),
        ):
            if path.stat().st_size < num_bytes:
                raise FormatError(path, f"is cut short; delete the folder {self.folder} to start over")
            os.truncate(path, num_bytes)
        return True

    def _write_line(self, record: Mapping[str, object]) -> None:
        with self._journal.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")
            _to_disk(file)


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
