"""Softmax over the vocabulary, full or sampled from log-uniform ranks as in TensorFlow (Jean et al., 2015)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmokit.layers.devices import on_meta_device, widest_float

if TYPE_CHECKING:
    from jaxtyping import Float, Int

ROWS_AT_ONCE = 256  # positions whose logits are held in memory together


class Softmax(nn.Module):
    """Weights (V,D) and bias (V,) that turn a top-layer activation into logits; both directions share them."""

    def __init__(self, *, num_tokens: int, dim: int) -> None:
        super().__init__()
        self.weight: nn.Parameter = nn.Parameter(torch.empty(num_tokens, dim))
        self.bias: nn.Parameter = nn.Parameter(torch.zeros(num_tokens))
        nn.init.normal_(self.weight, std=dim**-0.5)

    @classmethod
    def of(cls, weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"]) -> Softmax:
        """The softmax with these weights. They are shared, not copied."""
        with on_meta_device():
            softmax = cls(num_tokens=len(weight), dim=weight.shape[1])
        softmax.load_state_dict({"weight": weight, "bias": bias}, assign=True)
        return softmax

    def on(self, device: torch.device) -> Softmax:
        """This softmax if it is on the device, otherwise a copy there."""
        if self.weight.device == device:
            return self
        return Softmax.of(self.weight.detach().to(device), self.bias.detach().to(device))

    def forward(self, hidden: Float[Tensor, "N D"]) -> Float[Tensor, "N V"]:
        return torch.addmm(self.bias, hidden, self.weight.t())


@dataclass(frozen=True)
class Negatives:
    """Distinct token ids (S,) drawn for one step, and the number of draws that it took to get them."""

    ids: Int[Tensor, " S"]
    num_draws: int


def log_uniform_probability(ids: Int[Tensor, "..."], *, num_tokens: int) -> Float[Tensor, "..."]:
    """`P(k) = (ln(k + 2) - ln(k + 1)) / ln(V + 1)`: Zipf's law for a vocabulary sorted by falling frequency."""
    return torch.log1p(1.0 / (ids.to(widest_float(ids.device)) + 1.0)) / math.log(num_tokens + 1)


def draw_negatives(num_negatives: int, *, num_tokens: int, generator: torch.Generator) -> Negatives:
    """Draw log-uniformly, on the generator's device, until there are `num_negatives` distinct ids, in drawing order."""
    if not 0 < num_negatives < num_tokens:
        raise ValueError(f"cannot draw {num_negatives} distinct negatives from a vocabulary of {num_tokens}")
    draws = torch.empty(0, dtype=torch.long, device=generator.device)
    while True:
        uniform = torch.rand(4 * num_negatives, generator=generator, dtype=torch.float64, device=generator.device)
        ranks = torch.exp(uniform * math.log(num_tokens + 1)).long() - 1
        draws = torch.cat([draws, ranks.clamp_(max=num_tokens - 1)])
        order = torch.arange(len(draws), device=draws.device)
        first = torch.full((num_tokens,), len(draws), device=draws.device).scatter_reduce_(0, draws, order, "amin")
        first_positions = (first[draws] == order).nonzero().squeeze(1)
        if len(first_positions) >= num_negatives:
            first_positions = first_positions[:num_negatives]
            return Negatives(ids=draws[first_positions], num_draws=int(first_positions[-1]) + 1)


def log_expected_count(ids: Int[Tensor, "..."], *, num_draws: int | Tensor, num_tokens: int) -> Float[Tensor, "..."]:
    """Log of the probability that an id occurs at least once in `num_draws` draws."""
    probability = log_uniform_probability(ids, num_tokens=num_tokens)
    return torch.log(-torch.expm1(num_draws * torch.log1p(-probability))).float()


