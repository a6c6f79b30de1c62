from __future__ import annotations

import pytest
import torch

from elmokit.layers.tasks.maxout import Maxout


def test_each_output_is_the_largest_of_its_own_linear_functions():
    maxout = Maxout(input_dim=1, output_dim=2, pool_size=3)
    with torch.no_grad():
        maxout.linear.weight.copy_(torch.tensor([[1.0], [-1.0], [0.0], [2.0], [0.0], [0.0]]))
        maxout.linear.bias.copy_(torch.tensor([0.0, 0.0, 0.5, 0.0, 0.0, -1.0]))
    torch.testing.assert_close(
        maxout(torch.tensor([[3.0], [-3.0], [0.25]])), torch.tensor([[3.0, 6.0], [3.0, 0.0], [0.5, 0.5]])
    )


def test_a_row_does_not_depend_on_the_others():
    maxout, inputs = Maxout(input_dim=4, output_dim=3, pool_size=2), torch.randn(5, 4)
    torch.testing.assert_close(maxout(inputs.flip(0)), maxout(inputs).flip(0))


def test_refuses_to_choose_from_nothing():
    with pytest.raises(ValueError, match="over 0 linear functions"):
        Maxout(input_dim=4, output_dim=3, pool_size=0)
