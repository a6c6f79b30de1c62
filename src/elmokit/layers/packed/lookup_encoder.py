"""`LookupEncoder` for inference only: no autograd, and weights packed for the kernels that multiply them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from elmokit.layers.packed.char_encoder import PackedCharEncoder
    from elmokit.layers.packed.linear import Kernel


class PackedLookupEncoder(nn.Module):
    """Rows of ids (N,W) -> token representations (N,D), with the packed weights of a `LookupEncoder`."""

    def __init__(
        self,
        *,
        words: Float[Tensor, "V D"] | None,
        characters: PackedCharEncoder | None,
        projection: Kernel | None,
        output_dim: int,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(words) if words is not None else None
        self.characters = characters
        self.projection = projection
        self.output_dim = output_dim

    @property
    def embedding(self) -> nn.Embedding:
        """One of the tables, which shows the type and the device of all weights."""
        if self.words is not None:
            return self.words
        assert self.characters is not None
        return self.characters.embedding

    def forward(self, ids: Int[Tensor, "N W"]) -> Float[Tensor, "N D"]:
        vectors: list[Tensor] = []
        if self.words is not None:
            vectors.append(functional.embedding(ids[:, 0], self.words.weight))
        if self.characters is not None:
            vectors.append(self.characters(ids[:, len(vectors) :]))
        joined = torch.cat(vectors, dim=1)
        return joined if self.projection is None else self.projection(joined)
