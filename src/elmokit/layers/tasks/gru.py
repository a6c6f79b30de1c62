"""GRUs side by side, with a backward pass of their own: three operations a step where autograd needs some twenty.

On a CPU, the operations of a narrow GRU's step cost more to start than to compute. So both directions of a layer take
each step together, and what the backward pass multiplies by is computed for all steps at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float


def gru_states(
    products: Float[Tensor, "T N B G"], weight: Float[Tensor, "N G H"], bias: Float[Tensor, "N G"]
) -> Float[Tensor, "T N B H"]:
    """States of N GRUs, G = 3H, after each of T steps from the state zero.

    products: products of the inputs with the input weights, and the biases of those. Their blocks, H wide, and those
        of the recurrent weight and bias are reset gate, update gate and candidate, as in `torch.nn.GRU`.
    """
    apply = cast("Callable[..., Tensor]", _Recurrence.apply)
    return apply(products, weight.to(products.dtype), bias.to(products.dtype))


class _Recurrence(torch.autograd.Function):
    """All steps, and their gradient by backpropagation through time.

    With x the input products, W and b the recurrent weight and bias in three blocks, a step from h is

        r = sigmoid(x_r + W_r h + b_r),  z = sigmoid(x_z + W_z h + b_z),  u = W_n h + b_n
        n = tanh(x_n + r u),  h' = (1 - z) n + z h

    and backwards, where da is the gradient of the loss with respect to a, and of a gate that before its sigmoid:

        dx_n = dh' (1 - z) (1 - n^2),  dz = dh' (h - n) z (1 - z),  dr = dx_n u r (1 - r),  du = dx_n r
        dh = dh' z + W^T (dr, dz, du)

    What dh' is multiplied by to give (dr, dz, du), the slopes, needs no gradient and thus no order of steps.
    """

    @staticmethod
    def forward(ctx: Any, products: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        num_steps, number, batch_size, _ = products.shape
        width = weight.shape[2]
        gates, candidates = products[..., : 2 * width].clone(), products[..., 2 * width :].clone()
        reset, update = gates.chunk(2, dim=3)
        recurrent = torch.empty_like(products, memory_format=torch.contiguous_format)
        to_gates, to_candidates = recurrent[..., : 2 * width], recurrent[..., 2 * width :]
        states = products.new_empty(num_steps, number, batch_size, width)

        turned, offset = weight.mT.contiguous(), bias[:, None].expand(number, batch_size, 3 * width)
        state = products.new_zeros(number, batch_size, width)
        for step in range(num_steps):
            torch.baddbmm(offset, state, turned, out=recurrent[step])
            gates[step].add_(to_gates[step]).sigmoid_()
            candidate = candidates[step].addcmul_(reset[step], to_candidates[step]).tanh_()
            state = torch.lerp(candidate, state, update[step], out=states[step])
        ctx.save_for_backward(weight, gates, candidates, to_candidates, states)
        return states

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - torch's stubs give the decorator other names
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        weight, gates, candidates, to_candidates, states = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        num_steps, number, batch_size, width = states.shape
        reset, update = gates.chunk(2, dim=3)
        before = torch.cat([torch.zeros_like(states[:1]), states[:-1]])

        of_candidates = (1 - update) * (1 - candidates.square())
        slopes = states.new_empty(num_steps, number, batch_size, 3, width)
        torch.mul(of_candidates * to_candidates, reset * (1 - reset), out=slopes[..., 0, :])
        torch.mul(before - candidates, update * (1 - update), out=slopes[..., 1, :])
        torch.mul(of_candidates, reset, out=slopes[..., 2, :])

        grad_recurrent = slopes.flatten(3)  # the same memory: each step turns its slopes into its gradient
        grad_states = gradients[0].clone(memory_format=torch.contiguous_format)
        for step in reversed(range(num_steps)):
            slopes[step].mul_(grad_states[step][..., None, :])
            if step:
                grad_states[step - 1].addcmul_(grad_states[step], update[step]).baddbmm_(grad_recurrent[step], weight)

        grad_products = grad_recurrent.clone()
        torch.mul(grad_states, of_candidates, out=grad_products[..., 2 * width :])
        by_gru = grad_recurrent.transpose(0, 1).reshape(number, -1, 3 * width)
        grad_weight = by_gru.mT @ before.transpose(0, 1).reshape(number, -1, width)
        return grad_products, grad_weight, by_gru.sum(dim=1)
