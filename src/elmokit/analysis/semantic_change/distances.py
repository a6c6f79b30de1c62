"""How far apart the uses of a word in two corpora are: PRT, APD and excess, with intervals and tests by resampling.

* PRT is the cosine distance of the two average vectors (prototypes), and APD the average cosine distance of all pairs
  of a use in one corpus and a use in the other (Kutuzov and Giulianelli, 2020; their PRT is 1 / cosine, which gives
  the same order).
* The excess is APD minus the average distance of two uses in the same corpus. A word with several senses has a large
  APD even without any change, but its excess is 0. The excess is the unbiased estimate of half the squared maximum mean
  discrepancy (Gretton et al., 2012) of vectors of length 1.

Intervals are basic bootstrap intervals over uses (Davison and Hinkley, 1997, section 5.2). Averages of few vectors are
noisy. This makes the distance of a sample too large, and the distance of a resample too large by twice as much; the
basic interval corrects for it. The estimate of PRT is not corrected, so it can lie above its interval. The permutation
test redistributes the uses over the two corpora.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from elmokit.elmo.encoding import unit_vectors
from elmokit.metrics.statistics import CONFIDENCE

if TYPE_CHECKING:
    from jaxtyping import Float, Float64

    Averages = Float64[np.ndarray, "R E"]

RESAMPLES_AT_ONCE = 1000
"""Number of resamples whose average vectors are in memory at once."""
TIE = 1e-9
"""A resample's distance that is smaller by at most this counts as equal: the difference is rounding."""


@dataclass(frozen=True)
class Distance:
    """A distance between a word's uses in two corpora, with its uncertainty."""

    estimate: float
    low: float
    """Bounds of the 95 % interval of the distance, corrected for what chance adds to it."""
    high: float
    unchanged: float
    """Mean distance when the uses are redistributed over the corpora: the expected one if the word has not changed."""
    p: float
    """Share of redistributions with at least this distance, that is, its probability if nothing has changed."""
    q: float
    """Smallest share of false alarms among the changed words if this word counts as changed (`false_discovery_rates`);
    equal to p if there is only one word."""


@dataclass(frozen=True)
class Distances:
    """The distances of a word."""

    prt: Distance
    """From 0 to 2, like APD."""
    apd: Distance
    excess: Distance
    """0 for a word that has not changed; chance makes it slightly negative as often as positive."""


def measure_distances(
    first: Float[np.ndarray, "N E"],
    second: Float[np.ndarray, "M E"],
    *,
    resamples: int,
    most_resamples: int = 0,
    randomness: np.random.Generator,
) -> Distances:
    """PRT, APD and excess of a word's vectors in two corpora, at least one vector in each. q is p, as for one word.

    most_resamples: redistributions are drawn, `resamples` at a time, until each distance is reached or there are this
        many. p cannot be below 1 / (1 + their number), which is too large if many words are tested.
    """
    vectors = np.concatenate([first, second]).astype(np.float64)
    units = unit_vectors(vectors)
    sizes = (len(first), len(second))
    parted = np.arange(len(vectors))[None, :] < len(first)

    def resampled(number: int) -> Float64[np.ndarray, "3 R"]:
        weights = [randomness.multinomial(size, np.full(size, 1 / size), size=number) / size for size in sizes]
        of_vectors, of_units = (
            [weight @ part for weight, part in zip(weights, np.split(uses, sizes[:1]), strict=True)]
            for uses in (vectors, units)
        )  # each corpus from itself, with replacement
        return np.stack([_prt(*of_vectors), _apd(*of_units), _discrepancy(*of_units)])

    def measured(is_first: np.ndarray) -> Float64[np.ndarray, "3 R"]:
        of_units = _averages(units, is_first)
        return np.stack([_prt(*_averages(vectors, is_first)), _apd(*of_units), _excess(*of_units, sizes)])

    found = measured(parted)
    drawn = _in_blocks(resampled, resamples)
    shuffled = np.empty((3, 0))
    while shuffled.shape[1] < max(most_resamples, 1) and not (shuffled >= found - TIE).any(axis=1).all():
        more = _in_blocks(lambda number: measured(_random_parts(*sizes, number, randomness)), resamples)
        shuffled = np.concatenate([shuffled, more], axis=1)
    intervals = (
        _interval(found[0, 0], drawn[0], least=0),
        _interval(found[1, 0], drawn[1], least=0),
        _interval(_discrepancy(*_averages(units, parted))[0], drawn[2]),
    )
    prt, apd, excess = (_distance(*each) for each in zip(found[:, 0].tolist(), intervals, shuffled, strict=True))
    return Distances(prt, apd, replace(excess, unchanged=0.0))


