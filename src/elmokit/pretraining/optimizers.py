"""The optimisers of pretraining: torch's, Muon, and Muon combined with AdamW."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.config import PretrainingConfig

if TYPE_CHECKING:
    from jaxtyping import Float

MOMENTUM = 0.95
NUM_ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of x, x^3 and x^5. In five iterations, they bring singular values between 0.001 and 1 close to 1
(Jordan et al., 2024)."""


def new_optimizer(config: PretrainingConfig, bilm: BiLM, softmax: Softmax) -> torch.optim.Optimizer | CombinedOptimizer:
    """The optimiser of all weights. With `muon`, it is Muon for some matrices and AdamW for everything else."""
    parameters = [*bilm.parameters(), *softmax.parameters()]
    if config.optimizer == "adagrad":
        fused = all(map(_has_fused_adagrad, {parameter.device for parameter in parameters}))
        return torch.optim.Adagrad(
            parameters, lr=config.learning_rate, initial_accumulator_value=1.0, eps=0.0, fused=fused
        )
    if config.optimizer == "muon":
        matrices = _matrices(bilm, everywhere=config.muon_for == "all")
        own = set(map(id, matrices))
        others = [parameter for parameter in parameters if id(parameter) not in own]
        muon = Muon(matrices, lr=config.learning_rate, weight_decay=config.weight_decay)
        return CombinedOptimizer(_adamw(config, others, weight_decay=0.0), muon)
    return _adamw(config, parameters, weight_decay=config.weight_decay if config.optimizer == "adamw" else 0.0)


class CombinedOptimizer:
    """Two optimisers that act as one. The second one's parameters are numbered after the first one's."""

    def __init__(self, first: Optimizer, second: Optimizer) -> None:
        self.parts: Final = (first, second)
        self._num_first = sum(len(group["params"]) for group in first.param_groups)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for part in self.parts for group in part.param_groups]

    def step(self) -> None:
        for part in self.parts:
            part.step()

    def state_dict(self) -> dict[str, Any]:
        first, second = (part.state_dict()["state"] for part in self.parts)
        numbered = {index + self._num_first: slots for index, slots in second.items()}
        return {"state": first | numbered, "param_groups": self.param_groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state, num_first = state_dict["state"], self._num_first
        first = {index: slots for index, slots in state.items() if index < num_first}
        second = {index - num_first: slots for index, slots in state.items() if index >= num_first}
        for part, own in zip(self.parts, (first, second), strict=True):
            part.load_state_dict({"state": own, "param_groups": part.state_dict()["param_groups"]})


def _has_fused_adagrad(device: torch.device) -> bool:
    """Whether torch has a fused Adagrad step for this device. On GPUs, that depends on the version of torch."""
    parameter = torch.nn.Parameter(torch.zeros(1, device=device))
    parameter.grad = torch.zeros_like(parameter)
    try:
        torch.optim.Adagrad([parameter], fused=True).step()
    except RuntimeError:
        return False
    return True


def _matrices(bilm: BiLM, *, everywhere: bool) -> list[torch.nn.Parameter]:
    """The LSTMs' matrices. `everywhere` adds the encoder's, except the embedding, whose rows are characters."""
    found = [parameter for lstm in bilm.lstms for parameter in lstm.parameters() if parameter.ndim == 2]
    if everywhere:
        encoder = bilm.char_encoder.named_parameters()
        found += [one for name, one in encoder if one.ndim > 1 and not name.startswith("embedding.")]
    return found


def _adamw(
    config: PretrainingConfig, parameters: list[torch.nn.Parameter], *, weight_decay: float
) -> torch.optim.AdamW:
    """AdamW. Without weight decay, it is Adam."""
    return torch.optim.AdamW(
        parameters, lr=config.learning_rate, betas=config.adam_betas, weight_decay=weight_decay, fused=True
    )


class Muon(Optimizer):
    """Muon with Nesterov momentum, for matrices and for convolutions (K,D,W), which count as matrices of K rows.

    Orthogonalised momentum lets every direction of a matrix learn at the same speed (Jordan et al., 2024). The step
    approximates `U V^T` of the momentum's singular value decomposition by five Newton-Schulz iterations. A factor of
    0.2 sqrt(larger side) gives it the spread of Adam's steps (Liu et al., 2025), so Adam's learning rates fit.

    `torch.optim.Muon` iterates on the whole matrix, in bfloat16. LSTM weights are long and thin (4096 x 128), so here
    the polynomial is iterated on the small Gram matrix and applied once. This gives the same step for a twentieth of
    the arithmetic. On a CPU, the eigenvalues of the Gram matrix are iterated instead.

    Steps have the same size in every direction, so the weights grow while the learning rate stays high, until gates
    saturate and a run diverges. `weight_decay`, per step and learning rate, bounds them (Liu et al., 2025).
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
        """The momentum after the next step, if the gradient does not change (Nesterov)."""
        state = self.state[weight]
        if not state:
            state["momentum"] = torch.zeros_like(weight)
        momentum: Tensor = state["momentum"]
        momentum.lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(momentum, MOMENTUM)


def polar_factors(matrices: Sequence[Tensor]) -> list[tuple[Tensor, bool]]:
    """For each matrix `U S V^T`, the square matrix that makes it nearly `U V^T`, and whether to multiply on the left.

    The singular values of the product are between 0.7 and 1.2, but zeros stay zero. Square matrices of the same size go
    through the iterations together, because a single one is too small to keep two cores busy.
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
        gram = gram / norms / norms  # not by the square, which may underflow
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
    """The same, by iterating on their eigenvalues. This is 2.5 times as fast on a CPU, where the products are slow."""
    linear, cubic, quintic = COEFFICIENTS
    values, vectors = cast("tuple[Tensor, Tensor]", torch.linalg.eigh(gram))
    polynomial = torch.ones_like(values)
    for _ in range(NUM_ITERATIONS):
        factor = linear + cubic * values + quintic * values.square()
        polynomial, values = factor * polynomial, factor.square() * values
    return vectors @ (polynomial[:, :, None] * vectors.mT)
