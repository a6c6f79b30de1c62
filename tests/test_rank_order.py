import math
from collections.abc import Callable
from random import Random

import pytest

from rank_order import area_under_curve, ranks, spearman


def test_equal_numbers_share_the_mean_of_their_ranks():
    assert ranks([3.0, 1.0, 3.0, 2.0]) == [3.5, 1.0, 3.5, 2.0]


def test_spearman_asks_only_for_the_order():
    assert spearman([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)  # 1 - 6 * 2 / (4 * 15)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0.0


def counted(name: str) -> Callable[[float, float], bool]:
    def compare(one: float, other: float) -> bool:
        Counted.comparisons += 1
        return getattr(float, name)(one, other)

    return compare


class Counted(float):
    comparisons = 0
    __eq__, __lt__, __gt__ = map(counted, ("__eq__", "__lt__", "__gt__"))
    __hash__ = float.__hash__


@pytest.mark.parametrize("num_values", [1, 2, 5, 1000])
def test_the_area_is_that_of_all_pairs_and_takes_few_comparisons(num_values: int):
    random = Random(num_values)
    positives = [Counted(random.randrange(num_values) - 0.25) for _ in range(211)]
    negatives = [Counted(random.randrange(num_values) - 0.25 * (num_values > 2)) for _ in range(307)]
    wins = [(one > other) + (one == other) / 2 for one in positives for other in negatives]
    Counted.comparisons = 0
    assert area_under_curve(positives, negatives) == sum(wins) / len(wins)
    assert 0 < Counted.comparisons < 20 * (211 + 307)


def test_too_few_numbers_and_nan_are_refused():
    with pytest.raises(ValueError, match="1 and 1 numbers; expected the same number of them, at least two"):
        spearman([1], [1])
    with pytest.raises(ValueError, match="0 positives and 1 negatives; expected at least one of each"):
        area_under_curve([], [1])
    for measure in (spearman, area_under_curve):
        with pytest.raises(ValueError, match="a number is NaN"):
            measure([1.0, math.nan, 2.0], [1.0, 2.0, 3.0])
