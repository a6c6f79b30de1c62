"""Surprisal: how many bits each token of a sentence costs a language model, in each direction, with the full softmax.

A sentence of T tokens has T + 1 targets in each direction, as in `elmokit perplexity`. The forward direction predicts
the tokens and then `</S>`. The backward direction predicts the tokens from last to first and then `<S>`. A context that
occurs several times (such as the common beginning of two sentences) goes through the softmax once. Perplexity is
computed here too: it is the mean of the same predictions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, tee
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import torch

from elmokit.elmo.encoding import TOKENS_AT_ONCE, batches_by_length
from elmokit.files.lines import NOT_IN_A_TOKEN
from elmokit.layers.devices import for_inference, without_autocast
from elmokit.layers.full_softmax import SoftmaxDetails, SoftmaxPredictions, full_softmax_predictions
from elmokit.system.batches import batched
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from numpy.typing import NDArray
    from torch import Tensor

    from elmokit.elmo.text_warnings import TextWarnings
    from elmokit.layers.packed.lstm import PackedState
    from elmokit.layers.sampled_softmax import Softmax
    from elmokit.model.packed_bilm import PackedBiLM, State
    from elmokit.text.vocabulary import Vocabulary

Direction = Literal["forward", "backward", "both"]
Unit = Literal["bits", "nats"]
Likeliest = list[tuple[str, float]]
"""Tokens with their probabilities, the likeliest first."""

SENTENCES_AT_ONCE = 4096  # sentences whose contexts are compared with each other
SENTENCES_PER_BATCH = 128


@dataclass(frozen=True)
class SurprisalSettings:
    """What to compute for each token, and how to read the text."""

    direction: Direction = "both"
    """If the model has no backward direction, `both` means forward only."""
    details: SoftmaxDetails = field(default_factory=SoftmaxDetails)
    carry_state: bool = False
    """Whether each sentence continues the one before it, as in a story. An empty sentence starts a new story."""

    def __post_init__(self) -> None:
        if self.direction not in ("forward", "backward", "both"):
            raise ValueError(f"direction is {self.direction!r}; expected forward, backward or both")


@dataclass(frozen=True, eq=False)
class DirectionSurprisal:
    """The predictions of one direction for a sentence of T tokens.

    Every array and list has T + 1 items in the order of the text. The forward direction ends with the item for `</S>`,
    the backward direction begins with the item for `<S>`. Anything that was not requested is None.
    """

    bits: Float[np.ndarray, " P"]
    """Surprisal of each target, in bits."""
    ranks: Int[np.ndarray, " P"] | None
    """1 where the target was the likeliest token of the vocabulary."""
    entropies: Float[np.ndarray, " P"] | None
    """Entropy of the distribution that predicted each target, in bits."""
    likeliest: list[Likeliest] | None
    """The likeliest tokens at the place of each target."""


@dataclass(frozen=True, eq=False)
class SentenceSurprisal:
    """Surprisal of a sentence of T tokens, in bits."""

    tokens: list[str]
    known: Bool[np.ndarray, " T"]
    """False for a token that is not in the vocabulary. It gets the surprisal of `<UNK>`."""
    forward: DirectionSurprisal | None
    """None if it was not requested."""
    backward: DirectionSurprisal | None
    """None if it was not requested, or if the model has no backward direction."""

    @property
    def directions(self) -> dict[str, DirectionSurprisal]:
        """The directions that were computed, by name, forward first."""
        sides = {"forward": self.forward, "backward": self.backward}
        return {name: side for name, side in sides.items() if side is not None}

    def bits(self, direction: str = "forward") -> Float[np.ndarray, " T"]:
        """Bits of each token, without the sentence boundary. Raises ValueError if the direction was not computed."""
        side = self._side(direction)
        return side.bits[:-1] if direction == "forward" else side.bits[1:]

    def log2_probability(self, direction: str = "forward") -> float:
        """Log2 of the probability of the sentence and its boundary: minus the sum of all bits of the direction."""
        return 0.0 - float(self._side(direction).bits.sum())  # not -0

    def _side(self, direction: str) -> DirectionSurprisal:
        if direction not in self.directions:
            raise ValueError(f"direction is {direction!r}; expected a computed one: {', '.join(self.directions)}")
        return self.directions[direction]


@dataclass(frozen=True, eq=False)
class ConditionalSurprisal:
    """Surprisal of one part of a sentence given the other part. The other part's tokens are read but not counted.

    The forward direction reads `<S>` and the prefix, and predicts the continuation. The backward direction reads `</S>`
    and the continuation, last token first, and predicts the prefix. Boundaries are not counted.
    """

    prefix: list[str]
    continuation: list[str]
    whole: SentenceSurprisal
    """The prefix and the continuation as one sentence."""

    def bits(self, direction: str = "forward") -> Float[np.ndarray, " T"]:
        """Bits of each token of the continuation or, in the backward direction, of the prefix.

        Raises ValueError if the direction was not computed.
        """
        bits = self.whole.bits(direction)
        return bits[len(self.prefix) :] if direction == "forward" else bits[: len(self.prefix)]

    def total(self, direction: str = "forward", *, unit: Unit = "bits") -> float:
        """The sum of `bits`, in bits or nats: minus the log probability of one part given the other.

        Raises ValueError for another unit, and for a direction that was not computed.
        """
        if unit not in ("bits", "nats"):
            raise ValueError(f"unit is {unit!r}; expected bits or nats")
        return float(self.bits(direction).sum()) * (math.log(2) if unit == "nats" else 1.0)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of one direction for the N targets of several sentences, in the order of the text."""

    targets: Int[Tensor, " N"]
    """Ids of the targets."""
    contexts: Int[np.ndarray, " N"]
    """For each target, the index of its context in `found`. Each distinct context is there once."""
    found: SoftmaxPredictions


