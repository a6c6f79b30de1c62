"""Maxout layer (Goodfellow et al., 2013), as the classifier of McCann et al. (2017) uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float


class Maxout(nn.Module):
    """Each output is the largest of `pool_size` linear functions, (N,D) -> (N,K)."""

    def __init__(self, *, input_dim: int, output_dim: int, pool_size: int) -> None:
        super().__init__()
        if pool_size < 1:
            raise ValueError(f"maxout over {pool_size} linear functions; expected at least one")
        self.pool_size = pool_size
        self.linear = nn.Linear(input_dim, output_dim * pool_size)  # torch's initialisation, as in AllenNLP's bcn

    def forward(self, inputs: Float[Tensor, "N D"]) -> Float[Tensor, "N K"]:
        return self.linear(inputs).unflatten(-1, (-1, self.pool_size)).amax(dim=-1)
