import pytest
import torch
from torch import nn

from elmokit.layers.tasks.dense import Maxout, glorot


def test_each_output_is_the_largest_of_its_own_linear_functions():
    maxout = Maxout(input_dim=1, output_dim=2, pool_size=3)
    with torch.no_grad():
        maxout.linear.weight.copy_(torch.tensor([[1.0], [-1.0], [0.0], [2.0], [0.0], [0.0]]))
        maxout.linear.bias.copy_(torch.tensor([0.0, 0.0, 0.5, 0.0, 0.0, -1.0]))
    torch.testing.assert_close(
        maxout(torch.tensor([[3.0], [-3.0], [0.25]])), torch.tensor([[3.0, 6.0], [3.0, 0.0], [0.5, 0.5]])
    )


def test_weights_are_uniform_in_the_range_of_glorot_and_bengio_and_biases_zero():
    torch.manual_seed(0)
    layer = glorot(nn.Linear(200, 100))
    bound = (6 / (200 + 100)) ** 0.5
    assert layer.weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
    assert layer.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert not layer.bias.any() and glorot(nn.Linear(3, 2, bias=False)).bias is None
