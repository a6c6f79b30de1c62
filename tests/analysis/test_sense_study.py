import numpy as np
import pytest

from elmokit.analysis.polysemes import most_frequent_words
from elmokit.analysis.polysemy import cosines
from elmokit.analysis.sense_study import StaticWords, principal_plane
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import random_bilm


def test_static_neighbours_are_nearest_by_the_token_representation():
    words = ["bank", "banks", "tree", "play"]
    static = StaticWords(random_bilm().eval(), words)
    found = static.nearest("bank", number=3)
    everything = dict(zip(words, cosines(static._unit)[0], strict=True))
    assert [word.token for word in found] == sorted(words[1:], key=lambda word: -everything[word])
    assert [word.cosine for word in found] == pytest.approx([everything[word.token] for word in found], abs=1e-6)
    assert len(static.nearest("unseen", number=4)) == 4


def test_the_most_frequent_words_are_the_first_ones_with_letters():
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the", ",", "of", "1990", "and", "'s"])
    assert most_frequent_words(vocabulary, number=3) == ["the", "of", "and"]
    assert most_frequent_words(vocabulary) == ["the", "of", "and", "'s"]


def test_cosines_worked_out_by_hand():
    assert cosines(np.array([[3.0, 4.0], [4.0, 3.0], [0.0, 0.0]])) == pytest.approx(
        np.array([[1, 0.96, 0], [0.96, 1, 0], [0, 0, 0]])
    )


def test_the_principal_plane_keeps_distances_of_points_that_lie_in_one():
    corners = np.array([[0, 0, 5, 0], [4, 0, 5, 0], [4, 1, 5, 0], [0, 1, 5, 0.0]])
    points = principal_plane(corners)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert distances == pytest.approx(np.linalg.norm(corners[:, None] - corners[None], axis=2))
    assert np.ptp(points, axis=0) == pytest.approx([4, 1])
    assert principal_plane(np.ones((3, 4))).tolist() == [[0, 0]] * 3
    assert principal_plane(np.array([[1.0], [3.0]]))[:, 1].tolist() == [0, 0]
