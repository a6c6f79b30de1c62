"""Spans of the tokens of a document and their representations (Lee et al., 2017).

A document is a batch of sentences. Its N tokens are numbered consecutively without padding: `vectors[mask]` is (N,D).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor, nn

from elmokit.layers.tasks.attention import HeadAttention

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

# Smallest distance of each bucket except the first: 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64 and more.
_BUCKETS = (1, 2, 3, 4, 5, 8, 16, 32, 64)
NUM_DISTANCE_BUCKETS = len(_BUCKETS) + 1


@dataclass(frozen=True)
class Spans:
    """Positions in the document of the first and the last token of each span, both inclusive."""

    first: Int[Tensor, " S"]
    last: Int[Tensor, " S"]

    def bounds(self) -> list[tuple[int, int]]:
        """First and last token of each span, as Python numbers."""
        return list(zip(cast("list[int]", self.first.tolist()), cast("list[int]", self.last.tolist()), strict=True))


def enumerate_spans(mask: Bool[Tensor, "B T"], *, max_width: int) -> Spans:
    """All spans of at most `max_width` tokens within a sentence, ordered by first and then by last token."""
    lengths = mask.sum(dim=1)
    sentence_ends = lengths.cumsum(0).repeat_interleave(lengths)
    first = torch.arange(len(sentence_ends), device=mask.device)[:, None].expand(-1, max_width)
    last = first + torch.arange(max_width, device=mask.device)
    inside = last < sentence_ends[:, None]
    return Spans(first=first[inside], last=last[inside])


@torch.no_grad()
def prune_spans(spans: Spans, scores: Float[Tensor, " S"], *, max_spans: int) -> Int[Tensor, " K"]:
    """Indices of the spans to keep, ascending: at most `max_spans` with the best scores, none crossing a better one.

    Two spans cross if they share tokens and neither contains the other. Among equal scores the first span wins.
    """
    bounds = spans.bounds()
    last_from: dict[int, int] = {}  # first token of a kept span -> last token of the longest kept span from there
    first_to: dict[int, int] = {}
    kept: list[int] = []
    for index in cast("list[int]", scores.argsort(descending=True, stable=True).tolist()):
        if len(kept) >= max_spans:
            break
        first, last = bounds[index]
        if any(last_from.get(token, last) > last for token in range(first + 1, last + 1)):
            continue
        if any(first_to.get(token, first) < first for token in range(first, last)):
            continue
        kept.append(index)
        last_from[first] = max(last, last_from.get(first, last))
        first_to[last] = min(first, first_to.get(last, first))
    return torch.tensor(sorted(kept), dtype=torch.long, device=scores.device)


class SpanRepresentation(nn.Module):
    """`[first token; last token; width; soft head]` of each span, with 2D + `width_dim` + E features.

    The first two parts and the scores of the head come from the encoded tokens (N,D). The head itself comes from the
    embeddings (N,E).
    """

    def __init__(self, *, encoded_dim: int, max_width: int, width_dim: int, dropout_rate: float) -> None:
        super().__init__()
        self.widths: Final = nn.Embedding(max_width, width_dim)
        nn.init.xavier_uniform_(self.widths.weight)  # TensorFlow's default, as in Lee et al.'s code
        self.dropout: Final = nn.Dropout(dropout_rate)  # applied to the width feature
        self.head: Final = HeadAttention(dim=encoded_dim)

    def forward(
        self, encoded: Float[Tensor, "N D"], embedded: Float[Tensor, "N E"], spans: Spans
    ) -> Float[Tensor, "S K"]:
        heads = self.head(encoded, embedded, first=spans.first, last=spans.last)
        widths = self.dropout(self.widths(spans.last - spans.first))
        return torch.cat([encoded[spans.first], encoded[spans.last], widths, heads], dim=1)


def distance_buckets(distances: Int[Tensor, " ..."]) -> Int[Tensor, " ..."]:
    """Index, 0 to 9, of the bucket of each distance: 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64 and more."""
    return torch.bucketize(distances, torch.tensor(_BUCKETS, device=distances.device), right=True)
