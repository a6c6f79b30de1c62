"""A model as frozen layers, and its control with random weights."""

from __future__ import annotations

import numpy as np
import torch

from elmokit.model.elmo import Elmo
from elmokit.vectors.elmo_layers import ElmoLayers, random_elmo
from toy_bilm import TINY, random_bilm

SENTENCES = [["the", "cat", "sat"], [], ["밥"]]


def test_layers_are_those_of_encode_with_zeros_at_padding():
    elmo = Elmo(random_bilm())
    layers = ElmoLayers(elmo)
    layers.add(SENTENCES)
    batch = layers(SENTENCES)
    assert batch.shape == (3, 3, 3, 12) and (layers.num_layers, layers.dim) == (3, 12)
    np.testing.assert_allclose(batch[:, 0], elmo.encode([SENTENCES[0]], layers="all")[0], atol=1e-6)
    assert not batch[:, 1].any() and not batch[:, 2, 1:].any()
    assert layers.fingerprint() == elmo.fingerprint()


def test_random_weights_depend_on_the_seed_and_on_nothing_else():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first = random_elmo(TINY, seed=0).fingerprint()
    assert torch.equal(torch.get_rng_state(), before)
    assert random_elmo(TINY, seed=0).fingerprint() == first != random_elmo(TINY, seed=1).fingerprint()
