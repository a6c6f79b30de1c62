"""A difference between two systems with its standard error: over seeds, over test items, or over both together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from elmokit.metrics.statistics import CONFIDENCE, Interval
from elmokit.system.python import require


@dataclass(frozen=True)
class Difference:
    """An estimate, in points, and how far another sample of seeds and test items would move it."""

    estimate: float
    error: float
    """Standard error."""
    degrees: float = math.inf
    """Degrees of freedom of the error."""

    def interval(self, level: float = CONFIDENCE) -> Interval:
        """Student's interval."""
        student = require("scipy.stats", extra="comparators", purpose="an interval").t
        margin = float(student.ppf((1 + level) / 2, self.degrees)) * self.error
        return Interval(self.estimate, self.estimate - margin, self.estimate + margin)

    def __str__(self) -> str:
        return str(self.interval()) if self.error else f"{self.estimate:+.2f}"


def over_seeds(differences: Sequence[float]) -> Difference | None:
    """The mean of differences between runs of the same seed; None for fewer than two."""
    if len(differences) < 2:
        return None
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    return Difference(statistics.fmean(differences), error, len(differences) - 1)


def over_items(interval: Interval) -> Difference:
    """The difference that a bootstrap over test items has measured."""
    return Difference(interval.estimate, (interval.high - interval.low) / (2 * 1.96))


def over_both(seeds: Difference, items: Difference) -> Difference:
    """The two errors together: their squares add up, since seeds and items vary apart (Satterthwaite's degrees).

    It stands for a bootstrap that draws seeds and items at once, which would need the predictions of every run.
    """
    error = math.hypot(seeds.error, items.error)
    degrees = math.inf if seeds.error == 0 else seeds.degrees * (error / seeds.error) ** 4
    return Difference(seeds.estimate, error, degrees)
