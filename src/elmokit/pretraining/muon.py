"""Muon (Jordan et al., 2024): orthogonalised momentum, so that every direction of a matrix learns at the same speed.

The step approximates `U V^T` of the momentum's singular value decomposition by five Newton-Schulz iterations. A factor
of 0.2 sqrt(larger side) gives it the spread of Adam's steps (Liu et al., 2025), so Adam's learning rates fit.

`torch.optim.Muon` iterates on the whole matrix, in bfloat16. LSTM weights are long and thin (4096 x 128), so here the
polynomial is iterated on the small Gram matrix and applied once: the same step for a twentieth of the arithmetic. On a
CPU the iterations are those of its eigenvalues.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from jaxtyping import Float

MOMENTUM = 0.95
NUM_ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of x, x^3 and x^5, which bring singular values from 0.001 to 1 near 1 in five iterations (ibid.)."""


class Muon(Optimizer):
    """Muon for matrices and for convolutions (K,D,W), which are matrices of K rows; Nesterov momentum.

    Steps that have the same size in every direction let the weights grow for as long as the rate stays up, until
    gates saturate and a run diverges: `weight_decay`, per step and learning rate, bounds them (Liu et al., 2025).
    """

    def __init__(self, weights: Iterable[nn.Parameter], *, lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(weights, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            matrices = [weight.view(len(weight), -1) for weight in weights]
            directions = [self._nesterov(weight, weight.grad).flatten(start_dim=1) for weight in weights]
            for matrix, direction, (small, is_left) in zip(
                matrices, directions, polar_factors(directions), strict=True
            ):
                factors = (small, direction) if is_left else (direction, small)
                rate = group["lr"]
                kept = 1 - rate * group["weight_decay"]
                matrix.addmm_(*factors, beta=kept, alpha=-rate * 0.2 * max(matrix.shape) ** 0.5)

    def _nesterov(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """The momentum after the next step, if the gradient stayed as it is (Nesterov)."""
        state = self.state[weight]
        if not state:
            state["momentum"] = torch.zeros_like(weight)
        momentum: Tensor = state["momentum"]
        momentum.lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(momentum, MOMENTUM)


def polar_factors(matrices: Sequence[Tensor]) -> list[tuple[Tensor, bool]]:
    """For each matrix `U S V^T`, the square matrix that makes it nearly `U V^T`, and whether it stands on the left.

    The singular values of the product are between 0.7 and 1.2; those that are zero stay zero. Square matrices of one
    size go through the iterations together, since each by itself is too small to keep two cores busy.
    """
    is_left = [matrix.shape[0] <= matrix.shape[1] for matrix in matrices]
    grams = [
        matrix @ matrix.t() if left else matrix.t() @ matrix for matrix, left in zip(matrices, is_left, strict=True)
    ]
    small: dict[int, Tensor] = {}
    for size in {len(gram) for gram in grams}:
        indices = [index for index, gram in enumerate(grams) if len(gram) == size]
        gram = torch.stack([grams[index] for index in indices])
        norms = gram.diagonal(dim1=1, dim2=2).sum(dim=1).sqrt().clamp_min(1e-30)[:, None, None]
        gram = gram / norms / norms  # not by the square, which may be too small a number
        polynomials = by_eigenvalues(gram) if gram.device.type == "cpu" else by_products(gram)
        small |= dict(zip(indices, polynomials / norms, strict=True))
    return [(small[index], left) for index, left in enumerate(is_left)]


def by_products(gram: Float[Tensor, "M D D"]) -> Float[Tensor, "M D D"]:
    """The polynomial of Gram matrices of norm 1 or less, by iterating on them."""
    linear, cubic, quintic = COEFFICIENTS
    polynomial = torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    for number in range(NUM_ITERATIONS):
        factor = torch.baddbmm(gram, gram, gram, beta=cubic, alpha=quintic)
        factor.diagonal(dim1=1, dim2=2).add_(linear)
        polynomial = factor @ polynomial
        if number < NUM_ITERATIONS - 1:
            gram = factor @ gram @ factor  # factor is symmetric, and all of these matrices commute
    return polynomial


def by_eigenvalues(gram: Float[Tensor, "M D D"]) -> Float[Tensor, "M D D"]:
    """The same, by iterating on their eigenvalues: 2.5 times as fast on a CPU, where the products take long."""
    linear, cubic, quintic = COEFFICIENTS
    values, vectors = cast("tuple[Tensor, Tensor]", torch.linalg.eigh(gram))
    polynomial = torch.ones_like(values)
    for _ in range(NUM_ITERATIONS):
        factor = linear + cubic * values + quintic * values.square()
        polynomial, values = factor * polynomial, factor.square() * values
    return vectors @ (polynomial[:, :, None] * vectors.mT)
