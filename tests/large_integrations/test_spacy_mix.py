"""The mix of layers in spaCy: computed by hand, its gradients those of torch, its refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from elmokit.layers.scalar_mix import ScalarMix

pytest.importorskip("spacy", reason="needs the extra: pip install 'elmokit[spacy]'")

import spacy
from spacy.tokens import Doc

from elmokit.integrations.spacy_mix import scalar_mix

WIDTH, NUM_LAYERS = 4, 3


def annotated(num_tokens: int, *, seed: int = 0) -> Doc:
    doc = Doc(spacy.blank("en").vocab, words=["w"] * num_tokens)
    doc.tensor = np.random.default_rng(seed).normal(size=(num_tokens, NUM_LAYERS * WIDTH)).astype(np.float32)
    return doc


def mix() -> Any:
    model = scalar_mix(WIDTH, NUM_LAYERS)
    model.initialize()
    return model


def test_the_mix_and_its_gradients_are_those_of_torch():
    docs = [annotated(2), annotated(1, seed=1)]
    gradients = [np.random.default_rng(7).normal(size=(len(doc), WIDTH)).astype(np.float32) for doc in docs]
    model, reference = mix(), ScalarMix(num_layers=NUM_LAYERS)
    model.set_param("weights", np.array([0.5, -1.0, 2.0], np.float32))
    model.set_param("gamma", np.array([1.5], np.float32))
    reference.load_state_dict({"weights": torch.tensor([0.5, -1.0, 2.0]), "gamma": torch.tensor(1.5)})
    model = mix().from_bytes(model.to_bytes())
    mixed, backprop = model.begin_update(docs)
    for doc, rows, gradient in zip(docs, mixed, gradients, strict=True):
        layers = torch.from_numpy(doc.tensor.reshape(len(doc), NUM_LAYERS, WIDTH)).transpose(0, 1)[:, None]
        expected = reference(layers)[0]
        np.testing.assert_allclose(rows, expected.detach().numpy(), atol=1e-6)
        expected.backward(torch.from_numpy(gradient))
    assert backprop(gradients) == []
    assert reference.weights.grad is not None and reference.gamma.grad is not None
    np.testing.assert_allclose(model.get_grad("weights"), reference.weights.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(model.get_grad("gamma")[0], reference.gamma.grad.numpy(), atol=1e-5)


def test_without_vectors_there_are_zeros_before_training_and_a_refusal_in_it():
    bare = Doc(spacy.blank("en").vocab, words=["w", "w"])
    assert not mix().predict([bare])[0].any()
    with pytest.raises(ValueError, match=r"a doc.tensor of shape \(0,\); expected \(2, 12\): put a component elmo"):
        mix().begin_update([bare])
    with pytest.raises(ValueError, match=r"found a doc.tensor of shape \(2, 12\); expected \(2, 24\)"):
        scalar_mix(2 * WIDTH, NUM_LAYERS).initialize().predict([annotated(2)])
