"""Perplexity of a biLM with the full softmax: forward, backward and mean, n + 1 predictions for a sentence of n words.

Each sentence by itself is what an n-gram model is measured on; carrying the state from sentence to sentence is what the
released tool does (bilm-tf's `test`: 256 parallel rows in file order, the incomplete last batch left out).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import Softmax, full_softmax_losses
from elmokit.model.bilm import BiLM
from elmokit.model.elmo import batches_by_length
from elmokit.model.formats.read import read_bilm
from elmokit.model.token_encoder import TokenEncoder
from elmokit.pretraining.batches import Packer, batches
from elmokit.pretraining.corpus import SentenceStream
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from jaxtyping import Float, Int

SENTENCES_AT_ONCE = 4096  # read and sorted by length together
SENTENCES_PER_BATCH = 64
CARRIED_ROWS = 256  # parallel rows of the released tool's evaluation


@dataclass(frozen=True)
class DirectionPerplexity:
    """`perplexity` over all targets, and over those that are not UNK."""

    perplexity: float
    perplexity_without_unknown: float


@dataclass(frozen=True)
class Perplexity:
    """Perplexities of one text, in both directions (`backward` is None of a forward model), and what was counted."""

    forward: DirectionPerplexity
    backward: DirectionPerplexity | None
    num_sentences: int | None
    """None with carried state, which does not stop at a sentence's end."""
    num_predictions: int
    """Per direction."""
    num_unknown: int
    """Predictions of the forward direction whose target is UNK."""
    num_tokens_in_vocabulary: int
    carried_state: bool

    @property
    def mean(self) -> float:
        """Mean of both directions' perplexities, as the paper reports it."""
        sides = [self.forward] if self.backward is None else [self.forward, self.backward]
        return sum(side.perplexity for side in sides) / len(sides)

    @property
    def unknown_rate(self) -> float:
        return self.num_unknown / self.num_predictions

    def text(self) -> str:
        """A few lines for people."""
        rows = [("forward", self.forward)] + ([] if self.backward is None else [("backward", self.backward)])
        lines = [f"{'':10}{'perplexity':>12}{'without UNK':>14}"]
        for name, side in rows:
            lines.append(f"{name:10}{side.perplexity:12.2f}{side.perplexity_without_unknown:14.2f}")
        lines.append(f"{'mean':10}{self.mean:12.2f}")
        sentences = "" if self.num_sentences is None else f"{self.num_sentences:,} sentences, "
        lines.append(
            f"{sentences}{self.num_predictions:,} predictions a direction, {self.num_unknown:,} of UNK "
            f"({self.unknown_rate:.2%}), vocabulary {self.num_tokens_in_vocabulary:,}, "
            f"{'state carried' if self.carried_state else 'each sentence by itself'}"
        )
        return "\n".join(lines)


def measure(model: str, shards: Sequence[Path], *, carry_state: bool = False, weights: str | None = None) -> Perplexity:
    """Perplexity of a stored model (folder, run, or options + weights) on text shards, one tokenised sentence a line.

    Raises ValueError when the model has no softmax or no vocabulary, and when the text is empty.
    """
    bilm, softmax, vocabulary = read_bilm(model, options=weights, with_softmax=True)
    if softmax is None or vocabulary is None:
        missing = "softmax" if softmax is None else "vocabulary"
        raise ValueError(
            f"{model} has no {missing}; perplexity needs the softmax and the vocabulary it was trained with"
        )
    bilm.eval()
    return perplexity(bilm, softmax, vocabulary, shards, carry_state=carry_state)