class SurprisalModel:
    """A packed biLM with its softmax and vocabulary. It reads any number of sentences in constant memory.

    A softmax on another device is copied to the device of the biLM. The original stays where it is.
    """

    def __init__(
        self, packed: PackedBiLM, softmax: Softmax, vocabulary: Vocabulary, text_warnings: TextWarnings | None = None
    ) -> None:
        """text_warnings: checks the text; None for text that was checked before."""
        self.packed = packed
        self.softmax: Softmax = softmax.on(packed.char_encoder.embedding.weight.device)
        self.vocabulary = vocabulary
        self.text_warnings = text_warnings

    def read(
        self,
        sentences: Iterable[Sequence[str]],
        settings: SurprisalSettings | None = None,
        *,
        first_sizes: Iterable[int] = (),
    ) -> Iterator[SentenceSurprisal]:
        """The surprisal of each sentence of tokens, in order.

        first_sizes: how many sentences to read and predict together at first. Small numbers give results soon. Later,
            a few thousand sentences are read together.
        Raises ValueError for the backward direction of a model that has none, and for a token with white space in it.
        """
        for chunk, sides in self.predict(sentences, settings, first_sizes=first_sizes):
            lengths = [len(sentence) + 1 for sentence in chunk]
            by_way = {way: self._split(side, lengths) for way, side in sides.items()}
            for index, sentence in enumerate(chunk):
                known = self.vocabulary.ids(sentence) != self.vocabulary.unknown_id  # a literal `<UNK>` is unknown too
                forward, backward = (by_way[way][index] if way in by_way else None for way in (0, 1))
                yield SentenceSurprisal(list(sentence), known, forward, backward)

    def read_conditional(
        self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]], direction: Direction = "both"
    ) -> Iterator[ConditionalSurprisal]:
        """The surprisal of each pair (prefix, continuation), given as lists of tokens, in order.

        Raises ValueError for a continuation without tokens, and as `read` does.
        """
        split, whole = tee(pairs)
        results = self.read(([*prefix, *continuation] for prefix, continuation in whole), SurprisalSettings(direction))
        for number, ((prefix, continuation), result) in enumerate(zip(split, results, strict=True)):
            if not continuation:
                raise ValueError(f"the continuation of pair {number} has no tokens; expected at least one")
            yield ConditionalSurprisal(list(prefix), list(continuation), result)

    def predict(
        self,
        sentences: Iterable[Sequence[str]],
        settings: SurprisalSettings | None = None,
        *,
        first_sizes: Iterable[int] = (),
    ) -> Iterator[tuple[list[Sequence[str]], dict[int, Predictions]]]:
        """Consecutive sentences, a few thousand at a time, with the predictions of each direction (0 is forward)."""
        settings = settings or SurprisalSettings()
        directions = self._directions(settings.direction)
        state: State | None = None
        for chunk in _chunks(iter(sentences), first_sizes):
            _check_tokens(chunk)
            if self.text_warnings is not None:
                self.text_warnings.check(chunk)
            if settings.carry_state:
                contexts, state = self._read_in_order(chunk, state, directions)
            else:
                contexts = self._read_alone(chunk, directions)
            yield chunk, {way: self._predictions(chunk, *contexts[way], way, settings.details) for way in directions}

    def _directions(self, direction: Direction) -> list[int]:
        has_backward = self.packed.config.bidirectional
        if direction == "backward" and not has_backward:
            raise ValueError("the model has no backward direction; ask for the forward one")
        return [0] * (direction != "backward") + [1] * (direction != "forward" and has_backward)

    def _read_alone(self, sentences: list[Sequence[str]], directions: list[int]) -> dict[int, _Contexts]:
        """Hidden states of the distinct contexts of sentences. Each sentence starts from a zero state."""
        nodes = {way: _distinct_contexts(sentences, backward=way == 1) for way in directions}
        after_boundary = self.packed.boundary_outputs
        hidden = {way: after_boundary.new_empty(nodes[way][0], after_boundary.shape[1]) for way in directions}
        lengths = [len(sentence) for sentence in sentences]
        for way in directions:
            hidden[way][0] = after_boundary[way]
        for batch in batches_by_length(lengths, batch_size=SENTENCES_PER_BATCH):
            activations, _ = self.packed.read([sentences[index] for index in batch])
            for way in directions:
                paths = [nodes[way][1][index] for index in batch]
                inside = [path[1:] if way == 0 else path[:-1] for path in paths]
                where = torch.from_numpy(np.concatenate(inside)).to(after_boundary.device)
                hidden[way][where] = self._half(activations[-1], way)
        return {way: (hidden[way], nodes[way][1]) for way in directions}

    def _read_in_order(
        self, sentences: list[Sequence[str]], state: State | None, directions: list[int]
    ) -> tuple[dict[int, _Contexts], State]:
        """The same with carried state, and the final state. Forward never reads `</S>`, backward never `<S>`."""
        hidden: dict[int, list[Tensor]] = {way: [] for way in directions}
        state = state or self.packed.zero_state(1)
        for sentence in sentences:
            if not sentence:
                state = self.packed.zero_state(1)
            after: State = list(state)
            for way in directions:
                bounded = [BEGIN_SENTENCE, *sentence] if way == 0 else [*sentence, END_SENTENCE]
                outputs, after[way] = self._read_one_way(bounded, state, way)
                hidden[way].append(outputs)
            state = after if sentence else state
        ends = np.cumsum([len(sentence) + 1 for sentence in sentences], dtype=np.int64)
        paths: list[NDArray[np.int64]] = np.split(np.arange(int(ends[-1]), dtype=np.int64), ends[:-1])
        return {way: (torch.cat(hidden[way]), paths) for way in directions}, state

    def _read_one_way(
        self, tokens: Sequence[str], state: State, way: int
    ) -> tuple[Float[Tensor, "T D"], list[PackedState]]:
        """Top-layer outputs of one direction, in the order of the text, and its state after all tokens."""
        with for_inference(), without_autocast(self.softmax.weight.device):
            vectors, index = self.packed.token_cache.distinct([tokens])
            order = torch.arange(len(tokens), device=index.device)
            order = order if way == 0 else order.flip(0)
            running = [layer.rows(order.new_zeros(1)) for layer in state[way]]  # the LSTM overwrites its state
            outputs = self.packed.lstms[way](vectors, index[order], [1] * len(tokens), running)
            return outputs[-1][order], running

    def _half(self, top: Float[Tensor, "N E"], way: int) -> Float[Tensor, "N D"]:
        dim = self.packed.config.projection_dim
        return top[:, way * dim : (way + 1) * dim]

    def _predictions(
        self,
        sentences: list[Sequence[str]],
        hidden: Float[Tensor, "U D"],
        paths: list[Int[np.ndarray, " P"]],
        way: int,
        details: SoftmaxDetails,
    ) -> Predictions:
        bounded = [[*s, END_SENTENCE] if way == 0 else [BEGIN_SENTENCE, *s] for s in sentences]
        ids = self.vocabulary.ids(token for sentence in bounded for token in sentence)
        targets, contexts = torch.from_numpy(ids).to(hidden.device), np.concatenate(paths)
        with without_autocast(hidden.device):
            found = full_softmax_predictions(
                hidden.to(self.softmax.weight.dtype),
                self.softmax,
                contexts=torch.from_numpy(contexts).to(hidden.device),
                targets=targets,
                details=details,
            )
        return Predictions(targets, contexts, found)

    def _split(self, side: Predictions, lengths: list[int]) -> list[DirectionSurprisal]:
        """The predictions of each sentence, in bits."""
        found, contexts = side.found, side.contexts
        bits = _bits(found.losses)
        ranks = None if found.ranks is None else found.ranks.cpu().numpy()
        entropies = None if found.entropies is None else _bits(found.entropies)[contexts]
        likeliest = None if found.likeliest is None else self._named(*found.likeliest)
        ends = np.cumsum(lengths)
        return [
            DirectionSurprisal(
                bits=bits[here],
                ranks=None if ranks is None else ranks[here],
                entropies=None if entropies is None else entropies[here],
                likeliest=None if likeliest is None else [likeliest[context] for context in contexts[here]],
            )
            for here in map(slice, ends - lengths, ends)
        ]

    def _named(self, ids: Int[Tensor, "U K"], probabilities: Float[Tensor, "U K"]) -> list[Likeliest]:
        tokens = self.vocabulary.tokens
        rows = cast("list[list[int]]", ids.tolist()), cast("list[list[float]]", probabilities.tolist())
        return [
            [(tokens[id], probability) for id, probability in zip(*row, strict=True)] for row in zip(*rows, strict=True)
        ]


