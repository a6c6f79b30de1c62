import numpy as np
import pytest

from elmokit.analysis.neighbours import Contexts, StaticWords, most_frequent_words
from elmokit.analysis.polysemy import cosines
from elmokit.analysis.sense_study import principal_plane
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import random_bilm

SENTENCES = [["the", "bank"], ["a", "bank", "."], ["bank", "shore"]]
VECTORS = [
    np.array([[0, 1], [1, 0]], dtype=np.float32),
    np.array([[0, 1], [3, 1], [-1, 0]], dtype=np.float32),
    np.array([[1, 1], [4, 1]], dtype=np.float32),
]


def places(found: list) -> list[tuple[int, int]]:
    return [(context.sentence, context.index) for context in found]


def test_nearest_contexts_of_any_word_come_from_other_sentences_nearest_first():
    found = Contexts(VECTORS, SENTENCES).nearest(0, 1, number=3)
    assert places(found) == [(2, 1), (1, 1), (2, 0)]
    assert [context.cosine for context in found] == pytest.approx([4 / 17**0.5, 3 / 10**0.5, 1 / 2**0.5])


def test_nearest_contexts_of_the_same_word_and_of_others():
    contexts = Contexts(VECTORS, SENTENCES)
    assert places(contexts.nearest(0, 1, among="same word")) == [(1, 1), (2, 0)]
    assert places(contexts.nearest(0, 1, among="other words", number=2)) == [(2, 1), (1, 0)]
    assert contexts.nearest(0, 0, among="same word") == []
    with pytest.raises(ValueError, match="5 vectors for 7 tokens"):
        Contexts(VECTORS[:2], SENTENCES)


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
    points, share = principal_plane(corners)
    assert share == pytest.approx(1)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert distances == pytest.approx(np.linalg.norm(corners[:, None] - corners[None], axis=2))
    assert np.ptp(points, axis=0) == pytest.approx([4, 1])


def test_the_principal_plane_of_points_that_do_not_differ_is_one_point():
    points, share = principal_plane(np.ones((3, 4)))
    assert points.tolist() == [[0, 0]] * 3 and share == 1
    assert principal_plane(np.array([[1.0], [3.0]]))[0][:, 1].tolist() == [0, 0]
