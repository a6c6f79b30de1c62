import numpy as np
import pytest

from elmokit.analysis.semantic_change.moved import moved_by


def test_a_use_that_only_one_corpus_has_moved_most():
    east, north = np.array([1.0, 0.0]), np.array([0.0, 2.0])
    moved = moved_by(np.stack([east, east, north]), np.stack([north, north]))
    assert moved == pytest.approx([1 - 0.5, 1 - 0.5, 0 - 1])


def test_a_single_use_is_compared_with_the_other_corpus():
    assert moved_by(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == pytest.approx([1.0])
