"""Pools: one vector a sentence out of one vector a token, padding left out; zeros for a sentence without tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from elmokit.layers.masks import sentence_lengths

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def masked_mean(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    lengths = sentence_lengths(mask, of=values)
    return (values * mask[..., None]).sum(dim=1) / lengths.clamp(min=1)[:, None]


def masked_max(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    lengths = sentence_lengths(mask, of=values)
    if mask.shape[1] == 0:
        return values.sum(dim=1)
    lowest = torch.finfo(values.dtype).min
    return values.masked_fill(~mask[..., None], lowest).amax(dim=1).masked_fill((lengths == 0)[:, None], 0.0)


def masked_min(values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
    return -masked_max(-values, mask)
