"""A difference between two systems, and its interval: over seeds, over test items, or over both together.

Over items by the paired bootstrap of Efron and Tibshirani (1993), used for language systems by Koehn (2004): test items
are drawn with replacement, the same ones for both systems, and the interval holds the middle of the differences.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from elmokit.metrics.statistics import CONFIDENCE, Interval
from elmokit.system.python import require

Counts = tuple[float, ...]
"""What one test item adds to the sums that a score is computed from, such as correct, predicted and gold spans."""

RESAMPLES = 1000


@dataclass(frozen=True)
class Difference:
    """An estimate, in points, and its standard errors."""

    estimate: float
    of_seeds: float = 0.0
    """How far other seeds would move it, estimated from `num_seeds` of them."""
    num_seeds: int = 2
    of_items: float = 0.0
    """How far other test items would move it."""

    def interval(self, level: float = CONFIDENCE) -> Interval:
        """Student's margin over seeds and the normal one over items, whose squares add up: wider than either alone.

        In simulations with three seeds it holds the truth in 95 to 98 % of cases, whichever of the errors is larger. It
        stands for a bootstrap over seeds and items at once, which would need the predictions of every run.
        """
        scipy = require("scipy.stats", extra="comparators", purpose="an interval")
        for_seeds, for_items = scipy.t.ppf((1 + level) / 2, self.num_seeds - 1), scipy.norm.ppf((1 + level) / 2)
        margin = math.hypot(for_seeds * self.of_seeds, for_items * self.of_items)
        return Interval(self.estimate, self.estimate - margin, self.estimate + margin)

    def __str__(self) -> str:
        """Without an interval if neither error was measured."""
        return str(self.interval()) if self.of_seeds or self.of_items else f"{self.estimate:+.2f}"


def paired_bootstrap(
    first: Sequence[Sequence[Counts]], second: Sequence[Sequence[Counts]], *, score: Callable[[Counts], float]
) -> Interval:
    """The gain of the second system over the first, with the 95 % interval of a percentile bootstrap over items.

    first, second: the counts of every test item, for each run of a system (one per seed); all runs have the same items.
    score: turns the sums of the counts into a score; that of a system is the mean over its runs.
    Raises ValueError for runs with different numbers of items.
    """
    runs = [*first, *second]
    rows = Counter(tuple(number for item in items for number in item) for items in zip(*runs, strict=True))
    starts = [0, *accumulate(len(items[0]) for items in runs)]

    def gain(sums: Sequence[float]) -> float:
        scores = [score(tuple(sums[start:end])) for start, end in zip(starts, starts[1:], strict=False)]
        return statistics.fmean(scores[len(first) :]) - statistics.fmean(scores[: len(first)])

    distinct, times = np.array(list(rows), float), np.array(list(rows.values()))
    drawn = np.random.default_rng(0).multinomial(times.sum(), times / times.sum(), size=RESAMPLES)
    gains = [gain(sums) for sums in (drawn @ distinct).tolist()]
    low, high = np.quantile(gains, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    return Interval(gain((times @ distinct).tolist()), low, high)


def over_seeds(differences: Sequence[float]) -> Difference | None:
    """The mean of differences between runs of the same seed; None for fewer than two."""
    if len(differences) < 2:
        return None
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    return Difference(statistics.fmean(differences), error, len(differences))


def over_items(interval: Interval) -> Difference:
    """The difference that a bootstrap over test items has measured."""
    return Difference(interval.estimate, of_items=(interval.high - interval.low) / (2 * 1.96))


def over_models(differences: Sequence[Difference]) -> Difference | None:
    """The mean over models that were measured on the same items; None for a single one."""
    seeds = over_seeds([one.estimate for one in differences])
    return seeds and replace(seeds, of_items=statistics.fmean(one.of_items for one in differences))
