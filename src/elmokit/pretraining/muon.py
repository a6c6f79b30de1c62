"""Muon (Jordan et al., 2024): orthogonalised momentum, so that every direction of a matrix learns at the same speed.

The step approximates `U V^T` of the momentum's singular value decomposition by five Newton-Schulz iterations. A factor
of 0.2 sqrt(larger side) gives it the spread of Adam's steps (Liu et al., 2025), so Adam's learning rates fit.

`torch.optim.Muon` iterates on the whole matrix, in bfloat16. LSTM weights are long and thin (4096 x 128), so here the
polynomial is iterated on the small Gram matrix and applied once: the same step for a twentieth of the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import overload

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

MOMENTUM = 0.95
NUM_ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of x, x^3 and x^5, which bring singular values from 0.001 to 1 near 1 in five iterations (ibid.)."""


class Muon(Optimizer):
    """Muon for matrices only, with Nesterov momentum and without weight decay."""

    def __init__(self, matrices: Iterable[nn.Parameter], *, lr: float) -> None:
        super().__init__(matrices, {"lr": lr})

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], float]) -> float: ...
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        if closure is not None:
            raise ValueError("Muon does not evaluate a closure; call backward() first, then step()")
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                if not state:
                    state["momentum"] = torch.zeros_like(matrix)
                momentum: Tensor = state["momentum"]
                momentum.lerp_(matrix.grad, 1 - MOMENTUM)
                ahead = matrix.grad.lerp(momentum, MOMENTUM)
                small, on_the_left = orthogonaliser(ahead)
                factors = (small, ahead) if on_the_left else (ahead, small)
                matrix.addmm_(*factors, alpha=-group["lr"] * 0.2 * max(matrix.shape) ** 0.5)
        return None


def orthogonaliser(matrix: Tensor) -> tuple[Tensor, bool]:
    """The square matrix whose product with `U S V^T` is approximately `U V^T`, and whether it stands on the left.

    The singular values of the product are between 0.7 and 1.2; those that are zero stay zero.
    """
    on_the_left = matrix.shape[0] <= matrix.shape[1]
    gram = matrix @ matrix.t() if on_the_left else matrix.t() @ matrix
    norm = gram.trace().sqrt().clamp_min(1e-30)
    gram = gram / norm / norm  # not by the square, which may be too small a number
    linear, cubic, quintic = COEFFICIENTS
    polynomial = torch.eye(len(gram), dtype=gram.dtype, device=gram.device) / norm
    for number in range(NUM_ITERATIONS):
        factor = torch.addmm(gram, gram, gram, beta=cubic, alpha=quintic)
        factor.diagonal().add_(linear)
        polynomial = factor @ polynomial
        if number < NUM_ITERATIONS - 1:
            gram = factor @ gram @ factor  # factor is symmetric, and all of these matrices commute
    return polynomial, on_the_left
