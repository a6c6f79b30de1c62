"""Static vectors: word2vec, GloVe and fastText, one vector per word whatever its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.integrations.encoder import Comparator, SystemLayers
from elmokit.integrations.fasttext import looks_like_fasttext, read_fasttext
from elmokit.vectors.file_vector_source import WordVectorSource

if TYPE_CHECKING:
    from jaxtyping import Float32

    from elmokit.model.vector_source import VectorSource


def open_static(model: str, word_vectors: Path | None = None) -> VectorSource:
    """One layer of word vectors, from a file that is recognised by its contents.

    Words that a text or word2vec file lacks are looked up in lower case and otherwise zero; those that fastText's
    `.bin` lacks are made of their character n-grams. Raises OSError, and ValueError for a file of another kind.
    """
    del word_vectors
    path = Path(model)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected word vectors")
    return _open_fasttext(path) if looks_like_fasttext(path) else WordVectorSource(path)


def _open_fasttext(path: Path) -> SystemLayers:
    model = read_fasttext(path)
    known: dict[str, Float32[np.ndarray, " D"]] = {}

    def encode(sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        for word in {word for sentence in sentences for word in sentence} - known.keys():
            known[word] = model.vector(word)
        empty = np.zeros((0, model.dim), np.float32)
        return [np.stack([known[word] for word in each])[None] if each else empty[None] for each in sentences]

    return SystemLayers(encode, num_layers=1, dim=model.dim, files=[path], settings="fasttext")


STATIC = Comparator(name="static", opens="a file of word2vec, GloVe or fastText (.vec or .bin)", open=open_static)
