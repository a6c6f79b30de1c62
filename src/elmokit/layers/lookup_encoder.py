"""Tokens of a dictionary -> token representations: a vector of the word, one of its characters, and a projection.

From ELMoForManyLangs (Che et al., 2018). With words alone and no projection, these are bilm-tf's word-input models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from elmokit.layers.char_encoder import CharEncoder
    from elmokit.layers.packed.char_encoder import PackedCharEncoder


class LookupEncoder(nn.Module):
    """Rows of ids (N,W) -> token representations (N,D). A row has a word id if there are words, then character ids.

    words: the table of words, with row 0 for the padding token; None without words.
    characters: the encoder of characters, without a projection; None without characters.
    projection: applied to the concatenated vectors of word and characters; None without one.
    """

    def __init__(
        self,
        *,
        words: nn.Embedding | None,
        characters: CharEncoder | PackedCharEncoder | None,
        projection: Callable[[Tensor], Tensor] | None,
        output_dim: int,
    ) -> None:
        super().__init__()
        self.output_dim = output_dim
        self.words = words
        self.characters = characters
        self.projection = projection

    @property
    def embedding(self) -> nn.Embedding:
        """One of the tables. Its weights have the type and the device of all weights."""
        if self.words is not None:
            return self.words
        assert self.characters is not None
        return self.characters.embedding

    def forward(self, ids: Int[Tensor, "N W"]) -> Float[Tensor, "N D"]:
        vectors: list[Tensor] = []
        if self.words is not None:
            vectors.append(self.words(ids[:, 0].to(self.embedding.weight.device)))
        if self.characters is not None:
            vectors.append(self.characters(ids[:, len(vectors) :]))
        joined = torch.cat(vectors, dim=1)
        return joined if self.projection is None else self.projection(joined)
