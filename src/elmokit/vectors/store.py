"""Vectors that another system has made, in the place of ELMo's: CoVe's, a transformer's, or a biLM's of long ago.

Three files: `name.npy`, the vectors (N,E) of all tokens, or (N,L,E) with layers, in float16 or float32; beside it
`name.offsets.npy`, as `elmokit embed` writes them; and `name.txt`, the sentences, one a line, a space between tokens.
`save_vectors` writes them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from elmokit.system.files import atomic_write
from elmokit.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jaxtyping import Float, Shaped
    from torch import Tensor

SUFFIX = ".npy"


class VectorsFile:
    """Sentences of tokens -> layers (L,B,T,E) out of a file; the same as `Activations` for a task's inputs.

    Raises FileNotFoundError if one of the three files is not there, and ValueError if they do not fit together.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.offsets_path = self.path.with_suffix(f".offsets{SUFFIX}")
        self.sentences_path = self.path.with_suffix(".txt")
        for part in (self.path, self.offsets_path, self.sentences_path):
            if not part.is_file():
                raise FileNotFoundError(f"{part}: there is no such file; vectors need all three, see docs/tasks.md")
        vectors = _load(self.path)
        if vectors.ndim not in (2, 3) or vectors.dtype.str not in ("<f2", "<f4") or vectors.size == 0:
            raise ValueError(
                f"{self.path} has {vectors.dtype} of shape {vectors.shape}; expected float16 or float32, (tokens, "
                "width) or (tokens, layers, width)"
            )
        self._vectors = vectors[:, None] if vectors.ndim == 2 else vectors
        _, self.num_layers, self.dim = self._vectors.shape
        self._rows = self._read_rows()

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Look whether they are all there; ValueError, with their number and the first, if some are not."""
        missing = [sentence for sentence in sentences if sentence and _key(sentence) not in self._rows]
        if missing:
            raise ValueError(
                f"{self.sentences_path} lacks {len(missing):,} sentences that are needed; the first is "
                f"{_key(missing[0])[:80]!r}"
            )

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]:
        """In float32 on the CPU, zero at padding; ValueError for a sentence that the file lacks."""
        self.add(sentences)
        longest = max((len(sentence) for sentence in sentences), default=0)
        batch = np.zeros((self.num_layers, len(sentences), longest, self.dim), np.float32)
        for number, sentence in enumerate(sentences):
            if sentence:
                start, end = self._rows[_key(sentence)]
                batch[:, number, : end - start] = self._vectors[start:end].swapaxes(0, 1)
                if not np.isfinite(batch[:, number]).all():
                    raise ValueError(f"{self.path}: vectors of {_key(sentence)[:80]!r} are not finite")
        return torch.from_numpy(batch)

    def fingerprint(self) -> str:
        """Of all that the three files hold."""
        digest = hashlib.blake2b(digest_size=32)
        for path in (self.path, self.offsets_path, self.sentences_path):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        return digest.hexdigest()

    def _read_rows(self) -> dict[str, tuple[int, int]]:
        """First row of each sentence, and the row behind its last."""
        offsets = _load(self.offsets_path)
        num_rows = len(self._vectors)
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) == 0:
            raise ValueError(
                f"{self.offsets_path} has {offsets.dtype} of shape {offsets.shape}; expected a row of whole numbers"
            )
        bounds = offsets.astype(np.int64)
        if bounds[0] != 0 or bounds[-1] != num_rows or (np.diff(bounds) < 0).any():
            raise ValueError(
                f"{self.offsets_path} goes from {bounds[0]} to {bounds[-1]}; expected numbers that grow from 0 to the "
                f"{num_rows:,} tokens of {self.path.name}"
            )
        lines = list(read_lines(self.sentences_path))
        if len(lines) != len(bounds) - 1:
            raise ValueError(
                f"{self.sentences_path} has {len(lines):,} lines; {self.offsets_path.name} is of {len(bounds) - 1:,}"
            )
        rows: dict[str, tuple[int, int]] = {}
        for number, line in enumerate(lines):
            start, end = int(bounds[number]), int(bounds[number + 1])
            num_tokens = len(line.split(" ")) if line else 0
            if num_tokens != end - start:
                raise ValueError(
                    f"{self.sentences_path}, line {number + 1}: {num_tokens} tokens, but {end - start} vectors: "
                    f"{line[:80]!r}"
                )
            rows.setdefault(line, (start, end))
        return rows


def save_vectors(
    path: str | Path, sentences: Sequence[Sequence[str]], layers: Iterable[Float[np.ndarray, "*L T E"]]
) -> None:
    """Write the three files in float16: for each sentence its vectors (T,E), or (L,T,E), one after the other.

    ValueError for a path that does not end in `.npy`, a token with a space or a line break in it, vectors whose shape
    is not that of their sentence, and numbers that float16 cannot hold.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ValueError(f"{path} does not end in {SUFFIX}; the files are NAME{SUFFIX} and two beside it")
    for sentence in sentences:
        if any(not token or set(token) & set(" \r\n") for token in sentence):
            raise ValueError(f"a token is empty or has a space or a line break in it: {list(sentence)}")
    lengths = [len(sentence) for sentence in sentences]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    vectors: np.memmap | None = None
    with (
        atomic_write(path) as vectors_path,
        atomic_write(path.with_suffix(f".offsets{SUFFIX}")) as offsets_path,
        atomic_write(path.with_suffix(".txt")) as sentences_path,
    ):
        for number, (sentence, of_sentence) in enumerate(zip(sentences, layers, strict=True)):
            rows = of_sentence if of_sentence.ndim == 2 else of_sentence.swapaxes(0, 1)
            if vectors is None:
                shape = (int(offsets[-1]), *rows.shape[1:])
                vectors = np.lib.format.open_memmap(vectors_path, "w+", np.float16, shape)
            if rows.shape != (len(sentence), *vectors.shape[1:]):
                raise ValueError(
                    f"sentence {number} has {len(sentence)} tokens, but vectors of shape {of_sentence.shape}"
                )
            if not np.abs(rows).max(initial=0.0) <= np.finfo(np.float16).max:
                raise ValueError(f"sentence {number}: vectors that are not finite, or beyond what float16 holds")
            vectors[offsets[number] : offsets[number + 1]] = rows
        if vectors is None:
            raise ValueError("no sentences; expected some")
        vectors.flush()
        with offsets_path.open("wb") as file:
            np.save(file, offsets)
        sentences_path.write_text("".join(f"{_key(sentence)}\n" for sentence in sentences), encoding="utf-8")


def _key(sentence: Sequence[str]) -> str:
    return " ".join(sentence)


def _load(path: Path) -> Shaped[np.ndarray, "..."]:
    """Mapped, not read; numpy compares the size that the header claims with the file's."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is no array of numpy: {error}") from None
