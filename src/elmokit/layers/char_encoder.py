"""Character CNN, highway layers, projection: a token's characters -> its context-independent vector (bilm-tf)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.layers.highway import Highway

if TYPE_CHECKING:
    from jaxtyping import Float, Int

PADDING_CHARACTER = 261  # as `text.characters` numbers it; fills a token's row behind its end-of-word character
LENGTH_STEP = 4  # tokens whose lengths round up to the same multiple of this are convolved together


class CharEncoder(nn.Module):
    """Character ids (N,C) -> token representations (N,D)."""

    def __init__(
        self,
        *,
        num_characters: int,
        character_dim: int,
        filters: Sequence[tuple[int, int]],
        activation: str,
        num_highway_layers: int,
        projection_dim: int,
    ) -> None:
        super().__init__()
        num_filters = sum(number for _, number in filters)
        self.embedding = nn.Embedding(num_characters, character_dim, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(character_dim, number, width) for width, number in filters)
        self.activation = {"relu": torch.relu, "tanh": torch.tanh}[activation]
        self.highways = nn.ModuleList(Highway(dim=num_filters) for _ in range(num_highway_layers))
        self.projection: nn.Linear | None = None
        if num_filters != projection_dim:
            self.projection = nn.Linear(num_filters, projection_dim)
        self.widest = max(width for width, _ in filters)
        self._reset_parameters(activation=activation)

    def _reset_parameters(self, *, activation: str) -> None:
        nn.init.uniform_(self.embedding.weight, -1.0, 1.0)
        with torch.no_grad():
            self.embedding.weight[0] = 0.0
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            if activation == "relu":
                nn.init.uniform_(convolution.weight, -0.05, 0.05)
            else:
                fan_in = convolution.in_channels * convolution.kernel_size[0]
                nn.init.normal_(convolution.weight, std=fan_in**-0.5)
            assert convolution.bias is not None
            nn.init.zeros_(convolution.bias)
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=self.projection.in_features**-0.5)
            nn.init.zeros_(self.projection.bias)

    def forward(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N D"]:
        hidden = self.activation(self._pool(character_ids))
        for highway in self.highways:
            hidden = highway(hidden)
        return hidden if self.projection is None else self.projection(hidden)

    def _pool(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N K"]:
        """Maximum of every filter over all positions, the padding characters' included, without visiting most of them.

        Behind a token's end all windows of a width hold padding characters alone and are equal, so one of them
        stands for the rest: a token of n characters needs n + (widest filter) positions.
        """
        size = character_ids.shape[1]
        lengths = (character_ids != PADDING_CHARACTER).sum(dim=1) + self.widest
        lengths = (lengths + LENGTH_STEP - 1).div(LENGTH_STEP, rounding_mode="floor") * LENGTH_STEP
        lengths = lengths.clamp_(max=size)
        order = torch.argsort(lengths, stable=True)
        widths, counts = torch.unique_consecutive(lengths[order], return_counts=True)
        pieces: list[Tensor] = []
        for width, rows in zip(widths.tolist(), order.split(counts.tolist()), strict=True):
            pieces.append(self._convolve(character_ids[rows, :width]))
        if not pieces:
            return self.embedding.weight.new_zeros(0, sum(len(c.bias) for c in self.convolutions))  # type: ignore[arg-type]
        return torch.cat(pieces)[torch.argsort(order)]

    def _convolve(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N K"]:
        embedded = self.embedding(character_ids)
        num_tokens, _, dim = embedded.shape
        pooled: list[Tensor] = []
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            width = convolution.kernel_size[0]
            windows = embedded.unfold(1, width, 1).reshape(-1, dim * width)
            values = functional.linear(windows, convolution.weight.flatten(1))
            maximum = values.view(num_tokens, -1, values.shape[1]).amax(dim=1)
            assert convolution.bias is not None
            pooled.append(maximum + convolution.bias)
        return torch.cat(pooled, dim=1)
