"""How often the nearest other occurrence of a word has the same part of speech, or sense, in a whole corpus.

Peters et al. (2018, Table 4) show two neighbours of `play`; this is the share over every word of SemCor that has
several parts of speech, or several senses in one part of speech. Neighbours are exact: all occurrences of a lemma are
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemy import TIE
from elmokit.elmo.layer_choice import unit_vectors
from paper.probes.layer_mixes import mixes
from paper.probes.targets import target_vectors

if TYPE_CHECKING:
    from jaxtyping import Bool, Float32, Float64, Int64

    from elmokit.model.vector_source import VectorSource
    from paper.probes.sense_corpora import Instance, SenseCorpus

QUERIES_PER_BLOCK = 1024


@dataclass(frozen=True)
class NeighbourShares:
    """For each occurrence that is judged, 1 if its nearest neighbour is alike, else 0; the share of them for ties."""

    same_pos: Float64[np.ndarray, " P"]
    """Over occurrences whose lemma has several parts of speech, compared with all occurrences of the lemma."""
    same_sense: Float64[np.ndarray, " S"]
    """Over occurrences whose lemma and part of speech have several senses, compared with those alone."""


def neighbour_shares(layers: VectorSource, corpus: SenseCorpus) -> dict[str, NeighbourShares]:
    """The shares for each layer and mix (`layer_mixes.mixes`); `chance` is a random other occurrence.

    Occurrences of one sentence are not compared with each other. An occurrence is judged if another one, in another
    sentence, is like it, and one is not. Of several senses, an occurrence has the first that is given.
    """
    groups = list(_ambiguous_lemmas(corpus))
    members = [index for group in groups for index in group]
    vectors = target_vectors(layers, corpus.sentences, [corpus.instances[index].target for index in members])
    rows = mixes(layers.num_layers)
    pos: dict[str, list[Float64[np.ndarray, " N"]]] = {row: [] for row in ("chance", *rows)}
    senses: dict[str, list[Float64[np.ndarray, " N"]]] = {row: [] for row in ("chance", *rows)}
    start = 0
    for group in groups:
        labels = _Labels([corpus.instances[index] for index in group], corpus)
        mine = vectors[:, start : start + len(group)]
        start += len(group)
        for row in pos:
            found = labels.chance() if row == "chance" else labels.shares(unit_vectors(rows[row](mine)))
            pos[row].append(found.same_pos)
            senses[row].append(found.same_sense)
    return {row: NeighbourShares(np.concatenate(pos[row]), np.concatenate(senses[row])) for row in pos}


def _ambiguous_lemmas(corpus: SenseCorpus) -> Iterator[list[int]]:
    """Indices of the occurrences of each lemma that has several parts of speech or several senses."""
    groups: dict[str, list[int]] = {}
    for index, instance in enumerate(corpus.instances):
        groups.setdefault(instance.lemma, []).append(index)
    for group in groups.values():
        if len({corpus.keys[corpus.instances[index].name][0] for index in group}) > 1:
            yield group


class _Labels:
    """Parts of speech, senses and sentences of the occurrences of one lemma, as numbers."""

    def __init__(self, instances: Sequence[Instance], corpus: SenseCorpus) -> None:
        self.sentences = _numbers([each.target.sentence for each in instances])
        self.pos = _numbers([each.pos for each in instances])
        self.senses = _numbers([(each.pos, corpus.keys[each.name][0]) for each in instances])

    def chance(self) -> NeighbourShares:
        """What a random one of the others gets."""
        return self._judged(lambda queries, allowed: allowed)

    def shares(self, unit: Float32[np.ndarray, "N E"]) -> NeighbourShares:
        """What the nearest one of the others gets, or each of those that are equally near."""

        def nearest(queries: slice, allowed: Bool[np.ndarray, "Q N"]) -> Bool[np.ndarray, "Q N"]:
            nearness = np.where(allowed, unit[queries] @ unit.T, -np.inf)
            return allowed & (nearness >= nearness.max(axis=1, keepdims=True) - TIE)

        return self._judged(nearest)

    def _judged(self, choose: Callable[[slice, Bool[np.ndarray, "Q N"]], Bool[np.ndarray, "Q N"]]) -> NeighbourShares:
        pos: list[Float64[np.ndarray, " Q"]] = []
        senses: list[Float64[np.ndarray, " Q"]] = []
        for start in range(0, len(self.pos), QUERIES_PER_BLOCK):
            queries = slice(start, start + QUERIES_PER_BLOCK)
            others = self.sentences[queries, None] != self.sentences
            same_pos = self.pos[queries, None] == self.pos
            same_sense = self.senses[queries, None] == self.senses
            pos.append(_shares(choose(queries, others), same_pos, others))
            senses.append(_shares(choose(queries, others & same_pos), same_sense, others & same_pos))
        return NeighbourShares(np.concatenate(pos), np.concatenate(senses))


def _shares(
    chosen: Bool[np.ndarray, "Q N"], same: Bool[np.ndarray, "Q N"], allowed: Bool[np.ndarray, "Q N"]
) -> Float64[np.ndarray, " J"]:
    """Share of the chosen that are the same, of each query that has both same and different ones among the allowed."""
    judged = (allowed & same).any(axis=1) & (allowed & ~same).any(axis=1)
    return (chosen & same)[judged].sum(axis=1) / chosen[judged].sum(axis=1)


def _numbers(values: Sequence[object]) -> Int64[np.ndarray, " N"]:
    """Equal numbers for equal values."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int64)