def _chunks(sentences: Iterator[Sequence[str]], first_sizes: Iterable[int]) -> Iterator[list[Sequence[str]]]:
    for size in first_sizes:
        if not (chunk := list(islice(sentences, size))):
            return
        yield chunk
    yield from batched(sentences, size=SENTENCES_AT_ONCE, weight=len, enough_weight=TOKENS_AT_ONCE)


def _check_tokens(sentences: Iterable[Sequence[str]]) -> None:
    """Refuse white space: a pair of texts is also a list of strings, and would be a sentence of two unknown tokens."""
    token = next((token for sentence in sentences for token in sentence if not NOT_IN_A_TOKEN.isdisjoint(token)), None)
    if token is not None:
        raise ValueError(
            f"the token {token[:40]!r} contains white space, so no vocabulary has it; expected sentences as strings or "
            "lists of tokens"
        )


_Contexts = tuple["Float[Tensor, 'U D']", "list[Int[np.ndarray, ' P']]"]
"""Hidden states of contexts, and for each sentence the contexts of its targets, in the order of the text."""


def _distinct_contexts(sentences: list[Sequence[str]], *, backward: bool) -> tuple[int, list[Int[np.ndarray, " P"]]]:
    """The number of distinct contexts, and for each sentence the contexts of its targets, in the order of the text.

    A context is the part of a sentence that was read so far. Context 0 is the boundary alone.
    """
    numbers: dict[tuple[int, str], int] = {}
    paths: list[NDArray[np.int64]] = []
    for sentence in sentences:
        path = [0]
        for token in reversed(sentence) if backward else sentence:
            path.append(numbers.setdefault((path[-1], token), len(numbers) + 1))
        paths.append(np.array(path[::-1] if backward else path, np.int64))
    return len(numbers) + 1, paths


def _bits(nats: Float[Tensor, " N"]) -> Float[np.ndarray, " N"]:
    return nats.cpu().double().numpy() / math.log(2)  # not all devices have float64
