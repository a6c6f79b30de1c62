"""Masks of padded batches: which positions hold a token, and what pools the vectors of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def sentence_lengths(mask: Bool[Tensor, "B T"], *, values: Tensor | None = None) -> Int[Tensor, " B"]:
    """Number of tokens of each sentence, which may be 0.

    Raises ValueError when the mask is not boolean, has padding before a token, or does not match `values` (B,T,...).
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"the mask is of type {mask.dtype}; expected torch.bool, True where there is a token")
    if values is not None and values.shape[:2] != mask.shape:
        raise ValueError(f"a mask of shape {tuple(mask.shape)} for a batch of shape {tuple(values.shape)}")
    gaps = (mask[:, 1:] & ~mask[:, :-1]).any(dim=1)
    if gaps.any():
        raise ValueError(
            f"sentence {int(gaps.nonzero()[0])} has padding before a token; padding goes after a sentence's end"
        )
    return mask.sum(dim=1)


def masked_mean(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """Mean over the tokens of each sentence; zeros for an empty one."""
    lengths = sentence_lengths(mask, values=values)
    return (values * mask[..., None]).sum(dim=1) / lengths.clamp(min=1)[:, None]


def masked_max(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """Maximum over the tokens of each sentence; zeros for an empty one."""
    lengths = sentence_lengths(mask, values=values)
    if mask.shape[1] == 0:
        return values.sum(dim=1)
    lowest = torch.finfo(values.dtype).min
    return values.masked_fill(~mask[..., None], lowest).amax(dim=1).masked_fill((lengths == 0)[:, None], 0.0)


def masked_min(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """Minimum over the tokens of each sentence; zeros for an empty one."""
    return -masked_max(-values, mask)
