"""Pooling: one vector per sentence from one vector per token, ignoring padding; zeros for an empty sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from elmokit.layers.masks import sentence_lengths

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def masked_mean(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """Mean over the tokens of each sentence."""
    lengths = sentence_lengths(mask, values=values)
    return (values * mask[..., None]).sum(dim=1) / lengths.clamp(min=1)[:, None]


def masked_max(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """Maximum over the tokens of each sentence."""
    lengths = sentence_lengths(mask, values=values)
    if mask.shape[1] == 0:
        return values.sum(dim=1)
    lowest = torch.finfo(values.dtype).min
    return values.masked_fill(~mask[..., None], lowest).amax(dim=1).masked_fill((lengths == 0)[:, None], 0.0)


def masked_min(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    """Minimum over the tokens of each sentence."""
    return -masked_max(-values, mask)
