"""Scores of several runs, and Student's interval of the differences between runs of the same seed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
_T_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)
"""The 97.5 % quantiles of Student's t for 1 to 20 degrees of freedom."""


@dataclass(frozen=True)
class Statistic:
    """The values of a number over runs with different seeds."""

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
    """The mean of differences between runs of the same seed, with Student's interval; None for a single difference."""
    if len(differences) == 1:
        return None
    mean = statistics.fmean(differences)
    margin = _t_quantile(len(differences) - 1) * statistics.stdev(differences) / math.sqrt(len(differences))
    return Interval(mean, mean - margin, mean + margin)


def _t_quantile(degrees: int) -> float:
    """The 97.5 % quantile; above 20 degrees of freedom by its expansion (Abramowitz and Stegun, 1964, 26.7.5)."""
    if degrees <= len(_T_QUANTILES):
        return _T_QUANTILES[degrees - 1]
    x = statistics.NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    terms = (x, (x**3 + x) / 4, (5 * x**5 + 16 * x**3 + 3 * x) / 96, (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384)
    return sum(term / degrees**power for power, term in enumerate(terms))
