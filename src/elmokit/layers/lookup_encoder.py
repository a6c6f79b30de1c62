"""Tokens of a dictionary -> token representations: a vector of the word, one of its characters, and a projection.

Che et al. (2018), ELMoForManyLangs; with words alone and without a projection, the word-input models of bilm-tf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from elmokit.layers.char_encoder import CharEncoder

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class LookupEncoder(nn.Module):
    """Rows of ids (N,W) -> token representations (N,D): the word's id if there are words, then those of characters.

    num_words: rows of the table of words, with row 0 for the padding token; 0 without words.
    characters: the encoder of characters, without a projection; None without characters.
    projects: whether the vectors of word and characters, one after the other, are projected.
    """

    def __init__(
        self,
        *,
        num_words: int,
        word_dim: int,
        characters: CharEncoder | None,
        output_dim: int,
        projects: bool,
    ) -> None:
        super().__init__()
        self.output_dim = output_dim
        self.words = nn.Embedding(num_words, word_dim, padding_idx=0) if num_words else None
        self.characters = characters
        width = (word_dim if num_words else 0) + (characters.output_dim if characters is not None else 0)
        self.projection = nn.Linear(width, output_dim) if projects else None
        if not projects and width != output_dim:
            raise ValueError(f"vectors of {width} without a projection; expected {output_dim}")

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
            vectors.append(self.words(ids[:, 0]))
        if self.characters is not None:
            vectors.append(self.characters(ids[:, len(vectors) :]))
        joined = torch.cat(vectors, dim=1)
        return joined if self.projection is None else self.projection(joined)
