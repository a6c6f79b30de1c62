"""Variational dropout: one mask for all steps of a sequence (Gal and Ghahramani, 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from jaxtyping import Float


class VariationalDropout(nn.Module):
    """Drops the same features at all tokens of a sentence, in training mode; the others grow by `1 / (1 - rate)`."""

    def __init__(self, *, rate: float) -> None:
        super().__init__()
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"a dropout rate of {rate}; expected at least 0 and less than 1")
        self.rate = rate

    def forward(self, inputs: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        if not self.training or self.rate == 0.0:
            return inputs
        batch_size, _, dim = inputs.shape
        return inputs * functional.dropout(inputs.new_ones(batch_size, 1, dim), self.rate)
