"""How often the nearest other occurrence of a word has the same part of speech, or sense, in a whole corpus.

Peters et al. (2018, Table 4) show two neighbours of `play`; this is the share over every word of SemCor that has
several parts of speech, or several senses in one part of speech. Neighbours are exact: all occurrences of a lemma are
compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemy import TIE
from elmokit.elmo.layer_choice import unit_vectors
from elmokit.model.vector_source import VectorSource
from paper.probes.sense_corpora import Instance, SenseCorpus
from paper.probes.targets import mixes, target_vectors

if TYPE_CHECKING:
    from jaxtyping import Bool, Float32, Float64, Int64

QUERIES_PER_BLOCK = 1024
CHANCE = "chance"


@dataclass(frozen=True)
class NeighbourShares:
    """For each occurrence that is judged, 1 if its nearest neighbour is alike, else 0; the share of them for ties."""

    same_pos: Float64[np.ndarray, " P"]
    """Over occurrences whose lemma has several parts of speech, compared with all occurrences of the lemma."""
    same_sense: Float64[np.ndarray, " S"]
    """Over occurrences whose lemma and part of speech have several senses, compared with those alone."""


def neighbour_shares(layers: VectorSource, corpus: SenseCorpus) -> dict[str, NeighbourShares]:
    """The shares for each layer and mix (`targets.mixes`); `chance` is a random other occurrence.

    Occurrences of one sentence are not compared with each other. An occurrence is judged if another one, in another
    sentence, is like it, and one is not. Of several senses, an occurrence has the first that is given.
    """
    groups = list(_ambiguous_lemmas(corpus))
    members = [index for group in groups for index in group]
    vectors = target_vectors(layers, corpus.sentences, [corpus.instances[index].target for index in members])
    rows = mixes(layers.num_layers)
    pos: dict[str, list[Float64[np.ndarray, " N"]]] = {row: [] for row in (CHANCE, *rows)}
    senses: dict[str, list[Float64[np.ndarray, " N"]]] = {row: [] for row in (CHANCE, *rows)}
    start = 0
    for group in groups:
        instances = [corpus.instances[index] for index in group]
        mine = vectors[:, start : start + len(group)]
        start += len(group)
        for row in pos:
            unit = None if row == CHANCE else unit_vectors(rows[row](mine))
            for same_pos, same_sense in _shares_in_blocks(instances, unit):
                pos[row].append(same_pos)
                senses[row].append(same_sense)
    return {row: NeighbourShares(np.concatenate(pos[row]), np.concatenate(senses[row])) for row in pos}


def _ambiguous_lemmas(corpus: SenseCorpus) -> Iterator[list[int]]:
    """Indices of the occurrences of each lemma that has several parts of speech or several senses."""
    groups: dict[str, list[int]] = {}
    for index, instance in enumerate(corpus.instances):
        groups.setdefault(instance.lemma, []).append(index)
    for group in groups.values():
        if len({corpus.instances[index].senses[0] for index in group}) > 1:
            yield group


def _shares_in_blocks(
    instances: Sequence[Instance], unit: Float32[np.ndarray, "N E"] | None
) -> Iterator[tuple[Float64[np.ndarray, " P"], Float64[np.ndarray, " S"]]]:
    """The shares of the occurrences of one lemma, block by block; without vectors, those of a random other one."""
    sentences = _numbers([each.target.sentence for each in instances])
    pos = _numbers([each.pos for each in instances])
    senses = _numbers([(each.pos, each.senses[0]) for each in instances])
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


def _numbers(values: Sequence[object]) -> Int64[np.ndarray, " N"]:
    """Equal numbers for equal values."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int64)
