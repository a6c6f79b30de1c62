"""How far apart the uses of a word in two corpora are: PRT, APD and excess, with intervals and tests by resampling.

* PRT is the cosine distance of the two average vectors (prototypes), and APD the average cosine distance of all pairs
  of a use in one corpus and a use in the other (Kutuzov and Giulianelli, 2020; their PRT is 1 / cosine, which gives
  the same order).
* The excess is APD less the average distance of two uses in the same corpus. A word with several senses has a large APD
  without any change; its excess is 0. It is half the squared maximum mean discrepancy of Gretton et al. (2012) of
  vectors of length 1, without bias.

Intervals are basic bootstrap intervals over uses (Davison and Hinkley, 1997, section 5.2): averages of few vectors are
noisy, which makes the distance of a sample too large, and that of a resample by twice as much; the basic interval takes
this back. The permutation test redistributes the uses over the two corpora.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from elmokit.model.layer_choice import unit_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float, Float64

CONFIDENCE = 0.95
TIE = 1e-9
"""Distances of resamples that are smaller by no more than this count as equal: they differ by rounding."""


@dataclass(frozen=True)
class Distance:
    """A distance of a word's uses in two corpora, with its uncertainty."""

    estimate: float
    low: float
    """Bounds of the 95 % interval."""
    high: float
    unchanged: float
    """Mean distance when the uses are redistributed over the corpora: what to expect of a word that has not changed."""
    p: float
    """Share of redistributions with at least this distance: the probability of it if nothing has changed."""
    q: float
    """Smallest share of false alarms among the words that are called changed with this one (`false_discovery_rates`);
    p itself if there is a single word."""


@dataclass(frozen=True)
class Distances:
    """The distances of a word."""

    prt: Distance
    """From 0 to 2, as APD."""
    apd: Distance
    excess: Distance
    """0 for a word that has not changed; chance makes it slightly negative as often as positive."""


def measure_distances(
    first: Float[np.ndarray, "N E"],
    second: Float[np.ndarray, "M E"],
    *,
    resamples: int,
    randomness: np.random.Generator,
) -> Distances:
    """PRT and APD of a word's vectors in two corpora, at least one vector in each. q is p, for the word alone."""
    vectors = np.concatenate([first, second]).astype(np.float64)
    units = unit_vectors(vectors)
    num_first = len(first)
    parted = _weights(np.arange(len(vectors))[None, :] < num_first)
    drawn = _bootstrap_weights(num_first, len(second), resamples, randomness)
    shuffled = _weights(_random_parts(num_first, len(vectors), resamples, randomness))
    samples = (parted, drawn, shuffled)
    return Distances(
        prt=_distance(*(_prt(vectors, weights) for weights in samples)),
        apd=_distance(*(_apd(units, weights) for weights in samples)),
        excess=_excess(excess(first, second), *(_discrepancy(units, weights) for weights in samples)),
    )


def prt(first: Float[np.ndarray, "N E"], second: Float[np.ndarray, "M E"]) -> float:
    """Cosine distance of the average vectors."""
    return float(1 - unit_vectors(first.mean(axis=0)) @ unit_vectors(second.mean(axis=0)))


def apd(first: Float[np.ndarray, "N E"], second: Float[np.ndarray, "M E"]) -> float:
    """Average cosine distance of all pairs. The mean of products is the product of means, so no pair is computed."""
    return float(1 - unit_vectors(first).mean(axis=0) @ unit_vectors(second).mean(axis=0))


def excess(first: Float[np.ndarray, "N E"], second: Float[np.ndarray, "M E"]) -> float:
    """APD less the average distance within the corpora, of two uses; a single use has no other, and counts as 0."""
    within = (_within(unit_vectors(first)), _within(unit_vectors(second)))
    return apd(first, second) - sum(within) / 2


def false_discovery_rates(p: Sequence[float]) -> list[float]:
    """The q of each p (Benjamini and Hochberg, 1995).

    Of the words with a q of at most 0.05, one in twenty is expected to be a false alarm.
    """
    order = np.argsort(p)[::-1]
    rates = np.asarray(p, float)[order] * len(p) / np.arange(len(p), 0, -1)
    found = np.empty(len(p))
    found[order] = np.minimum.accumulate(np.minimum(rates, 1.0))
    return found.tolist()


Weights = tuple["Float64[np.ndarray, 'R N']", "Float64[np.ndarray, 'R N']"]
"""Of each use in the average of the first and of the second corpus, for R samples."""


def _prt(vectors: Float64[np.ndarray, "N E"], weights: Weights) -> Float64[np.ndarray, " R"]:
    first, second = (unit_vectors(part @ vectors) for part in weights)
    return 1 - (first * second).sum(axis=1)


def _apd(units: Float64[np.ndarray, "N E"], weights: Weights) -> Float64[np.ndarray, " R"]:
    first, second = (part @ units for part in weights)
    return 1 - (first * second).sum(axis=1)


def _within(units: Float[np.ndarray, "N E"]) -> float:
    """Average distance of two different vectors, of length 1."""
    if len(units) == 1:
        return 0.0
    total = units.sum(axis=0)
    products = float(total @ total - (units * units).sum())
    return 1 - products / (len(units) * (len(units) - 1))


def _discrepancy(units: Float64[np.ndarray, "N E"], weights: Weights) -> Float64[np.ndarray, " R"]:
    """The excess when a use is also paired with itself, which adds the same to every redistribution."""
    first, second = (part @ units for part in weights)
    return ((first - second) ** 2).sum(axis=1) / 2


def _excess(
    estimate: float,
    biased: Float64[np.ndarray, " 1"],
    drawn: Float64[np.ndarray, " R"],
    shuffled: Float64[np.ndarray, " R"],
) -> Distance:
    found = _distance(biased, drawn, shuffled)
    return replace(found, estimate=estimate, unchanged=0.0)


def _distance(
    estimate: Float64[np.ndarray, " 1"], drawn: Float64[np.ndarray, " R"], shuffled: Float64[np.ndarray, " R"]
) -> Distance:
    found = float(estimate[0])
    lower, upper = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    p = (1 + int((shuffled >= found - TIE).sum())) / (1 + len(shuffled))
    return Distance(found, 2 * found - upper, 2 * found - lower, float(shuffled.mean()), p, p)


def _weights(is_first: np.ndarray) -> Weights:
    return is_first / is_first.sum(axis=1, keepdims=True), ~is_first / (~is_first).sum(axis=1, keepdims=True)


def _bootstrap_weights(num_first: int, num_second: int, resamples: int, randomness: np.random.Generator) -> Weights:
    """Each corpus drawn from itself, with replacement."""
    first = randomness.multinomial(num_first, np.full(num_first, 1 / num_first), size=resamples) / num_first
    second = randomness.multinomial(num_second, np.full(num_second, 1 / num_second), size=resamples) / num_second
    return np.pad(first, ((0, 0), (0, num_second))), np.pad(second, ((0, 0), (num_first, 0)))


def _random_parts(num_first: int, total: int, resamples: int, randomness: np.random.Generator) -> np.ndarray:
    """Masks (R,N) of the first corpus after redistribution."""
    order = randomness.random((resamples, total)).argsort(axis=1)
    return order < num_first
