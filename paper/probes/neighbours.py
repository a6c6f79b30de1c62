"""Nearest neighbours of words in context, by cosine: the nearest contexts of a word in any corpus, and how often the
nearest other occurrence has the same part of speech, or sense, in a whole annotated corpus.

Peters et al. (2018, Table 4) show two neighbours of `play`; the share is over every word of SemCor that has several
parts of speech, or several senses in one part of speech. Neighbours are exact: all occurrences of a lemma are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemy import TIE
from elmokit.elmo.layer_choice import unit_vectors
from elmokit.model.vector_source import VectorSource
from elmokit.text.word_vectors import read_word_vectors
from paper.probes.sense_corpora import Instance, SenseCorpus
from paper.probes.targets import Target, mixes, target_batches, target_vectors

if TYPE_CHECKING:
    from jaxtyping import Bool, Float32, Float64

    Shares = Float64[np.ndarray, " _"]

DECIMALS = 6
"""Of a cosine: float32 vectors are not more exact, and equally near ones would differ."""
QUERIES_PER_BLOCK = 1024
CHANCE = "chance"


def nearest_contexts(
    layers: VectorSource, queries: Sequence[tuple[Sequence[str], int]], corpus: Sequence[Sequence[str]]
) -> dict[str, list[tuple[int, int]]]:
    """For each layer and mix (`targets.mixes`), the nearest token of the corpus to each query; both as sentence, index.

    Of equally near ones, such as the occurrences of one word in layer 0, it is the first. The vectors of the corpus are
    never in memory at once.
    """
    rows = mixes(layers.num_layers)
    own = [Target(place, index, index + 1) for place, (_, index) in enumerate(queries)]
    asked = target_vectors(layers, [tokens for tokens, _ in queries], own)
    wanted = {row: unit_vectors(mix(asked)) for row, mix in rows.items()}
    found = {row: [(math.inf, 0, 0)] * len(queries) for row in rows}  # distance, sentence, index
    targets = [Target(place, at, at + 1) for place, tokens in enumerate(corpus) for at in range(len(tokens))]
    for indices, vectors in target_batches(layers, corpus, targets):
        for row, mix in rows.items():
            nearness = np.round(wanted[row] @ unit_vectors(mix(vectors)).T, DECIMALS)
            for query, cosines in enumerate(nearness):
                at = int(np.lexsort((indices, -cosines))[0])
                target = targets[indices[at]]
                nearest = (float(-cosines[at]), target.sentence, target.start)
                found[row][query] = min(found[row][query], nearest)
    return {row: [(sentence, index) for _, sentence, index in of_row] for row, of_row in found.items()}


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


def neighbour_shares(layers: VectorSource, corpus: SenseCorpus) -> dict[str, tuple[Shares, Shares]]:
    """For each layer and mix (`targets.mixes`), how often the nearest neighbour has the same part of speech, and sense.

    Each occurrence that is judged has 1 if its nearest neighbour is alike, else 0; the share of them for ties. Parts of
    speech are compared among all occurrences of a lemma, senses among those of one part of speech. `chance` is a random
    other occurrence.

    Occurrences of one sentence are not compared with each other. An occurrence is judged if another one, in another
    sentence, is like it, and one is not. Of several senses, an occurrence has the first that is given.
    """
    of_lemma: dict[str, list[Instance]] = {}
    for instance in corpus.instances:
        of_lemma.setdefault(instance.lemma, []).append(instance)
    groups = [group for group in of_lemma.values() if len({instance.senses[0] for instance in group}) > 1]
    targets = [instance.target for group in groups for instance in group]
    vectors = target_vectors(layers, corpus.sentences, targets)
    rows = mixes(layers.num_layers)
    found: dict[str, list[tuple[Shares, Shares]]] = {row: [] for row in (CHANCE, *rows)}
    start = 0
    for group in groups:
        mine = vectors[:, start : start + len(group)]
        start += len(group)
        for row, of_row in found.items():
            unit = None if row == CHANCE else unit_vectors(rows[row](mine))
            of_row += _shares_in_blocks(group, unit)
    both = {row: [np.concatenate(parts) for parts in zip(*of_row, strict=True)] for row, of_row in found.items()}
    return {row: (same_pos, same_sense) for row, (same_pos, same_sense) in both.items()}


def _shares_in_blocks(
    instances: Sequence[Instance], unit: Float32[np.ndarray, "N E"] | None
) -> Iterator[tuple[Shares, Shares]]:
    """The shares of the occurrences of one lemma, block by block; without vectors, those of a random other one."""
    sentences = np.array([each.target.sentence for each in instances])
    pos = np.array([each.pos for each in instances])
    senses = np.array([f"{each.pos} {each.senses[0]}" for each in instances])
    for start in range(0, len(instances), QUERIES_PER_BLOCK):
        queries = slice(start, start + QUERIES_PER_BLOCK)
        nearness = None if unit is None else unit[queries] @ unit.T
        others = sentences[queries, None] != sentences
        same_pos = pos[queries, None] == pos
        same_sense = senses[queries, None] == senses
        yield _shares(nearness, same_pos, others), _shares(nearness, same_sense, others & same_pos)


def _shares(
    nearness: Float32[np.ndarray, "Q N"] | None, same: Bool[np.ndarray, "Q N"], allowed: Bool[np.ndarray, "Q N"]
) -> Float64[np.ndarray, " J"]:
    """Share of the nearest that are the same, of each query that has both same and different ones among the allowed."""
    chosen = allowed
    if nearness is not None:
        within = np.where(allowed, nearness, -np.inf)
        chosen = allowed & (within >= within.max(axis=1, keepdims=True) - TIE)
    judged = (allowed & same).any(axis=1) & (allowed & ~same).any(axis=1)
    return (chosen & same)[judged].sum(axis=1) / chosen[judged].sum(axis=1)
