"""Linear-chain CRF (Lafferty et al., 2001), Viterbi decoding, and which label may follow which in BIO and BIOUL.

Matrices of label pairs are (K+1,K+1), from row to column. Index K is the boundary of the sentence: row K is about
labels of first tokens, column K about labels of last tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


class CRF(nn.Module):
    """Learned scores of label pairs, added to the label scores (B,T,K) of each token.

    Pairs with the boundary score 0, as in AllenNLP's tagger for the paper.
    """

    def __init__(self, *, num_labels: int) -> None:
        super().__init__()
        self.transitions: Final = nn.Parameter(torch.empty(num_labels, num_labels))
        nn.init.xavier_normal_(self.transitions)  # as AllenNLP's ConditionalRandomField

    def log_likelihood(
        self, scores: Float[Tensor, "B T K"], mask: Bool[Tensor, "B T"], *, labels: Int[Tensor, "B T"]
    ) -> Float[Tensor, " B"]:
        """Log probability of each sentence's labels among all label sequences, including illegal ones.

        Labels of padding are ignored. AllenNLP's loss is the negative sum over the batch.
        """
        transitions = self._with_boundary()
        return _score(scores, mask, labels, transitions) - _log_partition(scores, mask, transitions)

    def decode(
        self, scores: Float[Tensor, "B T K"], mask: Bool[Tensor, "B T"], *, allowed: Bool[Tensor, "K+1 K+1"]
    ) -> list[list[int]]:
        """The most probable label sequence of each sentence; see `viterbi`."""
        return viterbi(scores, mask, transitions=self._with_boundary(), allowed=allowed)

    def _with_boundary(self) -> Float[Tensor, "M M"]:
        return functional.pad(self.transitions, (0, 1, 0, 1))


@torch.no_grad()
def viterbi(
    scores: Float[Tensor, "B T K"],
    mask: Bool[Tensor, "B T"],
    *,
    allowed: Bool[Tensor, "K+1 K+1"],
    transitions: Float[Tensor, "K+1 K+1"] | None = None,
) -> list[list[int]]:
    """For each sentence, the label sequence with the largest sum of scores and transitions (zero if not given).

    Considers only sequences of allowed pairs; there must be at least one of each length.
    """
    if transitions is None:
        transitions = scores.new_zeros(allowed.shape)
    transitions = transitions.masked_fill(~allowed, -torch.inf)

    stay = torch.arange(scores.shape[2], device=scores.device)
    best = scores[:, 0] + transitions[-1, :-1]
    pointers: list[Tensor] = []
    for step in range(1, scores.shape[1]):
        alive = mask[:, step, None]
        reached, previous = (best[:, :, None] + transitions[:-1, :-1]).max(dim=1)
        best = torch.where(alive, reached + scores[:, step], best)
        pointers.append(torch.where(alive, previous, stay))
    path = [(best + transitions[:-1, -1]).max(dim=1).indices]
    for previous in reversed(pointers):
        path.append(previous.gather(1, path[-1][:, None]).squeeze(1))
    rows = cast("list[list[int]]", torch.stack(path[::-1], dim=1).tolist())
    return [row[:length] for row, length in zip(rows, cast("list[int]", mask.sum(dim=1).tolist()), strict=True)]


def bio_transitions(labels: Sequence[str]) -> Bool[Tensor, "M M"]:
    """Label pairs that BIO allows: `I-X` only after `B-X` or `I-X`."""

    def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
        return after[0] != "I" or (before[0] in "BI" and before[1] == after[1])

    return _allowed(labels, follows)


def bioul_transitions(labels: Sequence[str]) -> Bool[Tensor, "M M"]:
    """Label pairs that BIOUL allows: only `I-X` or `L-X` after `B-X` or `I-X`, and these two nowhere else."""

    def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
        if before[0] in "BI":
            return after[0] in "IL" and before[1] == after[1]
        return after[0] not in "IL"

    return _allowed(labels, follows)


def _allowed(labels: Sequence[str], follows: Callable[[tuple[str, str], tuple[str, str]], bool]) -> Bool[Tensor, "M M"]:
    parts = [(label[:1], label[2:]) for label in labels]
    parts.append(("O", ""))  # the boundary: a label that may follow or precede O may also start or end a sentence
    return torch.tensor([[follows(before, after) for after in parts] for before in parts])


def _score(
    scores: Float[Tensor, "B T K"],
    mask: Bool[Tensor, "B T"],
    labels: Int[Tensor, "B T"],
    transitions: Float[Tensor, "K+1 K+1"],
) -> Float[Tensor, " B"]:
    """Unnormalised score of the labels. Padding counts as boundary; the pair (boundary, boundary) scores 0."""
    tokens = scores.gather(2, labels.masked_fill(~mask, 0)[..., None]).squeeze(2) * mask
    path = functional.pad(labels.masked_fill(~mask, scores.shape[2]), (1, 1), value=scores.shape[2])
    return tokens.sum(dim=1) + transitions[path[:, :-1], path[:, 1:]].sum(dim=1)


def _log_partition(
    scores: Float[Tensor, "B T K"], mask: Bool[Tensor, "B T"], transitions: Float[Tensor, "K+1 K+1"]
) -> Float[Tensor, " B"]:
    """Log of the sum of `e^score` over all sequences (forward algorithm); 0 for a sentence without tokens."""
    total = scores[:, 0] + transitions[-1, :-1]
    for step in range(1, scores.shape[1]):
        reached = (total[:, :, None] + transitions[:-1, :-1]).logsumexp(dim=1) + scores[:, step]
        total = torch.where(mask[:, step, None], reached, total)
    return (total + transitions[:-1, -1]).logsumexp(dim=1) * mask[:, 0]
