"""Word senses by the nearest mean vector (Peters et al., 2018, section 5.3), without any training.

The vectors of each sense's occurrences in a sense-annotated corpus are averaged. An occurrence of a word gets the sense
of the word whose mean is nearest by cosine. A word that the corpus lacks gets its first sense in WordNet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemy import TIE
from elmokit.model.vector_source import VectorSource
from paper.probes.sense_corpora import SenseCorpus, SenseInventory, Word, word_of
from paper.probes.targets import mixes, target_batches

if TYPE_CHECKING:
    from jaxtyping import Float32

Answers = dict[str, str]
"""A sense key by the name of the instance."""


class SenseMeans:
    """Mean vectors of senses, and for each word its senses that have one, in WordNet's order."""

    def __init__(self, means: Mapping[str, Float32[np.ndarray, " E"]], inventory: SenseInventory) -> None:
        self._means = means
        self._inventory = inventory
        self._of_word: dict[Word, list[str]] = {}
        for key in means:
            self._of_word.setdefault(word_of(key), []).append(key)

    def nearest(self, word: Word, vector: Float32[np.ndarray, " E"]) -> str | None:
        """The sense with the nearest mean; the first one in WordNet if the corpus lacks the word; None without any.

        Of senses that are equally near, the first one in WordNet.
        """
        ranked = self._inventory.senses(word)
        known = [key for key in ranked if key in self._means]
        known += [key for key in self._of_word.get(word, []) if key not in ranked]
        if not known:
            return ranked[0] if ranked else None
        means = np.stack([self._means[key] for key in known])
        lengths = np.linalg.norm(means, axis=1) * np.linalg.norm(vector)
        nearness = means @ vector / np.where(lengths > 0, lengths, 1)
        return known[int((nearness >= nearness.max() - TIE).argmax())]


def disambiguate(
    layers: VectorSource, *, known: SenseCorpus, asked: SenseCorpus, inventory: SenseInventory
) -> dict[str, Answers]:
    """The senses of the instances of `asked`, by the means of `known`, for each layer and mix (`targets.mixes`)."""
    means = _sense_means(layers, known)
    tables = {row: SenseMeans(of_row, inventory) for row, of_row in means.items()}
    answers: dict[str, Answers] = {row: {} for row in tables}
    targets = [instance.target for instance in asked.instances]
    for indices, vectors in target_batches(layers, asked.sentences, targets):
        for row, mix in mixes(layers.num_layers).items():
            for index, vector in zip(indices, mix(vectors), strict=True):
                instance = asked.instances[index]
                key = tables[row].nearest(instance.word, vector)
                if key is not None:
                    answers[row][instance.name] = key
    return answers


def first_senses(asked: SenseCorpus, inventory: SenseInventory) -> Answers:
    """WordNet's first sense of each instance: the line that every system is compared with."""
    found = {each.name: inventory.senses(each.word) for each in asked.instances}
    return {name: senses[0] for name, senses in found.items() if senses}


def _sense_means(layers: VectorSource, corpus: SenseCorpus) -> dict[str, dict[str, Float32[np.ndarray, " E"]]]:
    """For each layer and mix, the mean vector of each sense key."""
    names = list(dict.fromkeys(key for each in corpus.instances for key in each.senses))
    numbers = {key: number for number, key in enumerate(names)}
    senses: list[Sequence[int]] = [[numbers[key] for key in each.senses] for each in corpus.instances]
    rows = mixes(layers.num_layers)
    sums = {row: np.zeros((len(names), layers.dim), np.float32) for row in rows}
    counts = np.zeros((len(names), 1), np.float32)
    for indices, vectors in target_batches(layers, corpus.sentences, [each.target for each in corpus.instances]):
        places = [place for place, index in enumerate(indices) for _ in senses[index]]
        keys = [key for index in indices for key in senses[index]]
        np.add.at(counts, keys, 1)
        for row, mix in rows.items():
            np.add.at(sums[row], keys, mix(vectors)[places])
    return {row: dict(zip(names, total / counts, strict=True)) for row, total in sums.items()}
