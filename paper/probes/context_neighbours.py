"""The nearest contexts of a word in any corpus, and the nearest words of its static vector, by cosine.

The vectors of the corpus are never in memory at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmokit.elmo.layer_choice import unit_vectors
from elmokit.model.vector_source import VectorSource
from elmokit.text.word_vectors import read_word_vectors
from paper.probes.targets import Target, mixes, target_batches, target_vectors

DECIMALS = 6


@dataclass(frozen=True)
class Query:
    """A word in a sentence of its own."""

    tokens: tuple[str, ...]
    index: int


@dataclass(frozen=True, order=True)
class Neighbour:
    """A token of the corpus, and its cosine with the query; in order of falling cosine, then of the corpus."""

    distance: float
    """The negated cosine, rounded to `DECIMALS`: as float32 vectors are not more exact, equal ones would differ."""
    sentence: int
    index: int


def nearest_contexts(
    layers: VectorSource, queries: Sequence[Query], corpus: Sequence[Sequence[str]], *, number: int = 1
) -> dict[str, list[list[Neighbour]]]:
    """For each layer and mix (`targets.mixes`), the nearest tokens of the corpus to each query, nearest first.

    Of more equally near ones than `number`, such as the occurrences of one word in layer 0, these are the first.
    """
    rows = mixes(layers.num_layers)
    own = [Target(place, query.index, query.index + 1) for place, query in enumerate(queries)]
    asked = target_vectors(layers, [query.tokens for query in queries], own)
    wanted = {row: unit_vectors(mix(asked)) for row, mix in rows.items()}
    found: dict[str, list[list[Neighbour]]] = {row: [[] for _ in queries] for row in rows}
    targets = [Target(place, at, at + 1) for place, tokens in enumerate(corpus) for at in range(len(tokens))]
    for indices, vectors in target_batches(layers, corpus, targets):
        for row, mix in rows.items():
            nearness = np.round(wanted[row] @ unit_vectors(mix(vectors)).T, DECIMALS)
            for best, cosines in zip(found[row], nearness, strict=True):
                top = np.lexsort((indices, -cosines))[:number]
                new = [(float(-cosines[at]), targets[indices[at]]) for at in map(int, top)]
                best += [Neighbour(distance, target.sentence, target.start) for distance, target in new]
                best[:] = sorted(best)[:number]
    return found


def nearest_words(word_vectors: Path, word: str, *, number: int = 10, among: int = 100_000) -> list[str]:
    """The words of a file of word vectors that are nearest to a word, of the first `among` in the file.

    Raises ValueError if the file lacks the word.
    """
    found = read_word_vectors(word_vectors, {word}, first=among)
    if word not in found.words:
        raise ValueError(f"{word_vectors} has no vector of {word!r}")
    unit = unit_vectors(found.matrix)
    own = found.words.index(word)
    order = np.argsort(-(unit @ unit[own]), kind="stable")
    return [found.words[place] for place in map(int, order[: number + 1]) if place != own][:number]
