"""Static vectors: word2vec, GloVe and fastText, one vector per word whatever its sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.comparators.comparator import Comparator, SystemLayers
from elmokit.comparators.fasttext import looks_like_fasttext, read_fasttext
from elmokit.text.word_vectors import read_word_vectors, word_vector_dim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jaxtyping import Float32


class WordLookup:
    """Words -> their vectors in a file of GloVe, word2vec or fastText (`.vec`), which is read for the words needed.

    A word that the file lacks is looked up in lower case, since many published files have only that; otherwise its
    vector is zero.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dim = word_vector_dim(path)
        self._found: dict[str, Float32[np.ndarray, " D"]] = {}
        self._asked: set[str] = set()
        self._unknown = np.zeros(self.dim, np.float32)

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Read the vectors of these sentences' words in one pass over the file."""
        words = {word for sentence in sentences for word in sentence}
        missing = (words | {word.lower() for word in words}) - self._asked
        if missing:
            read = read_word_vectors(self.path, missing)
            self._found.update(zip(read.words, read.matrix, strict=True))
            self._asked |= missing

    def __call__(self, sentence: Sequence[str]) -> Float32[np.ndarray, "T D"]:
        """The vectors of a sentence; reads the file again for words that were not added."""
        self.add([sentence])
        vectors = [self._found.get(word, self._found.get(word.lower(), self._unknown)) for word in sentence]
        return np.stack(vectors) if vectors else np.zeros((0, self.dim), np.float32)


def open_static(model: str, word_vectors: Path | None = None) -> SystemLayers:
    """One layer of word vectors, from a file that is recognised by its contents.

    Words that a text or word2vec file lacks are looked up in lower case and otherwise zero; those that fastText's
    `.bin` lacks are made of their character n-grams. Raises OSError, and ValueError for a file of another kind.
    """
    del word_vectors
    path = Path(model)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected word vectors")
    if looks_like_fasttext(path):
        return _open_fasttext(path)
    lookup = WordLookup(path)

    def encode(sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        lookup.add(sentences)
        return [lookup(sentence)[None] for sentence in sentences]

    return SystemLayers(encode, num_layers=1, dim=lookup.dim, files=[path], settings="static", prepare=lookup.add)


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
