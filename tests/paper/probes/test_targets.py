"""Vectors of chosen words: at their places, the mean of several tokens, and only sentences that are needed are read."""

from __future__ import annotations

import numpy as np

from paper.probes import targets
from paper.probes.targets import Target, sentence_vectors, target_vectors
from toy_senses import CueLayers

SENTENCES = [["the", "old", "bank"], ["bank"], ["a", "river", "bank", "flooded"]]


def test_a_target_has_the_vector_of_its_token_and_several_tokens_their_mean():
    layers = CueLayers()
    whole = layers(SENTENCES).numpy()
    found = target_vectors(layers, SENTENCES, [Target(2, 1, 3), Target(0, 2, 3)])
    assert found.shape == (3, 2, 32)
    np.testing.assert_allclose(found[:, 0], (whole[:, 2, 1] + whole[:, 2, 2]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(found[:, 1], whole[:, 0, 2])


def test_sentences_without_a_target_are_not_read():
    seen: list[list[str]] = []

    class Watched(CueLayers):
        def __call__(self, sentences):
            seen.extend(sentences)
            return super().__call__(sentences)

    target_vectors(Watched(), SENTENCES, [Target(1, 0, 1)])
    assert seen == [["bank"]]


def test_batches_change_nothing(monkeypatch):
    wanted = [Target(number, 0, 1) for number in (2, 0, 1)]
    before = target_vectors(CueLayers(), SENTENCES, wanted), sentence_vectors(CueLayers(), SENTENCES)
    monkeypatch.setattr(targets, "SENTENCES_PER_BATCH", 1)
    np.testing.assert_array_equal(target_vectors(CueLayers(), SENTENCES, wanted), before[0])
    for left, right in zip(sentence_vectors(CueLayers(), SENTENCES), before[1], strict=True):
        np.testing.assert_array_equal(left, right)
