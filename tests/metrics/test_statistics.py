"""Student's intervals: computed by hand where that can be done."""

from __future__ import annotations

import math
import statistics

import pytest

from elmokit.metrics.statistics import Statistic, paired_t


def test_three_seeds_have_students_interval():
    interval = paired_t([1.0, 2.0, 3.0])  # mean 2, deviation 1, 4.303 / sqrt(3) = 2.484
    assert interval is not None and str(interval) == "+2.00 [-0.48, 4.48]"
    assert paired_t([1.0]) is None
    with pytest.raises(ValueError, match="no differences; expected at least 1"):
        paired_t([])


@pytest.mark.parametrize(("number", "quantile"), [(22, 2.0796), (31, 2.0423), (101, 1.9840)])
def test_many_seeds_have_it_too(number: int, quantile: float):
    differences = [float(seed % 2) for seed in range(number)]
    interval = paired_t(differences)
    assert interval is not None
    error = statistics.stdev(differences) / math.sqrt(number)
    assert (interval.high - interval.estimate) / error == pytest.approx(quantile, abs=5e-5)


def test_mean_and_deviation_are_those_of_a_sample():
    statistic = Statistic((80.0, 82.0, 84.0))
    assert (statistic.mean, statistic.deviation) == (82.0, 2.0)
    assert str(statistic) == "82.00 ± 2.00" and str(Statistic((80.0,))) == "80.00"
