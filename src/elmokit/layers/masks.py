"""Masks of padded batches: which places hold a token, and how many do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


def sentence_lengths(mask: Bool[Tensor, "B T"], *, of: Tensor | None = None) -> Int[Tensor, " B"]:
    """Number of tokens of each sentence, 0 included.

    Raises ValueError when the mask is not boolean, has padding before a token, or does not fit `of` (B,T,...).
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"the mask is of type {mask.dtype}; expected torch.bool, True where there is a token")
    if of is not None and of.shape[:2] != mask.shape:
        raise ValueError(f"a mask of shape {tuple(mask.shape)} for a batch of shape {tuple(of.shape)}")
    gaps = (mask[:, 1:] & ~mask[:, :-1]).any(dim=1)
    if gaps.any():
        raise ValueError(
            f"sentence {int(gaps.nonzero()[0])} has padding before a token; padding goes after a sentence's end"
        )
    return mask.sum(dim=1)
