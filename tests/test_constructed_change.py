from collections import Counter

import numpy as np
import pytest

from constructed_change import area_under_curve, construct_change, ranks, score_measures, spearman
from elmokit import Elmo
from elmokit.analysis.polysemes import read_polysemes
from elmokit.analysis.polysemy import occurrence_vectors

OCCURRENCES = read_polysemes()


def test_spearman_and_area_ask_only_for_the_order_and_equal_numbers_share_the_mean_of_their_ranks():
    assert ranks([3.0, 1.0, 3.0, 2.0]) == [3.5, 1.0, 3.5, 2.0]
    assert spearman([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1.0)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)  # 1 - 6 * 2 / (4 * 15)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0.0
    assert area_under_curve([3.0, 2.0, 9.0], [2.0, 5.0]) == (1 + 0.5 + 2) / 6  # of six pairs


def test_sentences_are_divided_and_senses_change_by_the_share():
    changed = construct_change(OCCURRENCES, randomness=np.random.default_rng(0))
    assert len(changed) == 24 and {one.share for one in changed} == {0.0, 0.25, 0.5, 0.75, 1.0}
    for one in changed:
        assert not set(one.first) & set(one.second) and len(one.first) == len(one.second) == 8
        senses = [Counter(OCCURRENCES[index].sense for index in side) for side in (one.first, one.second)]
        sense = OCCURRENCES[one.first[0]].sense
        assert (senses[0][sense] - senses[1][sense]) / 8 == pytest.approx(one.share)


@pytest.mark.learnt
def test_the_bundled_model_finds_constructed_change_in_its_top_layer():
    elmo = Elmo.from_pretrained("small-en")
    encoded = elmo.encode([list(one.tokens) for one in OCCURRENCES], layers="all")
    vectors = occurrence_vectors(encoded, OCCURRENCES)
    top, tokens = (score_measures(vectors[layer], OCCURRENCES, num_constructions=8) for layer in (2, 0))
    assert top["excess"].spearman.mean > 0.65 and top["excess"].area.mean > 0.95
    assert top["PRT"].area.mean > 0.9
    assert abs(tokens["excess"].spearman.mean) < 0.5  # usually 0.2: without contexts, only rounding differs
