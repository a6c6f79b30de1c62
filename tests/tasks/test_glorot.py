import pytest
import torch
from torch import nn

from elmokit.tasks.glorot import glorot


def test_weights_are_uniform_in_the_range_of_glorot_and_bengio_and_biases_zero():
    torch.manual_seed(0)
    layer = glorot(nn.Linear(200, 100))
    bound = (6 / (200 + 100)) ** 0.5
    assert layer.weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
    assert layer.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert not layer.bias.any()


def test_a_layer_may_have_no_biases():
    assert [name for name, _ in glorot(nn.Linear(3, 2, bias=False)).named_parameters()] == ["weight"]