def sampled_softmax_loss(
    hidden: Float[Tensor, "N D"],
    target_rows: tuple[Float[Tensor, "N D"], Float[Tensor, " N"]],
    negative_rows: tuple[Float[Tensor, "S D"], Float[Tensor, " S"]],
    *,
    targets: Int[Tensor, " N"],
    negatives: Negatives,
    num_tokens: int,
    product_dtype: torch.dtype | None = None,
) -> Float[Tensor, ""]:
    """Mean cross-entropy, in nats, of N positions over 1 + S classes, with logits corrected by log expected counts.

    `target_rows` and `negative_rows` are (weight, bias) of the softmax at `targets` and at `negatives.ids`. If a
    negative equals the target of a position, it is left out there (TensorFlow's `remove_accidental_hits`).
    """
    weight, bias = target_rows
    counts = {"num_draws": negatives.num_draws, "num_tokens": num_tokens}
    true_logits = (hidden * weight).sum(dim=1) + bias - log_expected_count(targets, **counts).to(hidden)
    offsets = negative_rows[1] - log_expected_count(negatives.ids, **counts).to(hidden)
    columns = torch.full((num_tokens,), -1, dtype=torch.long, device=targets.device)
    columns[negatives.ids] = torch.arange(len(negatives.ids), device=targets.device)
    hits = columns[targets]  # for each position, the column of the negative that equals its target, or -1
    apply = cast("Callable[..., Tensor]", _LossOverClasses.apply)
    return apply(hidden, true_logits, negative_rows[0], offsets, hits, product_dtype or hidden.dtype)


class _LossOverClasses(torch.autograd.Function):
    """Mean of `logsumexp([true, hidden @ weight.T + offsets]) - true`; computes the gradients together with the loss.

    It works on `ROWS_AT_ONCE` positions at a time, so the logits are never in memory as a whole. They are (S,N),
    because products that give (N,S) are slower on CPUs.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, true_logits: Tensor, weight: Tensor, offsets: Tensor, hits: Tensor, dtype: torch.dtype
    ) -> Tensor:
        low_hidden, low_weight = hidden.to(dtype), weight.to(dtype)
        grad_hidden = torch.empty_like(hidden)
        grad_weight = torch.zeros_like(weight)
        grad_offsets = torch.zeros_like(offsets)
        grad_true = torch.empty_like(true_logits)
        total = hidden.new_zeros((), dtype=widest_float(hidden.device))
        for start in range(0, len(hidden), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            true = true_logits[rows]
            chances = _logits(low_weight, low_hidden[rows], offsets)
            hit_rows = (hits[rows] >= 0).nonzero().squeeze(1)
            chances[hits[rows][hit_rows], hit_rows] = -math.inf
            highest = torch.maximum(chances.amax(dim=0), true)
            chances.sub_(highest).exp_()
            true_chance = (true - highest).exp()
            normaliser = chances.sum(dim=0) + true_chance
            total += (normaliser.log() + highest - true).sum(dtype=total.dtype)
            share = 1.0 / (normaliser * len(hidden))  # scales (N,D) instead of the larger (S,N)
            grad_true[rows] = true_chance * share - 1.0 / len(hidden)
            grad_offsets += chances @ share
            product = chances.to(dtype)
            grad_hidden[rows] = (product.t() @ low_weight) * share[:, None]
            grad_weight += product @ (hidden[rows] * share[:, None]).to(dtype)
        ctx.save_for_backward(grad_hidden, grad_true, grad_weight, grad_offsets)
        return (total / len(hidden)).to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - torch's stubs give the decorator other names
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor | None, ...]:
        scale = gradients[0]
        to_hidden, to_true, to_weight, to_offsets = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        return (to_hidden * scale, to_true * scale, to_weight * scale, to_offsets * scale, None, None)


def _logits(weight: Float[Tensor, "S D"], hidden: Float[Tensor, "N D"], offsets: Float[Tensor, " S"]) -> Tensor:
    """Logits (S,N) in the type of the offsets, whatever the type of the product."""
    if weight.dtype == offsets.dtype:
        return torch.addmm(offsets[:, None], weight, hidden.t())
    return (weight @ hidden.t()).to(offsets.dtype).add_(offsets[:, None])
