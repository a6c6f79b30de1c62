"""Reads fastText's `.bin` files without fastText. An unknown word gets a vector from its character n-grams.

Source: Bojanowski et al. (2017). The layout is that of versions 11 and 12, little-endian:

| part | holds |
|---|---|
| start | int32 magic, int32 version |
| settings | 12 int32 (dim, ..., model, bucket, min_n, max_n, ...), float64 |
| dictionary | int32 entries, words, labels; int64 tokens, pruned |
| entries | NUL-terminated UTF-8, int64 count, int8 type (0: a word, 1: a label) |
| input matrix | bool compressed, int64 rows, int64 columns, float32 rows of the words, then of the buckets |

Files are untrusted: the matrix is mapped, so a file cannot claim memory that it does not have.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.system.messages import FormatError, as_format_error, first_token
from elmokit.system.paths import first_bytes
from elmokit.text.word_vectors import MAX_DIM, MAX_WORD_BYTES

if TYPE_CHECKING:
    from jaxtyping import Float32

MAX_NGRAM = 100
"""Characters. In practice, models use up to about ten."""
_MAGIC = 793_712_314
_VERSIONS = (11, 12)
_START = struct.Struct("<2i12id")
_COUNTS = struct.Struct("<3i2q")
_AFTER_WORD = struct.Struct("<qb")
_MATRIX = struct.Struct("<?2q")
_WORD_TYPE = 0  # 1 is a label of a classifier
_CLASSIFIER = 3  # `model` in its settings; a classifier of version 11 has no n-grams, whatever its settings say
_SENTENCE_END = "</s>"  # fastText gives it no n-grams


@dataclass(frozen=True)
class FastText:
    """Words with their rows of the input matrix, and the settings that give the rows of n-grams."""

    path: Path
    rows: dict[str, int]
    matrix: Float32[np.ndarray, "N D"]
    """Mapped from the file: the rows of the words, then `bucket` rows of n-grams."""
    bucket: int
    min_n: int
    max_n: int

    @property
    def dim(self) -> int:
        """Width of the vectors, D."""
        return self.matrix.shape[1]

    def vector(self, word: str) -> Float32[np.ndarray, " D"]:
        """The mean of the word's own row, if it is known, and the rows of its n-grams; zero if it has neither.

        Raises FormatError for a row with a number that is not finite.
        """
        rows = [] if word not in self.rows else [self.rows[word]]
        if word != _SENTENCE_END:
            first = len(self.matrix) - self.bucket
            rows += [first + hash_of(ngram) % self.bucket for ngram in self.ngrams(word)]
        if not rows:
            return np.zeros(self.dim, np.float32)
        vector = self.matrix[rows].mean(axis=0, dtype=np.float32)
        if not np.isfinite(vector).all():
            raise FormatError(self.path, "has a number that is not finite", part=f"vector of {first_token(word)}")
        return vector

    def ngrams(self, word: str) -> list[str]:
        """The n-grams of `<word>`, `min_n` to `max_n` characters long, except for a single `<` and `>`."""
        if self.bucket == 0:
            return []
        marked = f"<{word}>"
        ngrams = [
            marked[start : start + length]
            for start in range(len(marked))
            for length in range(max(self.min_n, 1), min(self.max_n, len(marked) - start) + 1)
        ]
        return ngrams[1:-1] if self.min_n <= 1 else ngrams


def hash_of(ngram: str) -> int:
    """32-bit FNV-1a of the UTF-8 bytes. Each byte is sign-extended first, as in fastText's C++."""
    value = 2_166_136_261
    for byte in ngram.encode():
        signed = byte | 0xFFFFFF00 if byte >= 0x80 else byte
        value = ((value ^ signed) * 16_777_619) & 0xFFFFFFFF
    return value


def looks_like_fasttext(path: Path) -> bool:
    """Whether the file starts with the magic number of fastText."""
    return first_bytes(path, 4) == struct.pack("<i", _MAGIC)


def read_fasttext(path: Path) -> FastText:
    """Open a model. Raises OSError, and FormatError, naming the file, if it is damaged or compressed."""
    with as_format_error(path, "is damaged or cut short", errors=(struct.error, ValueError)):
        return _read(path)


def _read(path: Path) -> FastText:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        _, version, *settings = _START.unpack_from(content)
        dim, model, bucket, min_n, max_n = settings[0], *settings[7:11]
        if (version, model) == (11, _CLASSIFIER):
            max_n = 0
        is_known = version in _VERSIONS and 1 <= dim <= MAX_DIM and bucket >= 0
        if not is_known or (max_n != 0 and not (bucket and 0 <= min_n <= max_n <= MAX_NGRAM)):  # 0 is the same as 1
            settings = f"version {version}, dim {dim}, bucket {bucket} and n-grams of {min_n} to {max_n} characters"
            raise FormatError(path, f"has {settings}; expected fastText's versions 11 and 12")
        num_entries, *_, num_pruned = _COUNTS.unpack_from(content, _START.size)
        rows: dict[str, int] = {}
        at = _START.size + _COUNTS.size
        for number in range(num_entries):
            end = content.find(b"\0", at, at + MAX_WORD_BYTES + 1)
            if end < 0:
                raise ValueError(f"entry {number:,} of the dictionary has no end")
            _, kind = _AFTER_WORD.unpack_from(content, end + 1)
            if kind == _WORD_TYPE:  # the labels of a classifier come after the words
                rows[content[at:end].decode("utf-8", "surrogateescape")] = number
            at = end + 1 + _AFTER_WORD.size
        is_compressed, *found = _MATRIX.unpack_from(content, at)
        if is_compressed or num_pruned > 0:
            raise FormatError(path, "is compressed (.ftz), which is not read; expected a .bin file")
        shape = len(rows) + bucket, dim
        if tuple(found) != shape:
            reason = f"has shape {tuple(found)}; expected {shape}, from the words and buckets in its header"
            raise FormatError(path, reason, part="input matrix")
        matrix = np.memmap(path, "<f4", "r", offset=at + _MATRIX.size, shape=shape)
    return FastText(path, rows, np.asarray(matrix), bucket if max_n > 0 else 0, min_n, max_n)