def perplexity(
    bilm: BiLM, softmax: Softmax, vocabulary: Vocabulary, shards: Sequence[Path], *, carry_state: bool = False
) -> Perplexity:
    """Perplexity of a model in memory; see `measure`."""
    sums = [_Sum(vocabulary.unknown_id) for _ in range(bilm.config.num_directions)]
    stream = SentenceStream(shards, shuffle=False, num_epochs=1)
    num_sentences: int | None = None
    with torch.no_grad():
        if carry_state:
            for direction, hidden, targets in _carried(bilm, vocabulary, shards):
                sums[direction].add(full_softmax_losses(hidden, softmax, targets=targets), targets)
        else:
            num_sentences = 0
            encode = TokenEncoder(bilm)
            for sentences in _chunks(stream):
                num_sentences += len(sentences)
                for direction, hidden, targets in _alone(bilm, encode, vocabulary, sentences):
                    sums[direction].add(full_softmax_losses(hidden, softmax, targets=targets), targets)
    if sums[0].count == 0:
        raise ValueError(
            f"{', '.join(map(str, shards))}: too little text; "
            + (f"with carried state at least {CARRIED_ROWS} tokens are needed" if carry_state else "no sentence in it")
        )
    return Perplexity(
        forward=sums[0].result(),
        backward=sums[1].result() if len(sums) > 1 else None,
        num_sentences=num_sentences,
        num_predictions=sums[0].count,
        num_unknown=sums[0].count - sums[0].known_count,
        num_tokens_in_vocabulary=len(vocabulary),
        carried_state=carry_state,
    )


class _Sum:
    """Running totals of losses, over all targets and over the known ones."""

    def __init__(self, unknown_id: int) -> None:
        self.unknown_id = unknown_id
        self.total = self.known_total = 0.0
        self.count = self.known_count = 0

    def add(self, losses: Float[Tensor, " N"], targets: Int[Tensor, " N"]) -> None:
        known = losses[targets != self.unknown_id]
        self.total += float(losses.sum(dtype=torch.float64))
        self.known_total += float(known.sum(dtype=torch.float64))
        self.count += len(losses)
        self.known_count += len(known)

    def result(self) -> DirectionPerplexity:
        known = math.exp(self.known_total / self.known_count) if self.known_count else math.nan
        return DirectionPerplexity(math.exp(self.total / self.count), known)


def _chunks(sentences: Iterable[list[str]]) -> Iterator[list[list[str]]]:
    chunk: list[list[str]] = []
    for sentence in sentences:
        chunk.append(sentence)
        if len(chunk) == SENTENCES_AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _alone(
    bilm: BiLM, encode: TokenEncoder, vocabulary: Vocabulary, sentences: list[list[str]]
) -> Iterator[tuple[int, Float[Tensor, "N D"], Int[Tensor, " N"]]]:
    """(direction, top activations, targets) of sentences that start from zeros, those of similar length together."""
    dim = bilm.config.projection_dim
    bounded = [[BEGIN_SENTENCE, *sentence, END_SENTENCE] for sentence in sentences]
    for batch in batches_by_length([len(sentence) for sentence in bounded], batch_size=SENTENCES_PER_BATCH):
        group = [bounded[index] for index in batch]
        output = bilm.contextualise(*encode(group))
        top = output.layers[-1]
        targets = nn.utils.rnn.pad_sequence(
            [torch.from_numpy(vocabulary.ids(sentence)) for sentence in group], batch_first=True
        )
        inside = output.mask[:, 1:]  # forward: what position k says of k + 1; backward: what k + 1 says of k
        yield 0, top[:, :-1, :dim][inside], targets[:, 1:][inside]
        if bilm.config.bidirectional:
            yield 1, top[:, 1:, dim:][inside], targets[:, :-1][inside]


def _carried(
    bilm: BiLM, vocabulary: Vocabulary, shards: Sequence[Path]
) -> Iterator[tuple[int, Float[Tensor, "N D"], Int[Tensor, " N"]]]:
    """The same of parallel rows, one token a step, whose states are never reset."""
    lstms = [lstm for lstm in (bilm.forward_lstm, bilm.backward_lstm) if lstm is not None]
    packers = [
        Packer(
            SentenceStream(shards, shuffle=False, num_epochs=1),
            vocabulary,
            batch_size=CARRIED_ROWS,
            bptt_steps=1,
            backward=index == 1,
        )
        for index in range(len(lstms))
    ]
    states: list[list[LSTMState] | None] = [None] * len(lstms)
    for batch in batches(packers, max_characters_per_token=bilm.config.max_characters_per_token):
        tokens = bilm.encode_tokens(torch.from_numpy(batch.character_ids))
        for index, (lstm, part) in enumerate(zip(lstms, batch.directions, strict=True)):
            outputs, states[index] = lstm(tokens[torch.from_numpy(part.words)], states[index])
            yield index, outputs[-1].flatten(0, 1), torch.from_numpy(part.targets).flatten()
