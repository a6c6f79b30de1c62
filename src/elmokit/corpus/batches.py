"""Sentences -> batches of parallel streams, packed without padding as bilm-tf packs them.

Each row is a separate stream. It takes tokens from its current sentence, and gets the next sentence when that one ends.
A sentence of n words gives n + 1 predictions in each direction: `<S> w1 .. wn` predicts `w1 .. wn </S>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from elmokit.corpus.stream import CorpusPosition, SentenceStream
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

    from elmokit.text.spelling import Spelling
    from elmokit.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class DirectionBatch:
    """One direction of a batch: what each position reads and predicts."""

    tokens: Int[np.ndarray, "T B"]
    """Rows of `Batch.character_ids`: the token that each position reads."""
    targets: Int[np.ndarray, "T B"]
    """Token ids: the token that each position predicts."""
    starts: Bool[np.ndarray, "T B"]
    """Whether a sentence starts at the position."""


@dataclass(frozen=True)
class Batch:
    """A batch: the character ids (N,C) of its distinct tokens, and its directions: forward, then backward if any."""

    character_ids: Int[np.ndarray, "N C"]
    directions: tuple[DirectionBatch, ...]


@dataclass(frozen=True)
class PackerState:
    """Where a packer continues: the corpus position of the next sentence, and each row's remaining tokens."""

    position: CorpusPosition
    rows: tuple[list[str], ...]


class Packer:
    """The rows of one direction. A batch gets the rows `own`: all rows, or one process's share of them.

    Every process advances all rows, so each row gets the same text for any number of processes.
    """

    def __init__(
        self,
        sentences: SentenceStream,
        vocabulary: Vocabulary,
        *,
        rows: Sequence[list[str]],
        bptt_steps: int,
        backward: bool,
        own: slice = slice(None),
    ) -> None:
        """rows: the tokens left in each row's sentence; empty lists at the start."""
        self.sentences = sentences
        self.vocabulary = vocabulary
        self.bptt_steps = bptt_steps
        self.backward = backward
        self.rows: Final = list(rows)
        """The first token of a row is read next. A last token is only a target."""
        self.own: Final = range(len(self.rows))[own]

    @property
    def state(self) -> PackerState:
        """The state from which another packer over the same shards can continue, with its position and rows."""
        return PackerState(self.sentences.position, tuple(self.rows))

    def next(self, distinct: dict[str, int]) -> DirectionBatch:
        """The next (T,B) positions. New tokens get the next numbers in `distinct`. Raises StopIteration at the end."""
        inputs: list[int] = []
        targets: list[str] = []
        starts = np.zeros((len(self.own), self.bptt_steps), dtype=np.bool_)
        for row in range(len(self.rows)):
            is_own, filled = row in self.own, 0
            while filled < self.bptt_steps:
                tokens = self.rows[row]
                new_sentence = len(tokens) < 2
                if new_sentence:
                    tokens = [BEGIN_SENTENCE, *next(self.sentences), END_SENTENCE]
                    if self.backward:
                        tokens.reverse()
                count = min(self.bptt_steps - filled, len(tokens) - 1)
                if is_own:
                    starts[row - self.own.start, filled] = new_sentence
                    inputs += [distinct.setdefault(token, len(distinct)) for token in tokens[:count]]
                    targets += tokens[1 : count + 1]
                self.rows[row] = tokens[count:]
                filled += count
        rows = np.array(inputs, np.int64), self.vocabulary.ids(targets), starts
        return DirectionBatch(*(np.ascontiguousarray(values.reshape(starts.shape).T) for values in rows))


def packed_batches(packers: list[Packer], *, spelling: Spelling) -> Iterator[Batch]:
    """Batches until a packer runs out of sentences. An incomplete last batch is dropped, as in bilm-tf."""
    while True:
        distinct: dict[str, int] = {}
        try:
            directions = [packer.next(distinct) for packer in packers]  # a generator would turn it into an error
        except StopIteration:
            return
        yield Batch(spelling.rows(list(distinct)), tuple(directions))