def false_discovery_rates(p: Sequence[float]) -> list[float]:
    """The q of each p (Benjamini and Hochberg, 1995).

    Of the words with a q of at most 0.05, one in twenty is expected to be a false alarm.
    """
    order = np.argsort(p)[::-1]
    rates = np.asarray(p, float)[order] * len(p) / np.arange(len(p), 0, -1)
    found = np.empty(len(p))
    found[order] = np.minimum.accumulate(np.minimum(rates, 1.0))
    return found.tolist()


def _in_blocks(draw: Callable[[int], Float64[np.ndarray, "3 N"]], resamples: int) -> Float64[np.ndarray, "3 R"]:
    """The distances of `resamples` resamples, drawn in blocks that fit into memory."""
    starts = range(0, resamples, RESAMPLES_AT_ONCE)
    return np.concatenate([draw(min(RESAMPLES_AT_ONCE, resamples - start)) for start in starts], axis=1)


def _prt(first: Averages, second: Averages) -> Float64[np.ndarray, " R"]:
    return 1 - (unit_vectors(first) * unit_vectors(second)).sum(axis=1)


def _apd(first: Averages, second: Averages) -> Float64[np.ndarray, " R"]:
    return 1 - (first * second).sum(axis=1)


def _excess(first: Averages, second: Averages, sizes: tuple[int, int]) -> Float64[np.ndarray, " R"]:
    """The excess, from average unit vectors of corpora of these sizes. All uses in a corpus have the same weight."""
    within = [
        1 - (size * (part**2).sum(axis=1) - 1) / (size - 1) if size > 1 else np.zeros(len(part))
        for part, size in zip((first, second), sizes, strict=True)
    ]
    return _apd(first, second) - sum(within) / 2


def _discrepancy(first: Averages, second: Averages) -> Float64[np.ndarray, " R"]:
    """The excess if a use is also paired with itself. That adds to it, twice in a resample; the interval corrects this.

    A bootstrap can measure only this form of the excess, because a resample has the same use several times.
    """
    return ((first - second) ** 2).sum(axis=1) / 2


def _interval(found: float, drawn: Float64[np.ndarray, " R"], *, least: float = -np.inf) -> tuple[float, float]:
    """The basic bootstrap interval of the value `found`, from the values of the resamples; not below `least`."""
    lower, upper = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    return max(float(2 * found - upper), least), max(float(2 * found - lower), least)


def _distance(found: float, interval: tuple[float, float], shuffled: Float64[np.ndarray, " R"]) -> Distance:
    p = (1 + int((shuffled >= found - TIE).sum())) / (1 + len(shuffled))
    return Distance(found, *interval, unchanged=float(shuffled.mean()), p=p, q=p)


def _averages(uses: Float64[np.ndarray, "N E"], is_first: np.ndarray) -> tuple[Averages, Averages]:
    """Averages of the first and of the second corpus's uses, for masks (R,N) of the first. One product gives both."""
    sums, num_first = is_first.astype(float) @ uses, is_first.sum(axis=1, keepdims=True)
    return sums / num_first, (uses.sum(axis=0) - sums) / (len(uses) - num_first)


def _random_parts(num_first: int, num_second: int, resamples: int, randomness: np.random.Generator) -> np.ndarray:
    """Masks (R,N) of the first corpus after redistribution."""
    order = randomness.random((resamples, num_first + num_second)).argsort(axis=1)
    return order < num_first
