"""Differences and their errors: over seeds, over clusters of test items, over tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from elmokit.metrics.statistics import t_quantile
from paper.results import ItemCounts
from paper.statistics import (
    Difference,
    average_f1,
    f1,
    of_interval,
    over_clusters,
    over_seeds,
    pooled,
    share,
    with_items,
)


def items(hits: list[int], clusters: list[int] | None = None) -> ItemCounts:
    counts = np.array([[hit, 1.0] for hit in hits])
    return ItemCounts(counts, np.arange(len(hits)) if clusters is None else np.array(clusters))


def test_without_an_error_there_is_no_interval_and_nothing_to_detect():
    for difference in (Difference(0.01), over_seeds([0.5]), over_seeds([1.0, 1.0])):
        assert difference is not None
        assert difference.interval() is None and difference.detectable is None
    assert str(Difference(0.01)) == "+0.01"
    assert over_seeds([]) is None


def test_the_interval_over_seeds_is_students_and_items_add_to_it():
    gain = over_seeds([5, 3, 4])
    assert str(gain) == "+4.00 [1.52, 6.48]"  # 4 ± 4.303 / sqrt(3)
    both = with_items(gain, Difference(4, of_items=1.0))
    assert both is not None and both.interval() is not None
    margin = both.interval().high - 4
    assert margin == pytest.approx(math.hypot(4.3027 / 3**0.5, 1.96), abs=1e-3)
    assert Difference(0, of_items=1.0).detectable == pytest.approx(1.96 + 0.8416, abs=1e-3)


@pytest.mark.parametrize(
    ("p", "degrees", "quantile"), [(0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.8, 5, 0.9195), (0.995, 18, 2.8784)]
)
def test_students_quantiles(p: float, degrees: int, quantile: float):
    assert t_quantile(p, degrees) == pytest.approx(quantile, abs=1e-4)


def test_items_of_one_cluster_are_drawn_together():
    """Ten clusters of twenty items that are all alike are ten items, not two hundred."""
    randomness = np.random.default_rng(0)
    before, after = ([int(hit) for hit in randomness.random(10) < share for _ in range(20)] for share in (0.4, 0.6))
    clusters = [number for number in range(10) for _ in range(20)]
    alone = over_clusters([items(before)], [items(after)], score=share)
    together = over_clusters([items(before, clusters)], [items(after, clusters)], score=share)
    assert alone.estimate == together.estimate
    assert together.of_items / alone.of_items == pytest.approx(20**0.5, rel=0.1)


def test_the_bootstrap_agrees_with_the_error_of_a_mean_of_differences():
    randomness = np.random.default_rng(1)
    before, after = ((randomness.random(2000) < level).astype(int).tolist() for level in (0.5, 0.6))
    found = over_clusters([items(before)], [items(after)], score=share)
    differences = 100 * (np.array(after) - np.array(before))
    assert found.estimate == pytest.approx(differences.mean())
    assert found.of_items == pytest.approx(differences.std() / 2000**0.5, rel=0.1)
    assert over_clusters([items(after)] * 2, [items(after)], score=share).of_items == 0


def test_scores_of_sums():
    assert f1(np.array([[6.0, 8, 10]]))[0] == pytest.approx(100 * 2 * 6 / 18)
    assert f1(np.array([[6.0, 8, 5, 10]]))[0] == pytest.approx(60)  # precision 3/4, recall 1/2
    assert average_f1(np.array([[6.0, 8, 5, 10, 0, 8, 0, 10, 1, 1, 1, 1]]))[0] == pytest.approx(160 / 3)
    assert f1(np.zeros((1, 3)))[0] == 0


def test_a_kept_interval_is_symmetric():
    assert str(of_interval(0.6, 1.4, 1.0)) == "+1.00 [0.60, 1.40]"


def test_the_pooled_mean_covers_what_tasks_differ_in():
    alike = [Difference(value, of_items=0.5) for value in (1.0, 1.2, 0.8)]
    mean = pooled(alike)
    assert mean is not None and mean.estimate == pytest.approx(1.0) and mean.num_seeds == 3
    assert mean.error == pytest.approx(0.5 / 3**0.5)  # not below what the errors make it
    apart = pooled([Difference(value, of_items=0.1) for value in (0.0, 2.0, 4.0)])
    assert apart is not None and apart.error == pytest.approx(2 / 3**0.5)
    assert pooled(alike[:1]) is None and pooled([*alike, Difference(1.0)]) is None
