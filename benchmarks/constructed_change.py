"""Known change: two corpora built from sentences with annotated senses, so that some words swap senses.

Each word changes by a known share, from none to all of its uses. A measure is scored by how well it ranks the words by
that share (Spearman), and by how well it separates words that changed completely from words that did not change (area
under the ROC curve).
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.semantic_change.distances import measure_distances
from elmokit.metrics.statistics import Statistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jaxtyping import Float

    from elmokit.analysis.polysemes import Occurrence

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Share of a word's uses that change sense in the second corpus; at 0, both corpora have both senses equally often."""


@dataclass(frozen=True)
class ChangedWord:
    """A word in two corpora: indices of its occurrences in each, and how much changes between them."""

    word: str
    share: float
    """From 0 (the same senses equally often) to 1 (one sense in the first corpus, the other in the second)."""
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True)
class MeasureScore:
    """How well a distance finds known change, over several constructions."""

    spearman: Statistic
    """Spearman's correlation between the distance and the share that changes."""
    area: Statistic
    """Area under the ROC curve: share of pairs (completely changed word, unchanged word) in the right order."""


def construct_change(occurrences: Sequence[Occurrence], *, randomness: np.random.Generator) -> list[ChangedWord]:
    """Divide the sentences of each word between two corpora, with a random share from `SHARES`.

    This uses the first two senses of a word, with the same number of sentences each. No sentence is in both corpora.
    """
    senses = _two_senses(occurrences)
    shares = np.resize(SHARES, len(senses))
    randomness.shuffle(shares)
    return [
        _changed(word, float(share), two, randomness) for (word, two), share in zip(senses.items(), shares, strict=True)
    ]


def score_measures(
    vectors: Float[np.ndarray, "N E"], occurrences: Sequence[Occurrence], *, num_constructions: int = 100, seed: int = 0
) -> Mapping[str, MeasureScore]:
    """Scores of PRT, APD and excess over constructions, given the vector of each occurrence."""
    randomness, unused = np.random.default_rng(seed), np.random.default_rng(seed)
    measures = {"PRT": "prt", "APD": "apd", "excess": "excess"}
    correlations: dict[str, list[float]] = {name: [] for name in measures}
    areas: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(num_constructions):
        changed = construct_change(occurrences, randomness=randomness)
        shares = [one.share for one in changed]
        pairs = [(vectors[list(one.first)], vectors[list(one.second)]) for one in changed]
        found = [measure_distances(*pair, resamples=1, randomness=unused) for pair in pairs]
        for name, field in measures.items():
            distances = [getattr(one, field).estimate for one in found]
            correlations[name].append(spearman(distances, shares))
            ends = [
                [distance for distance, share in zip(distances, shares, strict=True) if share == end] for end in (1, 0)
            ]
            areas[name].append(area_under_curve(*ends))
    return {
        name: MeasureScore(Statistic(tuple(correlations[name])), Statistic(tuple(areas[name]))) for name in measures
    }


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's correlation of two measurements of the same items, from -1 to 1; 0 if either one is constant."""
    if len(set(first)) == 1 or len(set(second)) == 1:
        return 0.0
    return statistics.correlation(ranks(first), ranks(second))


def area_under_curve(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Share of pairs (positive, negative) in which the positive has the larger number; ties count half."""
    num_positives = len(positives)
    of_positives = ranks([*positives, *negatives])[:num_positives]
    wins = sum(of_positives) - num_positives * (num_positives + 1) / 2  # minus the pairs of two positives
    return wins / (num_positives * len(negatives))


def ranks(numbers: Sequence[float]) -> list[float]:
    """The rank of each number, from 1 for the smallest; equal numbers share the mean of their ranks."""
    assert not np.isnan(numbers).any(), "NaN has no rank"
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places].tolist()


def _two_senses(occurrences: Sequence[Occurrence]) -> dict[str, list[list[int]]]:
    """Indices of the occurrences in the first two senses of each word."""
    senses: dict[str, dict[str, list[int]]] = {}
    for index, occurrence in enumerate(occurrences):
        senses.setdefault(occurrence.word, {}).setdefault(occurrence.sense, []).append(index)
    return {word: list(of_word.values())[:2] for word, of_word in senses.items()}


def _changed(word: str, share: float, senses: list[list[int]], randomness: np.random.Generator) -> ChangedWord:
    one, other = (randomness.permutation(indices).tolist() for indices in senses)
    half = min(len(one), len(other))
    kept = round(half * (1 + share) / 2)
    return ChangedWord(word, share, first=(*one[:kept], *other[kept:half]), second=(*one[kept:half], *other[:kept]))
