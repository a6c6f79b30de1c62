"""The translator: what its attention reads, and that training and translating agree."""

from __future__ import annotations

import pytest
import torch

from paper.comparators.translation import Translator, new_encoder


@pytest.fixture
def model() -> Translator:
    torch.manual_seed(0)
    encoder = new_encoder(input_dim=3, hidden_dim=4)
    return Translator(encoder, num_tokens=7, target_dim=5, dropout_rate=0.0, begin_id=1, end_id=2)


def test_the_encoder_has_the_names_and_shapes_of_the_published_one():
    encoder = new_encoder(input_dim=300, hidden_dim=300)
    shapes = {name: tuple(tensor.shape) for name, tensor in encoder.state_dict().items()}
    assert shapes["weight_ih_l0"] == shapes["weight_hh_l1_reverse"] == (1200, 300)
    assert shapes["weight_ih_l1"] == shapes["weight_ih_l1_reverse"] == (1200, 600)
    assert len(shapes) == 16


def test_a_translation_is_the_most_probable_token_of_each_step(model: Translator):
    source = torch.randn(3, 4, 3)
    for row, ids in enumerate(model.translate(source, max_tokens=6)):
        target = torch.tensor([[model.begin_id, *ids]])
        best = model(source[row : row + 1], target)[0].argmax(dim=1).tolist()
        assert best[: len(ids)] == ids
        assert len(ids) == 6 or best[len(ids)] == model.end_id


def test_later_target_tokens_do_not_change_earlier_logits(model: Translator):
    source = torch.randn(1, 4, 3)
    first, second = model(source, torch.tensor([[1, 3, 4]])), model(source, torch.tensor([[1, 3, 5]]))
    torch.testing.assert_close(first[:, :2], second[:, :2])
    assert not torch.allclose(first[:, 2], second[:, 2])


def test_every_source_token_is_read(model: Translator):
    source = torch.randn(1, 4, 3, requires_grad=True)
    model(source, torch.tensor([[1]])).sum().backward()
    assert source.grad is not None
    assert (source.grad.abs().sum(dim=2) > 0).all()


def test_an_end_of_the_sentence_ends_the_translation(model: Translator):
    with torch.no_grad():
        model.output.bias[model.end_id] = 100.0
    assert model.translate(torch.randn(2, 3, 3), max_tokens=5) == [[], []]
