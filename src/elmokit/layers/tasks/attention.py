"""Attention layers of the task models: ESIM, BiDAF with self-attention, BCN, and the head words of spans.

Padding never gets any weight. Where there is nothing to attend to, the result is zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the positions where the mask is True, zero elsewhere; all zeros if the mask is True nowhere."""
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1) * mask


def soft_align(
    premise: Float[Tensor, "B T D"],
    hypothesis: Float[Tensor, "B U D"],
    *,
    premise_mask: Bool[Tensor, "B T"],
    hypothesis_mask: Bool[Tensor, "B U"],
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B U D"]]:
    """For each token of either sentence, the mean of the other sentence weighted by `softmax(a . b)` (ESIM).

    Source: Chen et al. (2017).
    """
    pairs = _pairs(premise_mask, hypothesis_mask)
    scores = premise @ hypothesis.mT
    return masked_softmax(scores, pairs) @ hypothesis, masked_softmax(scores.mT, pairs.mT) @ premise


def biattention(sequence: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T 3*D"]:
    """`[x; x - c; x * c]` with `c = softmax(X X^T) X`: the biattention of BCN with one sentence as both inputs.

    A token also attends to itself (McCann et al., 2017, for classification).
    """
    context = masked_softmax(sequence @ sequence.mT, _pairs(mask, mask)) @ sequence
    return torch.cat([sequence, sequence - context, sequence * context], dim=2)


class SelfAttentivePooling(nn.Module):
    """One vector per sentence, (B,T,D) -> (B,D): its tokens weighted by the softmax of a learned score.

    Source: McCann et al. (2017).
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.score: Final = nn.Linear(dim, 1, bias=False)  # initialised as in AllenNLP's bcn; a bias would cancel

    def forward(self, values: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B D"]:
        weights = masked_softmax(self.score(values).squeeze(2), mask)
        return (weights[:, None] @ values).squeeze(1)


class TrilinearSimilarity(nn.Module):
    """`u . a + v . b + (w * a) . b` for every pair of tokens, (B,T,D) and (B,U,D) -> (B,T,U) (Seo et al., 2017)."""

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.left: Final = nn.Parameter(torch.empty(dim))
        self.right: Final = nn.Parameter(torch.empty(dim))
        self.product: Final = nn.Parameter(torch.empty(dim))
        limit = (3.0 / dim) ** 0.5  # Glorot-uniform with fans D and D, as Keras for vectors (Clark and Gardner's code)
        for weight in self.parameters():
            nn.init.uniform_(weight, -limit, limit)

    def forward(self, left: Float[Tensor, "B T D"], right: Float[Tensor, "B U D"]) -> Float[Tensor, "B T U"]:
        return (left * self.product) @ right.mT + (left @ self.left)[:, :, None] + (right @ self.right)[:, None]


class BidirectionalAttention(nn.Module):
    """BiDAF's attention between context c and question q, `[c; q~; c * q~; c * c~]` (Seo et al., 2017).

    `q~` is the question as each context token attends to it. `c~`, one vector for all tokens, is the context weighted
    by the softmax of each token's largest similarity to the question.
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.similarity: Final = TrilinearSimilarity(dim=dim)

    def forward(
        self,
        context: Float[Tensor, "B T D"],
        question: Float[Tensor, "B U D"],
        *,
        context_mask: Bool[Tensor, "B T"],
        question_mask: Bool[Tensor, "B U"],
    ) -> Float[Tensor, "B T 4*D"]:
        pairs = _pairs(context_mask, question_mask)
        scores = self.similarity(context, question)
        to_question = masked_softmax(scores, pairs) @ question
        largest = scores.masked_fill(~pairs, torch.finfo(scores.dtype).min).amax(dim=2)
        to_context = masked_softmax(largest, context_mask)[:, None] @ context
        return torch.cat([context, to_question, context * to_question, context * to_context], dim=2)


class SelfAttention(nn.Module):
    """`[a; x; a * x]`: each token attends to the other tokens, or partly to nothing (Clark and Gardner, 2017).

    The similarity is trilinear. A token does not attend to itself, and the softmax includes a learned score of
    attending to "nothing" (their code adds `exp(bias)` to the sum in the denominator).
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.similarity: Final = TrilinearSimilarity(dim=dim)
        self.nothing: Final = nn.Parameter(torch.tensor(-1.0))  # the initial value in their code

    def forward(self, sequence: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T 3*D"]:
        pairs = _pairs(mask, mask)
        others = pairs & ~torch.eye(pairs.shape[2], dtype=torch.bool, device=pairs.device)
        scores = self.similarity(sequence, sequence)
        scores = torch.cat([scores, self.nothing.expand(*mask.shape, 1)], dim=2)
        weights = masked_softmax(scores, functional.pad(others, (0, 1), value=True))[:, :, :-1]
        attended = weights @ sequence
        return torch.cat([attended, sequence, attended * sequence], dim=2)


class HeadAttention(nn.Module):
    """A soft head word for each span: the embeddings of its tokens weighted by learned scores (Lee et al., 2017).

    The scores are linear in the encoded tokens (N,D), as in their code; the paper uses a feed-forward network.
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.score: Final = nn.Linear(dim, 1, bias=False)  # a bias would cancel in the softmax
        nn.init.xavier_uniform_(self.score.weight)  # TensorFlow's default, as in their code

    def forward(
        self,
        encoded: Float[Tensor, "N D"],
        embedded: Float[Tensor, "N E"],
        *,
        first: Int[Tensor, " S"],
        last: Int[Tensor, " S"],
    ) -> Float[Tensor, "S E"]:
        """Head word vectors (S,E) of S spans; `first` and `last` are token positions in the document, inclusive."""
        offsets = torch.arange(int((last - first).max()) + 1, device=first.device)
        positions = first[:, None] + offsets
        inside = positions <= last[:, None]
        positions = torch.where(inside, positions, last[:, None])
        weights = masked_softmax(self.score(encoded).squeeze(1)[positions], inside)
        # Weighted sums without the (S, width, E) tensor, which would be large: there are ten spans per token.
        return functional.embedding_bag(positions, embedded, per_sample_weights=weights, mode="sum")


def _pairs(left_mask: Bool[Tensor, "B T"], right_mask: Bool[Tensor, "B U"]) -> Bool[Tensor, "B T U"]:
    return left_mask[:, :, None] & right_mask[:, None]
