"""Dense layers of the task models: Glorot's initial weights, and maxout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float


def glorot(layer: nn.Linear) -> nn.Linear:
    """Give a layer Glorot-uniform weights (Glorot and Bengio, 2010), and biases of zero if any; returns the layer."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:  # pyright: ignore[reportUnnecessaryComparison] - torch's stubs lack bias=False
        nn.init.zeros_(layer.bias)
    return layer


class Maxout(nn.Module):
    """Each output is the largest of `pool_size` linear functions, (N,D) -> (N,K) (Goodfellow et al., 2013)."""

    def __init__(self, *, input_dim: int, output_dim: int, pool_size: int) -> None:
        super().__init__()
        self.pool_size = pool_size
        self.linear = nn.Linear(input_dim, output_dim * pool_size)  # torch's initialisation, as in AllenNLP's bcn

    def forward(self, inputs: Float[Tensor, "N D"]) -> Float[Tensor, "N K"]:
        return self.linear(inputs).unflatten(-1, (-1, self.pool_size)).amax(dim=-1)
