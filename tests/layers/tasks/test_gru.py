from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from elmokit.layers.tasks.gru import gru_states


def products_weight_and_bias(*, num_steps: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    randomness = torch.Generator().manual_seed(0)
    shapes = (num_steps, 2, 3, 12), (2, 12, 4), (2, 12)
    products, weight, bias = (torch.randn(shape, dtype=torch.float64, generator=randomness) for shape in shapes)
    return products.requires_grad_(), weight.requires_grad_(), bias.requires_grad_()


def states_of_torch(products: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The same by `torch.nn.GRU`, one GRU after the other, with an identity as input weight."""
    states: list[Tensor] = []
    for number, (recurrent, offset) in enumerate(zip(weight, bias, strict=True)):
        gru = nn.GRU(12, 4, dtype=torch.float64)
        weights = {
            "weight_ih_l0": torch.eye(12, dtype=torch.float64),
            "bias_ih_l0": torch.zeros(12, dtype=torch.float64),
            "weight_hh_l0": recurrent,
            "bias_hh_l0": offset,
        }
        states.append(torch.func.functional_call(gru, weights, (products[:, number],))[0])
    return torch.stack(states, dim=1)


@pytest.mark.parametrize("num_steps", [1, 2, 7])
def test_states_and_gradients_are_those_of_torch(num_steps: int):
    inputs = products_weight_and_bias(num_steps=num_steps)
    states, expected = gru_states(*inputs), states_of_torch(*inputs)
    torch.testing.assert_close(states, expected, rtol=1e-12, atol=1e-12)
    factors = torch.randn(states.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    gradients = torch.autograd.grad((states * factors).sum(), inputs)
    torch.testing.assert_close(
        gradients, torch.autograd.grad((expected * factors).sum(), inputs), rtol=1e-12, atol=1e-12
    )


def test_gradients_are_those_of_finite_differences_even_of_expanded_and_transposed_tensors():
    products, weight, bias = products_weight_and_bias()
    assert torch.autograd.gradcheck(gru_states, (products, weight, bias))
    transposed = products.detach().transpose(0, 2).contiguous().transpose(0, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda given: gru_states(given, weight, bias), (transposed,))
    states = gru_states(products, weight, bias)
    (of_sum,) = torch.autograd.grad(states.sum(), products, retain_graph=True)  # the gradient is an expanded scalar
    (of_ones,) = torch.autograd.grad((states * 1.0).sum(), products)
    torch.testing.assert_close(of_sum, of_ones)


def test_a_state_is_zero_before_the_first_step_and_the_inputs_are_left_alone():
    products, weight, bias = (value.detach() for value in products_weight_and_bias())
    kept = [value.clone() for value in (products, weight, bias)]
    first = gru_states(products[:1], weight, bias)
    torch.testing.assert_close(gru_states(products, weight, bias)[:1], first)
    reset, update, candidate = products[0].chunk(3, dim=2)
    of_reset, of_update, of_candidate = bias[:, None].chunk(3, dim=2)
    new = torch.tanh(candidate + torch.sigmoid(reset + of_reset) * of_candidate)
    torch.testing.assert_close(first[0], (1 - torch.sigmoid(update + of_update)) * new)
    assert all(torch.equal(value, before) for value, before in zip((products, weight, bias), kept, strict=True))


def test_a_gradient_of_the_gradient_is_refused_rather_than_wrong():
    inputs = products_weight_and_bias()
    (gradient,) = torch.autograd.grad(gru_states(*inputs).square().sum(), inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
