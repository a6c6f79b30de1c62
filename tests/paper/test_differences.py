"""Bootstrapped intervals of differences: computed by hand where that can be done."""

from __future__ import annotations

import math

import pytest

from elmokit.metrics.statistics import Interval
from paper.differences import paired_bootstrap


def accuracy(sums: tuple[float, ...]) -> float:
    return 100 * sums[0] / sums[1]


def f1(sums: tuple[float, ...]) -> float:
    return 200 * sums[0] / (sums[1] + sums[2])


def items(*right: int) -> list[tuple[float, ...]]:
    return [(float(one), 1.0) for one in right]


def test_two_items_give_the_three_differences_that_they_can_give():
    # The first item is gained, the second is the same: samples of two gain 0, 50, 50 or 100 points.
    first, second = [items(0, 1)], [items(1, 1)]
    assert paired_bootstrap(first, second, score=accuracy) == Interval(50, 0, 100)
    same = items(*[0, 1] * 50)  # pairing leaves only the items that differ
    assert paired_bootstrap([same], [same], score=accuracy) == Interval(0, 0, 0)


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    gains = [1] * 30 + [0] * 70
    interval = paired_bootstrap([items(*[0] * 100)], [items(*gains)], score=accuracy, resamples=4000)
    margin = 1.96 * 100 * math.sqrt(0.3 * 0.7 / 100)
    assert interval.estimate == 30
    assert interval.low == pytest.approx(30 - margin, abs=1.5) and interval.high == pytest.approx(30 + margin, abs=1.5)


def test_a_system_has_the_mean_score_of_its_runs_and_f1_is_of_all_items_together():
    first = [[(1.0, 2.0, 2.0), (0.0, 0.0, 2.0)], [(1.0, 2.0, 2.0), (1.0, 2.0, 2.0)]]  # 2/6 and 4/8
    second = [[(2.0, 2.0, 2.0), (2.0, 2.0, 2.0)]]
    assert paired_bootstrap(first, second, score=f1).estimate == pytest.approx(100 - (100 / 3 + 50) / 2)


def test_a_quarter_of_a_million_items_take_no_time():
    gained = paired_bootstrap([items(0, 0, 1) * 80_000], [items(0, 1, 1) * 80_000], score=accuracy)
    margin = 1.96 * 100 * math.sqrt(2 / 9 / 240_000)
    assert gained.estimate == pytest.approx(100 / 3)
    assert gained.high - gained.low == pytest.approx(2 * margin, rel=0.1)


@pytest.mark.parametrize(("first", "second"), [([items(1)], [items(1, 0)]), ([[]], [[]]), ([], [items(1)])])
def test_runs_of_other_items_are_refused(first: list[list[tuple[float, ...]]], second: list[list[tuple[float, ...]]]):
    with pytest.raises(ValueError, match="expected the same items"):
        paired_bootstrap(first, second, score=accuracy)
