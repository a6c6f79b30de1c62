import tracemalloc

import numpy as np
import pytest

from elmokit.analysis.semantic_change.distances import Distances, false_discovery_rates, measure_distances

EAST, NORTH = np.array([1.0, 0.0]), np.array([0.0, 1.0])


def cloud(seed: int, number: int, *, shift: float = 0.0) -> np.ndarray:
    """Vectors around (4, 0, 0, ...), or around (4, shift, 0, ...)."""
    vectors = np.random.default_rng(seed).standard_normal((number, 16))
    vectors[:, 0] += 4
    vectors[:, 1] += shift
    return vectors


def measured(first: np.ndarray, second: np.ndarray, *, resamples: int = 9, seed: int = 0) -> Distances:
    return measure_distances(first, second, resamples=resamples, randomness=np.random.default_rng(seed))


def over_pairs(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """APD and excess, pair by pair."""
    one, other = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (first, second))
    within = [1 - (part @ part.T)[~np.eye(len(part), dtype=bool)].mean() for part in (one, other)]
    apd = 1 - (one @ other.T).mean()
    return apd, apd - sum(within) / 2


def test_distances_of_a_few_vectors_are_those_computed_by_hand():
    found = measured(np.stack([2 * EAST, 2 * EAST]), np.stack([EAST, 3 * NORTH]))
    assert found.prt.estimate == pytest.approx(1 - 1 / np.sqrt(10))  # the averages are (2, 0) and (0.5, 1.5)
    assert found.apd.estimate == pytest.approx(0.5)
    assert found.excess.estimate == pytest.approx(0.5 - (0 + 1) / 2)
    clouds = cloud(0, 5), cloud(1, 7)
    found = measured(*clouds)
    assert (found.apd.estimate, found.excess.estimate) == pytest.approx(over_pairs(*clouds))
    found = measured(EAST[None], NORTH[None])  # a single use in each corpus
    assert found.prt.estimate == found.apd.estimate == found.excess.estimate == 1


def test_nine_in_ten_intervals_of_prt_hold_the_distance_of_the_corpora():
    true = 1 - 16 / np.sqrt(16 * 20)  # of (4, 0) and (4, 2)
    pairs = [(cloud(2 * seed, 40), cloud(2 * seed + 1, 40, shift=2)) for seed in range(60)]
    found = [measured(*pair, resamples=200, seed=seed).prt for seed, pair in enumerate(pairs)]
    assert np.mean([one.low <= true <= one.high for one in found]) >= 0.85
    assert np.mean([one.estimate for one in found]) > true  # the average of few vectors is noisy


def test_equal_vectors_are_at_no_distance_and_nothing_has_changed():
    same = np.tile(cloud(0, 1), (6, 1))
    found = measured(same, same[:3], resamples=50)
    assert 0 <= found.prt.low <= found.prt.high  # never below zero
    for distance in (found.prt, found.apd, found.excess):
        assert distance.estimate == pytest.approx(0, abs=1e-12) and distance.p == 1


def test_rates_of_false_discovery_are_those_computed_by_hand():
    assert false_discovery_rates([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert false_discovery_rates([1.0]) == [1.0]


def test_redistributions_go_on_while_none_reaches_the_distance():
    few = {"resamples": 50, "randomness": np.random.default_rng(0)}
    changed = measure_distances(cloud(0, 40), cloud(1, 40, shift=4), most_resamples=1000, **few)
    for distance in (changed.prt, changed.apd, changed.excess):
        assert distance.q == distance.p == pytest.approx(1 / 1001)
        assert distance.unchanged < distance.low < distance.estimate < distance.high
    same = measure_distances(cloud(0, 40), cloud(1, 40), most_resamples=1000, **few)
    assert (same.excess.p * 51) % 1 == pytest.approx(0, abs=1e-9)  # p comes from the first fifty


def test_resamples_are_drawn_in_blocks_that_take_no_more_memory_if_there_are_more_of_them():
    tracemalloc.start()
    measured(cloud(0, 40), cloud(1, 40), resamples=1000)
    _, peak = tracemalloc.get_traced_memory()
    measured(cloud(0, 40), cloud(1, 40), resamples=8500)
    assert tracemalloc.get_traced_memory()[1] < 1.5 * peak
    tracemalloc.stop()


def test_the_p_of_the_excess_is_the_share_of_redistributions_with_it_where_sizes_differ():
    first, second = cloud(0, 5) * 2, cloud(1, 60)
    pool, randomness = np.concatenate([first, second]), np.random.default_rng(1)
    parts = [randomness.permutation(len(pool)) for _ in range(2000)]
    excess = over_pairs(first, second)[1]
    reached = np.mean([over_pairs(pool[part[:5]], pool[part[5:]])[1] >= excess for part in parts])
    found = measured(first, second, resamples=2000).excess
    assert found.p == pytest.approx(reached, abs=0.04)
