"""Vectors from a file instead of ELMo's: from CoVe, a transformer, GloVe, or an earlier run of a biLM."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.model.vector_source import padded_layers
from elmokit.system.paths import file_digest
from elmokit.text.word_vectors import read_word_vectors, word_vector_dim
from elmokit.vectors.files import load_vectors
from elmokit.vectors.flat import tokens_path

if TYPE_CHECKING:
    from jaxtyping import Float, Float32
    from torch import Tensor


class FileVectorSource:
    """Sentences of tokens -> layers (L,B,T,E) from a file of vectors. Training does not change them.

    The sentences are in `NAME.npy.tokens.txt` or `NAME.txt` next to the file. Raises FileNotFoundError if one of the
    files is missing, and ValueError if they do not fit together.
    """

    def __init__(self, path: str | Path) -> None:
        self._vectors = load_vectors(path)
        self.path: Path = self._vectors.path
        self.num_layers: int = self._vectors.num_layers or 1
        self.dim: int = self._vectors.dim
        sentences = self._vectors.sentences()
        if sentences is None:
            raise FileNotFoundError(
                f"neither {tokens_path(self.path)} nor {self._vectors.text_path} exists; one of them must contain the "
                f"sentences of {self.path.name}, one per line (see docs/vectors.md)"
            )
        self._numbers: dict[tuple[str, ...], int] = {}
        for number, sentence in enumerate(sentences):
            self._numbers.setdefault(tuple(sentence), number)

    def __reduce__(self) -> tuple[type[FileVectorSource], tuple[Path]]:
        """A copy opens the file again."""
        return FileVectorSource, (self.path,)

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Check that the file has all the sentences. Raises ValueError, with the first missing one, if it does not."""
        missing = [sentence for sentence in sentences if sentence and tuple(sentence) not in self._numbers]
        if missing:
            raise ValueError(
                f"{self._vectors.text_path} lacks {len(missing):,} sentences that are needed; the first is "
                f"{_shown(missing[0])}"
            )

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]:
        """Layers in float32 on the CPU, zero at padding. Raises ValueError for a sentence that the file lacks."""
        self.add(sentences)
        arrays = [self._array(sentence) for sentence in sentences]
        return padded_layers(arrays, num_layers=self.num_layers, dim=self.dim)

    def fingerprint(self) -> str:
        """A hash of the contents of all files."""
        digest = hashlib.blake2b(digest_size=32)
        text_path = self._vectors.text_path  # Parquet and Arrow files do not need it
        for path in (*self._vectors.files, *([text_path] if text_path.is_file() else [])):
            digest.update(file_digest(path))
        return digest.hexdigest()

    def _array(self, sentence: Sequence[str]) -> Float[np.ndarray, "L T E"]:
        if not sentence:
            return np.empty((self.num_layers, 0, self.dim), np.float32)
        array = self._vectors[self._numbers[tuple(sentence)]]
        if not np.isfinite(array).all():
            raise ValueError(f"{self.path}: vectors of {_shown(sentence)} are not finite")
        return array.reshape(self.num_layers, len(sentence), self.dim)


class WordVectorSource:
    """Sentences -> one layer (1,B,T,E) of word vectors (GloVe, word2vec, fastText) from a file.

    A word that is not in the file gets the vector of its lower-case form, or zeros if that is not in the file either.
    Raises OSError and ValueError as `read_word_vectors` does.
    """

    num_layers = 1

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)
        self.dim: int = word_vector_dim(path)
        self._vectors: dict[str, Float32[np.ndarray, " E"]] = {}

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Read the vectors of words that have not been read yet. Each call with such words reads the file once."""
        new = {token for sentence in sentences for token in sentence} - self._vectors.keys()
        if not new:
            return
        found = read_word_vectors(self.path, new | {token.lower() for token in new})
        known = dict(zip(found.words, found.matrix, strict=True))
        absent = np.zeros(self.dim, np.float32)
        for token in new:
            self._vectors[token] = known.get(token, known.get(token.lower(), absent))

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]:
        """Layers in float32 on the CPU, zero at padding."""
        self.add(sentences)
        rows = ([self._vectors[token] for token in sentence] for sentence in sentences)
        arrays = [np.array(vectors, np.float32).reshape(1, -1, self.dim) for vectors in rows]
        return padded_layers(arrays, num_layers=1, dim=self.dim)

    def fingerprint(self) -> str:
        """A hash of the file."""
        return file_digest(self.path).hex()[:32]


def _shown(sentence: Sequence[str]) -> str:
    return repr(" ".join(sentence)[:80])
