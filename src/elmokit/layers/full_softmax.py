"""The full softmax: losses of targets, their ranks, and entropies and likeliest tokens of contexts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from elmokit.layers.sampled_softmax import Softmax

CONTEXTS_AT_ONCE = 256
COLUMNS_AT_ONCE = 8192  # tokens per block of the vocabulary: such a block stays in the processor's cache
LEAST_ROWS = 16
"""Fewest rows of a product with the vocabulary. With fewer, MKL's last digits depend on the number of threads."""
TARGETS_AT_ONCE = 64  # targets that are ranked together, with logits of the whole vocabulary in memory


@dataclass(frozen=True)
class SoftmaxDetails:
    """What to compute for a prediction besides its loss."""

    ranks: bool = False
    entropies: bool = False
    num_likeliest: int = 0
    """Number of the likeliest tokens of each context; 0 for none."""

    def __post_init__(self) -> None:
        if self.num_likeliest < 0:
            raise ValueError(f"{self.num_likeliest} likeliest tokens were asked for; expected 0 or more")


@dataclass(frozen=True)
class SoftmaxPredictions:
    """Losses and, if they were asked for, details of N targets in U distinct contexts."""

    losses: Float[Tensor, " N"]
    """Cross-entropy of each target, in nats."""
    ranks: Int[Tensor, " N"] | None
    """1 for a target that is the likeliest token of its context; tokens of equal probability have the same rank."""
    entropies: Float[Tensor, " U"] | None
    """Entropy of each context's distribution, in nats."""
    likeliest: tuple[Int[Tensor, "U K"], Float[Tensor, "U K"]] | None
    """Ids and probabilities of the likeliest tokens of each context, the likeliest first."""


@torch.no_grad()
def full_softmax_predictions(
    hidden: Float[Tensor, "U D"],
    softmax: Softmax,
    *,
    contexts: Int[Tensor, " N"],
    targets: Int[Tensor, " N"],
    details: SoftmaxDetails | None = None,
) -> SoftmaxPredictions:
    """Predictions of N targets; target n follows the context `hidden[contexts[n]]`, which is computed once.

    Raises ValueError if more likeliest tokens are asked for than the vocabulary has.
    """
    details = details or SoftmaxDetails()
    if details.num_likeliest > len(softmax.bias):
        raise ValueError(
            f"{details.num_likeliest} likeliest tokens were asked for; the vocabulary has {len(softmax.bias)}"
        )
    result = _empty(len(hidden), hidden.new_empty(len(targets)), details)
    for rows, positions in _blocks(contexts, num_contexts=len(hidden)):
        logits, normalisers = _logits(hidden[rows], softmax, keep=details != SoftmaxDetails())
        local, true = contexts[positions] - rows.start, targets[positions]
        true_logits = (hidden[rows][local] * softmax.weight[true]).sum(dim=1) + softmax.bias[true]
        result.losses[positions] = _not_negative(normalisers[local] - true_logits)
        if result.ranks is not None:
            result.ranks[positions] = _ranks(logits, local, true)
        if result.entropies is not None:
            logs = logits - normalisers[:, None]  # rounding grows with the logits, which may all be far from zero
            result.entropies[rows] = _not_negative(-(logs.exp() * logs).sum(dim=1))
        if result.likeliest is not None:
            values, ids = logits.topk(details.num_likeliest, dim=1)
            result.likeliest[0][rows] = ids
            result.likeliest[1][rows] = (values - normalisers[:, None]).exp()
    return result


def _empty(num_contexts: int, losses: Float[Tensor, " N"], details: SoftmaxDetails) -> SoftmaxPredictions:
    shape = (num_contexts, details.num_likeliest)
    likeliest = (torch.empty(shape, dtype=torch.long, device=losses.device), losses.new_empty(shape))
    return SoftmaxPredictions(
        losses=losses,
        ranks=torch.empty_like(losses, dtype=torch.long) if details.ranks else None,
        entropies=losses.new_empty(num_contexts) if details.entropies else None,
        likeliest=likeliest if details.num_likeliest else None,
    )


def _blocks(contexts: Int[Tensor, " N"], *, num_contexts: int) -> Iterator[tuple[slice, Int[Tensor, " M"]]]:
    """Blocks of contexts, each with the positions of its targets."""
    ordered, positions = torch.sort(contexts, stable=True)
    starts = torch.arange(0, num_contexts, CONTEXTS_AT_ONCE, device=contexts.device)
    ends = (starts + CONTEXTS_AT_ONCE).clamp(max=num_contexts)
    bounds = torch.stack([starts, ends, *torch.searchsorted(ordered, torch.stack([starts, ends]))], dim=1)
    for start, end, first, last in cast("list[list[int]]", bounds.tolist()):
        yield slice(start, end), positions[first:last]


def _logits(
    hidden: Float[Tensor, "R D"], softmax: Softmax, *, keep: bool
) -> tuple[Float[Tensor, "R W"], Float[Tensor, " R"]]:
    """Logits of the whole vocabulary (W = V), or without `keep` no columns (W = 0), and the log-normalisers."""
    num_rows = len(hidden)
    hidden = functional.pad(hidden, (0, 0, 0, max(0, LEAST_ROWS - num_rows)))
    kept = hidden.new_empty(len(hidden), len(softmax.bias) if keep else 0)
    normalisers: list[Tensor] = []
    for first in range(0, len(softmax.bias), COLUMNS_AT_ONCE):
        columns = slice(first, first + COLUMNS_AT_ONCE)
        logits = torch.addmm(softmax.bias[columns], hidden, softmax.weight[columns].t())
        normalisers.append(logits.logsumexp(dim=1))
        if keep:
            kept[:, columns] = logits
    return kept[:num_rows], torch.stack(normalisers).logsumexp(dim=0)[:num_rows]


def _not_negative(values: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Set negative rounding errors to zero: the normaliser and the true logit are summed in different orders."""
    return values.clamp(min=0.0) + 0.0  # -0 becomes 0


def _ranks(logits: Float[Tensor, "R V"], rows: Int[Tensor, " M"], targets: Int[Tensor, " M"]) -> Int[Tensor, " M"]:
    ranks = torch.empty_like(targets)
    for start in range(0, len(targets), TARGETS_AT_ONCE):
        some = slice(start, start + TARGETS_AT_ONCE)
        own = logits[rows[some], targets[some]]
        ranks[some] = (logits[rows[some]] > own[:, None]).sum(dim=1) + 1
    return ranks
