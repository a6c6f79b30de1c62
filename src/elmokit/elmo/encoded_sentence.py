"""A sentence together with its tokens, their offsets in the text, and their vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float32


@dataclass(frozen=True, eq=False)
class EncodedSentence:
    """What `Elmo.encode_sentences` returns for each sentence: token i has `offsets[i]` and `vectors[..., i, :]`."""

    text: str | None
    """The sentence as it was given; None if it was given as a list of tokens."""
    tokens: list[str]
    offsets: list[tuple[int, int]] | None
    """Start and end of each token in `text`, in characters; None without a text."""
    vectors: Float32[np.ndarray, "*L T E"]

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"EncodedSentence({self.tokens!r}, vectors {self.vectors.shape})"
