"""Masks of padded batches: which positions hold a token, and how many tokens each sentence has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


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
