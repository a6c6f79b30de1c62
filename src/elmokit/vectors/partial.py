"""Vectors of the lines embedded so far, in a folder next to the output, so that a killed job can continue.

`vectors` and `offsets` only grow, a block at a time. The first line of `journal.jsonl` describes the job; then comes a
line per complete block, with its end and a checksum of its bytes. A resumed job checks all blocks, and continues after
the last one that is intact.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING

import numpy as np

from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.system.messages import FormatError, listed
from elmokit.system.python import warn_caller
from elmokit.vectors.reader import FlatVectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from jaxtyping import Float32

FLOAT = np.dtype("<f4")
OFFSET = np.dtype("<i8")
JOURNAL_NAME = "journal.jsonl"
_NAMES = (JOURNAL_NAME, "vectors", "offsets")
_BYTES_PER_READ = 1 << 24


@dataclass(frozen=True)
class Block:
    """Where a block ends, as a line of the journal says it."""

    lines: int = 0
    """Up to the end of the block."""
    tokens: int = 0
    digest: str = ""
    """Of the text of all lines up to there."""
    checksum: str = ""
    """Of the bytes that the block added to `vectors` and `offsets`, and of the fields above."""


class PartialVectors:
    """The folder of a job, new or resumed. `job` has everything that the vectors depend on; a different one is refused.

    `num_lines`, `num_tokens` and `digest` (of the lines' text) describe what is finished. What does not match
    its checksum in the journal is cut off, with a warning.
    """

    def __init__(self, folder: Path, *, job: Mapping[str, object], shape: tuple[int, ...], resume: bool) -> None:
        self.folder = folder
        self.job = dict(job)
        self.shape = shape
        """Shape of one token's vectors: (2D), or (L,2D) with all layers."""
        self._end = Block()
        if not (self._journal.exists() and self._continue(resume=resume)):
            self._start()

    @property
    def num_lines(self) -> int:
        return self._end.lines

    @property
    def num_tokens(self) -> int:
        return self._end.tokens

    @property
    def digest(self) -> str:
        return self._end.digest

    def pass_over_finished(self, texts: Iterator[str], *, source: str, unit: str) -> hashlib.blake2b:
        """Take the text of each finished line; returns the digest of all of them, for the next lines to be added to.

        Raises ValueError, naming the source and the unit that it is counted in, if this text is not what was embedded.
        """
        digest = hashlib.blake2b(digest_size=16)
        num_lines = 0
        for text in islice(texts, self.num_lines):
            digest.update(text.encode())
            num_lines += 1
        if num_lines < self.num_lines or (num_lines and digest.hexdigest() != self.digest):
            raise ValueError(
                f"{source}: the first {self.num_lines:,} {unit} are not those that the interrupted job embedded; "
                f"give the same text, or delete the folder {self.folder} to start over"
            )
        return digest

    def append(self, arrays: Sequence[Float32[np.ndarray, "*L T E"]], *, digest: str) -> None:
        """Append the vectors of the next lines, all or none; `digest` is that of the text of all lines so far."""
        ends = self.num_tokens + np.cumsum([array.shape[-2] for array in arrays], dtype=OFFSET)
        end = Block(self.num_lines + len(arrays), int(ends[-1]), digest)
        checksum = _checksum_of(end)
        with self._vectors.open("ab") as file:
            for array in arrays:
                rows = (array if array.ndim == 2 else array.swapaxes(0, 1)).astype(FLOAT).tobytes()
                checksum.update(rows)
                file.write(rows)
            _to_disk(file)
        with self._offsets.open("ab") as file:
            checksum.update(np.array([self.num_tokens], OFFSET).tobytes() + ends.tobytes())
            file.write(ends.tobytes())
            _to_disk(file)
        self._end = Block(end.lines, end.tokens, digest, checksum.hexdigest())
        self._write_line(asdict(self._end))

    def stored(self) -> FlatVectors:
        """All vectors so far, memory-mapped."""
        vectors = np.empty((0, *self.shape), FLOAT)
        if self.num_tokens:
            vectors = np.memmap(self._vectors, FLOAT, "r", shape=(self.num_tokens, *self.shape))
        about = {name: str(self.job[name]) for name in ("model", "precision", "layers") if name in self.job}
        return FlatVectors(vectors, np.memmap(self._offsets, OFFSET, "r"), about)

    def remove(self) -> None:
        """Delete the folder; the journal first, because a kill may leave the rest, which is nothing without it."""
        self._journal.unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    @property
    def _journal(self) -> Path:
        return self.folder / JOURNAL_NAME

    @property
    def _vectors(self) -> Path:
        return self.folder / "vectors"

    @property
    def _offsets(self) -> Path:
        return self.folder / "offsets"

    @property
    def _bytes_per_token(self) -> int:
        return FLOAT.itemsize * int(np.prod(self.shape))

    def _start(self) -> None:
        """An empty folder in the place of one without a finished line; the journal comes last."""
        if self.folder.exists():
            if strange := {path.name for path in self.folder.iterdir()} - set(_NAMES):
                raise ValueError(
                    f"{self.folder} holds {listed(sorted(strange))}, which a job of this elmokit does not write; "
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
        blocks = self._read_blocks(lines[1:])
        num_lines = blocks[-1].lines if blocks else 0
        if not resume:
            raise ValueError(
                f"{self.folder} holds {num_lines:,} lines of an interrupted job; "
                "add --resume, or resume=True, to continue it, or delete the folder to start over"
            )
        self._check_job(lines[0])
        whole = self._whole_blocks(blocks)
        if len(whole) < len(lines) - 1:
            warn_caller(
                f"{self.folder} is damaged after line {whole[-1].lines if whole else 0:,}; what comes after it is "
                "computed again"
            )
        self._end = whole[-1] if whole else Block()
        os.truncate(self._vectors, self.num_tokens * self._bytes_per_token)
        os.truncate(self._offsets, (self.num_lines + 1) * OFFSET.itemsize)
        os.truncate(self._journal, sum(len(line) + 1 for line in lines[: 1 + len(whole)]))
        return bool(whole)

    def _check_job(self, line: bytes) -> None:
        record = Fields(self._journal, parse_json_object(line, where=f"{self._journal}, line 1"))
        job = record.object("job")
        for name, value in self.job.items():
            before = job.get(name)
            if before != value:
                raise ValueError(
                    f"{self.folder}: the interrupted job had a different {name} ({before!r}, now {value!r}); "
                    "resume it as it was started, or delete the folder to start over"
                )

    def _read_blocks(self, lines: Sequence[bytes]) -> list[Block]:
        """Those before the first line that is damaged."""
        blocks: list[Block] = []
        for number, line in enumerate(lines, start=2):
            try:
                where = f"{self._journal}, line {number}"
                fields = Fields(where, parse_json_object(line, where=where))
                fields.require_known(Block.__dataclass_fields__)
                numbers = fields.integer("lines"), fields.integer("tokens")
                blocks.append(Block(*numbers, fields.text("digest"), fields.text("checksum")))
            except FormatError:
                break
        return blocks

    def _whole_blocks(self, blocks: Sequence[Block]) -> list[Block]:
        """Those before the first one whose bytes are not what was written."""
        whole = [Block()]
        most_tokens = self._vectors.stat().st_size // self._bytes_per_token
        most_lines = self._offsets.stat().st_size // OFFSET.itemsize - 1
        with self._vectors.open("rb") as vectors, self._offsets.open("rb") as offsets:
            for block in blocks:
                start = whole[-1]
                if not (start.lines < block.lines <= most_lines and start.tokens <= block.tokens <= most_tokens):
                    break
                checksum = _checksum_of(block)
                for size in _sizes((block.tokens - start.tokens) * self._bytes_per_token, most=_BYTES_PER_READ):
                    checksum.update(vectors.read(size))
                offsets.seek(start.lines * OFFSET.itemsize)
                ends = np.fromfile(offsets, OFFSET, block.lines - start.lines + 1)
                checksum.update(ends.tobytes())
                grows = ends[0] == start.tokens and ends[-1] == block.tokens and bool((np.diff(ends) >= 0).all())
                if checksum.hexdigest() != block.checksum or not grows:
                    break
                whole.append(block)
        return whole[1:]

    def _write_line(self, record: Mapping[str, object]) -> None:
        with self._journal.open("ab") as file:
            file.write(json.dumps(record).encode() + b"\n")
            _to_disk(file)


def _checksum_of(block: Block) -> hashlib.blake2b:
    return hashlib.blake2b(f"{block.lines} {block.tokens} {block.digest}\n".encode(), digest_size=16)


def _sizes(num_bytes: int, *, most: int) -> list[int]:
    """Parts of so many bytes, none of them larger than `most`."""
    return [min(most, num_bytes - start) for start in range(0, num_bytes, most)]


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
