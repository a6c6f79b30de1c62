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
                matrix.add_(orthogonal(ahead), alpha=-group["lr"] * 0.2 * max(matrix.shape) ** 0.5)
        return None


def orthogonal(matrix: Tensor) -> Tensor:
    """Approximately `U V^T` of a matrix `U S V^T`: its singular values are between 0.7 and 1.2; zeros stay zero."""
    tall = matrix.shape[0] > matrix.shape[1]
    wide = (matrix.t() if tall else matrix) / matrix.square().sum().sqrt().clamp_min(1e-30)
    gram = wide @ wide.t()
    polynomial = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    linear, cubic, quintic = COEFFICIENTS
    for _ in range(NUM_ITERATIONS):
        factor = cubic * gram + quintic * (gram @ gram)
        factor.diagonal().add_(linear)
        polynomial = factor @ polynomial
        gram = factor @ gram @ factor  # factor is symmetric, and all of these matrices commute
    result = polynomial @ wide
    return result.t() if tall else result
