"""How often the nearest other occurrence of a word, by cosine, has the same part of speech, or sense (Peters et al.,
2018, section 5.3), over every word of an annotated corpus that has several. Neighbours are exact: all occurrences of
a lemma are compared. `elmokit neighbours` lists nearest contexts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemy import TIE
from elmokit.elmo.encoding import unit_vectors
from elmokit.model.vector_source import VectorSource
from paper.probes.sense_corpora import Instance, SenseCorpus
from paper.probes.targets import mixes, target_vectors

if TYPE_CHECKING:
    from jaxtyping import Bool, Float32, Float64

    Shares = Float64[np.ndarray, " _"]

QUERIES_PER_BLOCK = 1024
CHANCE = "chance"


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
