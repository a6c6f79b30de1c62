"""The rows of a table: each layer, and mixes that are computed by hand here."""

from __future__ import annotations

import tracemalloc

import numpy as np

from paper.probes.layer_mixes import AVERAGE, EQUAL_SIZE, UPPER_AVERAGE, mixes

LAYERS = np.array([[[6.0, 0.0]], [[0.0, 2.0]], [[0.0, 4.0]]], np.float32)


def test_mixes_are_means_over_layers():
    rows = {name: mix(LAYERS).tolist() for name, mix in mixes(3).items()}
    assert list(rows) == ["layer 0", "layer 1", "layer 2", AVERAGE, UPPER_AVERAGE, EQUAL_SIZE]
    assert (rows["layer 0"], rows["layer 2"]) == ([[6.0, 0.0]], [[0.0, 4.0]])
    assert rows[AVERAGE] == [[2.0, 2.0]] and rows[UPPER_AVERAGE] == [[0.0, 3.0]]
    np.testing.assert_allclose(rows[EQUAL_SIZE], [[1 / 3, 2 / 3]], rtol=1e-6)


def test_a_zero_vector_has_no_direction_and_spoils_nothing():
    layers = np.array([[[0.0, 0.0]], [[0.0, 2.0]]], np.float32)
    np.testing.assert_allclose(mixes(2)[EQUAL_SIZE](layers), [[0.0, 0.5]])


def test_one_layer_is_its_only_row():
    assert list(mixes(1)) == ["layer 0"] and list(mixes(2)) == ["layer 0", "layer 1", AVERAGE, EQUAL_SIZE]


def test_no_mix_copies_all_layers():
    layers = np.ones((8, 500, 50), np.float32)
    for mix in mixes(8).values():
        tracemalloc.start()
        mix(layers)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < layers.nbytes / 2
