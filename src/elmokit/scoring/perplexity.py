"""Perplexity of a biLM with the full softmax: forward, backward and mean, n + 1 predictions for a sentence of n words.

By default each sentence starts from a zero state, so the perplexity can be compared with an n-gram model's. With
carried state, it is measured as in the released tool (bilm-tf's `test`): 256 parallel rows read the file in order, and
their states pass from sentence to sentence. This ends when a row needs another sentence and none is left. The rest of
the other rows is not predicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from elmokit.corpus.batches import Packer, packed_batches
from elmokit.corpus.manifest import held_out_file
from elmokit.corpus.stream import SentenceStream
from elmokit.elmo.elmo import Elmo
from elmokit.elmo.surprisal import SENTENCES_AT_ONCE, SurprisalModel
from elmokit.files.atomic import as_paths
from elmokit.files.lines import is_read_once
from elmokit.layers.devices import without_autocast
from elmokit.layers.full_softmax import full_softmax_predictions
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.packed_bilm import PackedBiLM
from elmokit.system.progress_bar import progress_bar
from elmokit.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from jaxtyping import Float, Int

CARRIED_ROWS = 256  # parallel rows of the released tool's evaluation


@dataclass(frozen=True)
class DirectionPerplexity:
    """Perplexity of one direction over all targets, and over all targets except UNK."""

    perplexity: float
    perplexity_without_unknown: float


@dataclass(frozen=True)
class Perplexity:
    """Perplexities and counts of one text. `backward` is None for a model without a backward direction."""

    forward: DirectionPerplexity
    backward: DirectionPerplexity | None
    num_sentences: int | None
    """Number of sentences. None with carried state, because that does not stop at the end of a sentence."""
    num_predictions: int
    """Number of predictions per direction."""
    num_unknown: int
    """Number of predictions of the forward direction whose target is UNK."""
    num_tokens_in_vocabulary: int
    carried_state: bool
    num_left_out: int = 0
    """Predictions per direction that carried state left out because the first row had run out of text."""

    @property
    def directions(self) -> list[DirectionPerplexity]:
        """The directions of the model, forward first."""
        return [self.forward] if self.backward is None else [self.forward, self.backward]

    @property
    def mean(self) -> float:
        """Mean of the perplexities of both directions, as the paper reports it."""
        return sum(side.perplexity for side in self.directions) / len(self.directions)

    @property
    def unknown_rate(self) -> float:
        """Share, from 0 to 1, of the forward predictions whose target is UNK."""
        return self.num_unknown / self.num_predictions


@dataclass(frozen=True, eq=False)
class TokenLosses:
    """Losses of one direction by target: a sum and a count for every token of the vocabulary, ordered by id."""

    losses: Float[np.ndarray, " V"]
    """Sums of the losses, in nats."""
    counts: Int[np.ndarray, " V"]
    """Numbers of predictions."""


@dataclass(frozen=True, eq=False)
class TextLosses:
    """Losses of a text. Perplexity and its breakdown are computed from them."""

    directions: tuple[TokenLosses, ...]
    """Forward, then backward if the model has a backward direction."""
    vocabulary: Vocabulary
    num_sentences: int | None
    """Number of sentences; None with carried state."""
    carried_state: bool
    num_left_out: int = 0

    def perplexity(self) -> Perplexity:
        """The perplexities and counts of the text."""
        unknown = self.vocabulary.unknown_id
        sides = [_direction_perplexity(direction, unknown) for direction in self.directions]
        forward = self.directions[0]
        return Perplexity(
            forward=sides[0],
            backward=sides[1] if len(sides) > 1 else None,
            num_sentences=self.num_sentences,
            num_predictions=int(forward.counts.sum()),
            num_unknown=int(forward.counts[unknown]),
            num_tokens_in_vocabulary=len(self.vocabulary),
            carried_state=self.carried_state,
            num_left_out=self.num_left_out,
        )


def perplexity(
    model: str | Path,
    shards: Iterable[str | Path],
    *,
    raw_text: bool = False,
    column: str | None = None,
    as_text: bool = False,
    carry_state: bool = False,
    weights: str | Path | None = None,
    device: str | torch.device | None = None,
) -> Perplexity:
    """Perplexity of a stored model (folder, run, or options + weights) on text with one sentence per line.

    shards: files, or a folder from `prepare` (its held-out text is read).
    raw_text: whether to tokenise the lines; otherwise their tokens are separated by spaces.
    column: column of JSON lines or of tables with tabs or commas, or `form` in CoNLL-U. Its texts are the sentences.
    as_text: whether to read files as text, even if they look like something else, such as a table.
    device: by default the GPU if there is one.
    Raises ValueError if the model has no softmax or no vocabulary, if the text is empty, and if the device is missing.
    """
    texts = list(map(held_out_file, as_paths(shards)))
    scored = Elmo.from_pretrained(model, weights, device=device).surprisal_model()
    sentences = each_text_once(texts, raw_text=raw_text, column=column, as_text=as_text, is_shard=False)
    with progress_bar(unit=" predictions", scale=True, keep=False) as bar:
        return text_losses(scored, sentences, carry_state=carry_state, when_done=bar.update).perplexity()


def bilm_perplexity(bilm: BiLM, softmax: Softmax, vocabulary: Vocabulary, shards: Sequence[Path]) -> Perplexity:
    """Perplexity of a model in memory, in any mode; see `perplexity`."""
    packed = PackedBiLM(bilm.config, bilm.state_dict(), spelling=bilm.spelling)
    scored = SurprisalModel(packed, softmax, vocabulary)
    return text_losses(scored, each_text_once(shards, as_text=True)).perplexity()


def each_text_once(shards: Sequence[Path], **how: Any) -> Callable[..., SentenceStream]:
    """A function that opens a stream of all sentences of the texts, in order. `how` is as in `SentenceStream`."""
    return partial(SentenceStream, shards, shuffle=False, num_epochs=1, **how)


def text_losses(
    scored: SurprisalModel,
    sentences: Callable[..., SentenceStream],
    *,
    carry_state: bool = False,
    when_done: Callable[[int], object] | None = None,
) -> TextLosses:
    """Losses of a text, by direction and target.

    when_done: called with the number of new predictions.
    With carried state, the model's warnings look only at the start of the text. They are needed because words that the
    model has never read become UNK, which may be easy to predict.
    """
    shards = sentences().shards
    if carry_state and (piped := [path for path in shards if is_read_once(path)]):
        raise ValueError(
            f"{piped[0]} can be read only once, but with carried state each direction reads it; give a file"
        )
    size = len(scored.vocabulary)
    sums = tuple(TokenLosses(np.zeros(size), np.zeros(size, np.int64)) for _ in scored.packed.lstms)
    num_sentences: int | None = None
    num_left_out = 0

    def add(direction: int, losses: Float[Tensor, " N"], targets: Int[Tensor, " N"]) -> None:
        ids = targets.cpu().numpy()
        np.add.at(sums[direction].losses, ids, losses.cpu().double().numpy())
        np.add.at(sums[direction].counts, ids, 1)
        if direction == 0 and when_done is not None:
            when_done(len(targets))

    if carry_state:
        if scored.text_warnings is not None:
            scored.text_warnings.check(list(islice(sentences(warn=True), SENTENCES_AT_ONCE)))
        with torch.inference_mode(), without_autocast(scored.softmax.weight.device):
            for direction, losses, targets in _carried(scored, sentences):
                add(direction, losses, targets)
        num_left_out = sum(len(tokens) + 1 for tokens in sentences()) - int(sums[0].counts.sum())
    else:
        num_sentences = 0
        for predicted, sides in scored.predict(sentences(warn=scored.text_warnings is not None)):
            num_sentences += len(predicted)
            for direction, side in sides.items():
                add(direction, side.found.losses, side.targets)
    if not sums[0].counts.any():
        missing = "at least one sentence"
        if carry_state:
            missing = f"at least {CARRIED_ROWS} sentences (elmokit surprisal --carry-state reads fewer, one by one)"
        raise ValueError(f"{', '.join(map(str, shards))}: too little text; expected {missing}")
    return TextLosses(sums, scored.vocabulary, num_sentences, carry_state, num_left_out)


def join_texts(text: TextLosses, other: TextLosses) -> TextLosses:
    """Losses of two texts as if they were one. Both must be from the same model, both with or without carried state."""
    directions = tuple(
        TokenLosses(one.losses + two.losses, one.counts + two.counts)
        for one, two in zip(text.directions, other.directions, strict=True)
    )
    counts = (text.num_sentences, other.num_sentences)
    num_sentences = None if counts[0] is None or counts[1] is None else counts[0] + counts[1]
    left_out = text.num_left_out + other.num_left_out
    return replace(text, directions=directions, num_sentences=num_sentences, num_left_out=left_out)


def exp_of_loss(nats: float) -> float:
    """`exp`, but returns infinity instead of overflowing, so that a diverged model still gets a table."""
    return math.inf if nats > 709 else math.exp(nats)


def _direction_perplexity(direction: TokenLosses, unknown_id: int) -> DirectionPerplexity:
    known_losses, known_counts = np.delete(direction.losses, unknown_id), np.delete(direction.counts, unknown_id)
    return DirectionPerplexity(
        exp_of_loss(float(direction.losses.sum() / direction.counts.sum())),
        exp_of_loss(float(known_losses.sum() / known_counts.sum())) if known_counts.any() else math.nan,
    )


def _carried(
    scored: SurprisalModel, sentences: Callable[[], SentenceStream]
) -> Iterator[tuple[int, Float[Tensor, " B"], Int[Tensor, " B"]]]:
    """(direction, losses, targets) of parallel rows, one token per step. Their states are never reset."""
    packed, softmax = scored.packed, scored.softmax
    packers = [
        Packer(sentences(), scored.vocabulary, rows=[list[str]()] * CARRIED_ROWS, bptt_steps=1, backward=index == 1)
        for index in range(len(packed.lstms))
    ]
    states = packed.zero_state(CARRIED_ROWS)
    device = packed.char_encoder.embedding.weight.device
    rows = torch.arange(CARRIED_ROWS, device=softmax.weight.device)
    for batch in packed_batches(packers, spelling=packed.token_cache.spelling):
        tokens = packed.char_encoder(torch.from_numpy(batch.character_ids).to(device))
        for index, (lstm, part) in enumerate(zip(packed.lstms, batch.directions, strict=True)):
            index_of = torch.from_numpy(part.tokens).flatten().to(device)
            outputs = lstm(tokens, index_of, [CARRIED_ROWS], states[index])  # the state is overwritten
            hidden, targets = outputs[-1].to(softmax.weight.dtype), torch.from_numpy(part.targets).flatten().to(device)
            yield index, full_softmax_predictions(hidden, softmax, contexts=rows, targets=targets).losses, targets
