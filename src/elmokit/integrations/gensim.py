"""Static word vectors out of a biLM, as gensim's `KeyedVectors` (extra `gensim`): one vector per word, for any context.

Either the representation of the word alone (layer 0), or the average of its vectors over its occurrences in a corpus,
which Bommasani et al. (2020) found to be the better static vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from elmokit.elmo.layer_choice import DEFAULT_LAYERS
from elmokit.elmo.sentences import tokens_of_each
from elmokit.system.batches import batched
from elmokit.system.messages import printable
from elmokit.system.progress_bar import progress_bar
from elmokit.system.python import require
from elmokit.vectors.jobs.types import TypeSums, layers_of_types

if TYPE_CHECKING:
    from jaxtyping import Float32

    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.layer_choice import Layers
    from elmokit.elmo.sentences import Sentence

T = TypeVar("T")

BLOCK_SENTENCES = 1024
"""Sentences whose vectors are in memory at a time."""


def word_vectors(elmo: Elmo, words: Iterable[str]) -> Any:
    """`KeyedVectors` with the token representation (layer 0) of each word; the words are alike if they are spelt alike.

    Raises ValueError for no words and a missing gensim.
    """
    distinct = list(dict.fromkeys(_several(words, "words")))
    vectors = elmo.encode([[word] for word in distinct], layers=0, show_progress_bar=False)
    return _keyed(distinct, [array[0] for array in vectors], dim=elmo.dim)


def averaged_vectors(
    elmo: Elmo,
    sentences: Iterable[Sentence],
    *,
    layers: Layers = DEFAULT_LAYERS,
    words: Iterable[str] | None = None,
    min_count: int = 5,
    batch_size: int = 128,
    show_progress_bar: bool | None = None,
) -> Any:
    """`KeyedVectors` with the average vector of each word over its occurrences, the most frequent word first.

    sentences: strings, which are tokenised, or lists of tokens; they are read once, a block at a time.
    layers: as in `Elmo.encode`, but not "all".
    words: the words that are wanted; by default all. The sum of each word that occurs is in memory.
    min_count: occurrences that a word needs to get a vector. `get_vecattr(word, "count")` has their number.

    Raises ValueError for "all" layers, a word of which no vector would be left, and a missing gensim.
    """
    layers = layers_of_types(layers, top=elmo.config.num_layers)
    sums = TypeSums(wanted=None if words is None else set(_several(words, "words")))
    with progress_bar(unit="sentence", show=show_progress_bar) as bar:
        for block in batched(_several(sentences, "sentences"), size=BLOCK_SENTENCES):
            tokens = tokens_of_each(block)
            vectors = elmo.encode(tokens, layers=layers, batch_size=batch_size, show_progress_bar=False)
            for sentence, array in zip(tokens, vectors, strict=True):
                sums.add(sentence, array)
            bar.update(len(block))
    kept = [word for word, count in sums.counts.most_common() if count >= min_count]
    keyed = _keyed(kept, [sums.average(word) for word in kept], dim=elmo.dim)
    for word in kept:
        keyed.set_vecattr(word, "count", sums.counts[word])
    return keyed


def _several(values: Iterable[T], name: str) -> Iterable[T]:
    """Refuse a single string, whose letters would be taken for words."""
    if isinstance(values, str):
        raise ValueError(f"{name} is one string, {printable(values)!r}; expected a list")
    return values


def _keyed(words: Sequence[str], vectors: Sequence[Float32[np.ndarray, " E"]], *, dim: int) -> Any:
    if not words:
        raise ValueError("no word would have a vector; pass words, or sentences in which words occur min_count times")
    models = require("gensim.models", extra="gensim", purpose="the vectors of words as KeyedVectors")
    keyed = models.KeyedVectors(vector_size=dim, count=0, dtype=np.float32)
    keyed.add_vectors(list(words), np.stack(vectors))
    return keyed
