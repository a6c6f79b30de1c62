"""Word vectors (GloVe, word2vec, fastText) as frozen layers: one layer, in which a word is the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.digests import file_digest
from elmokit.model.vector_source import padded_layers
from elmokit.text.word_vectors import read_word_vectors, word_vector_dim

if TYPE_CHECKING:
    from jaxtyping import Float, Float32
    from torch import Tensor


class WordVectorSource:
    """Sentences -> one layer (1,B,T,E) of word vectors from a file.

    A word that the file lacks has the vector of its lower-case form; if the file lacks that too, it is zero. Raises
    OSError and ValueError as `read_word_vectors` does.
    """

    num_layers = 1

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.dim = word_vector_dim(path)
        self._vectors: dict[str, Float32[np.ndarray, " E"]] = {}

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Read the vectors of all words that have not been read yet: the file is read once for each call with some."""
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
