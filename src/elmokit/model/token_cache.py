"""Cache of token representations: the char encoder runs once per distinct token, also across calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from elmokit.layers.parallel import STATE_LOCK

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from elmokit.layers.char_encoder import CharEncoder
    from elmokit.layers.lookup_encoder import LookupEncoder
    from elmokit.layers.packed.char_encoder import PackedCharEncoder
    from elmokit.text.indexer import Spelling

    Encoder = CharEncoder | PackedCharEncoder | LookupEncoder

MAX_REMEMBERED_TOKENS = 32_768  # 64 MiB of vectors for the released `original` model, 16 MiB for the bundled one
CHUNK = 256  # tokens per call of the char encoder, to limit its memory

Key = str | bytes


class TokenCache:
    """Sentences of tokens -> representations of their distinct tokens; drops the least recently used ones."""

    def __init__(self, char_encoder: Encoder, *, spelling: Spelling, max_tokens: int = MAX_REMEMBERED_TOKENS) -> None:
        self.char_encoder = char_encoder
        self.spelling = spelling
        self.max_tokens = max_tokens
        self._vectors: OrderedDict[Key, Float[Tensor, " D"]] = OrderedDict()

    @torch.no_grad()
    def distinct(self, sentences: Sequence[Sequence[str]]) -> tuple[Float[Tensor, "U D"], Int[Tensor, " N"]]:
        """Vectors (U,D) of the U distinct tokens, and the row (N,) of each token, over the concatenated sentences."""
        rows: dict[Key, int] = {}
        tokens: list[str] = []
        inverse: list[int] = []
        for sentence in sentences:
            for token in sentence:
                row = rows.setdefault(self.spelling.key(token), len(rows))
                if row == len(tokens):
                    tokens.append(token)
                inverse.append(row)
        vectors = self._vectors_of(dict(zip(rows, tokens, strict=True)))
        return vectors, torch.tensor(inverse, dtype=torch.long, device=vectors.device)

    def forget(self) -> None:
        """Drop all cached representations."""
        with STATE_LOCK:
            self._vectors.clear()

    def _vectors_of(self, spelling: dict[Key, str]) -> Float[Tensor, "U D"]:
        vectors: dict[Key, Tensor] = {}
        with STATE_LOCK:
            for key in spelling:
                if key in self._vectors:
                    self._vectors.move_to_end(key)
                    vectors[key] = self._vectors[key]
        new = {key: token for key, token in spelling.items() if key not in vectors}
        encoded = dict(zip(new, self._encode(list(new.values())), strict=True))
        vectors |= encoded
        with STATE_LOCK:
            self._vectors.update(encoded)
            while len(self._vectors) > self.max_tokens:
                self._vectors.popitem(last=False)
        if not spelling:
            return self.char_encoder.embedding.weight.new_zeros(0, self.char_encoder.output_dim)
        return torch.stack([vectors[key] for key in spelling])

    def _encode(self, tokens: Sequence[str]) -> list[Float[Tensor, " D"]]:
        device = self.char_encoder.embedding.weight.device
        vectors: list[Tensor] = []
        for start in range(0, len(tokens), CHUNK):
            ids = self.spelling.rows(tokens[start : start + CHUNK])
            # clones, so that a remembered vector does not keep the whole chunk alive
            vectors += [vector.clone() for vector in self.char_encoder(torch.from_numpy(ids).to(device))]
        return vectors
