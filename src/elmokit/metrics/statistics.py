"""Scores of several runs, and Student's interval of the differences between runs with the same seed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Statistic:
    """The values of one number in runs with different seeds."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of a sample (n - 1); None for a single value."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def __str__(self) -> str:
        """Mean and deviation, such as `82.00 ± 2.00`."""
        return f"{self.mean:.2f}" + ("" if self.deviation is None else f" ± {self.deviation:.2f}")


@dataclass(frozen=True)
class Interval:
    """A difference and its 95 % interval, in the unit of the score."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        """The difference and its bounds, such as `+1.54 [0.80, 2.31]`."""
        return f"{self.estimate:+.2f} [{self.low:.2f}, {self.high:.2f}]"


def paired_t(differences: Sequence[float]) -> Interval | None:
    """The mean difference between runs with the same seed, with Student's interval; None for a single difference."""
    if len(differences) == 1:
        return None
    mean = statistics.fmean(differences)
    quantile = t_quantile((1 + CONFIDENCE) / 2, len(differences) - 1)
    margin = quantile * statistics.stdev(differences) / math.sqrt(len(differences))
    return Interval(mean, mean - margin, mean + margin)


@cache
def t_quantile(p: float, degrees: int) -> float:
    """The quantile of Student's t with whole degrees of freedom, for p above a half, by bisection."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_distribution(middle, degrees) < p else (low, middle)
    return (low + high) / 2


def _t_distribution(t: float, degrees: int) -> float:
    """Abramowitz and Stegun (1964), 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, term, total = math.cos(angle), 1.0, 0.0
    start = degrees % 2
    for power in range(start, degrees - 1, 2):
        total += term * cosine**power
        term *= (power + 1) / (power + 2)
    if start:
        return 0.5 + (angle + math.sin(angle) * total) / math.pi
    return 0.5 + math.sin(angle) * total / 2
