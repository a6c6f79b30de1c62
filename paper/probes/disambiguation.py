"""Word senses by the nearest mean vector (Peters et al., 2018, section 5.3), without any training.

The vectors of each sense's occurrences in a sense-annotated corpus are averaged. An occurrence of a word gets the sense
of the word whose mean is nearest by cosine. A word that the corpus lacks gets its first sense in WordNet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemy import TIE
from elmokit.elmo.encoding import unit_vectors
from elmokit.model.vector_source import VectorSource
from paper.probes.sense_corpora import SenseCorpus, Senses, Word, word_of
from paper.probes.targets import mixes, target_batches

if TYPE_CHECKING:
    from jaxtyping import Float32

Answers = dict[str, str]
"""A sense key by the name of the instance."""


def disambiguate(
    layers: VectorSource, *, known: SenseCorpus, asked: SenseCorpus, inventory: Senses
) -> dict[str, Answers]:
    """The senses of the instances of `asked`, by the means of `known`, for each layer and mix (`targets.mixes`)."""
    means = _sense_means(layers, known)
    of_corpus: dict[Word, list[str]] = {}
    for key in dict.fromkeys(key for each in known.instances for key in each.senses):
        of_corpus.setdefault(word_of(key), []).append(key)
    answers: dict[str, Answers] = {row: {} for row in means}
    targets = [instance.target for instance in asked.instances]
    for indices, vectors in target_batches(layers, asked.sentences, targets):
        for row, mix in mixes(layers.num_layers).items():
            for index, vector in zip(indices, mix(vectors), strict=True):
                instance = asked.instances[index]
                ranked = inventory.get(instance.word, ())
                candidates = dict.fromkeys((*ranked, *of_corpus.get(instance.word, ())))
                key = nearest_sense(vector, list(candidates), means[row])
                if key is not None:
                    answers[row][instance.name] = key
    return answers


def nearest_sense(
    vector: Float32[np.ndarray, " E"], senses: Sequence[str], means: Mapping[str, Float32[np.ndarray, " E"]]
) -> str | None:
    """The sense with the nearest mean; the first sense if none has one. Of equally near senses, the first one."""
    known = [key for key in senses if key in means]
    if not known:
        return senses[0] if senses else None
    nearness = unit_vectors(np.stack([means[key] for key in known])) @ unit_vectors(vector)
    return known[int((nearness >= nearness.max() - TIE).argmax())]


def first_senses(asked: SenseCorpus, inventory: Senses) -> Answers:
    """WordNet's first sense of each instance: the line that every system is compared with."""
    return {each.name: inventory[each.word][0] for each in asked.instances if each.word in inventory}


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
