"""Neural tagger of word senses (Raganato et al., 2017, the biLSTM without attention): a sense or a word for each token.

The target of a token with a sense is the sense; the target of any other token is the token itself. The answer for a
word is the most probable of its senses that occur in the training corpus. If none of them does, it is the first sense
of the dictionary.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from elmokit.layers.devices import seeded
from elmokit.layers.tasks.recurrent import BiLSTM
from elmokit.runs.settings import change_settings
from elmokit.system.batches import batched
from paper.comparators.training import check_config, train_epochs
from paper.senses import Senses, SenseSentence

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

_UNKNOWN = 0
_IGNORED = -100


@dataclass(frozen=True)
class SenseTaggerConfig:
    """Settings. The widths are the published ones, quoted from memory; the rest is ours."""

    word_dim: int = 400
    """Width of the word embeddings."""
    hidden_dim: int = 1024
    """Width of each direction of both layers."""
    min_count: int = 2
    """A word needs this many occurrences to have its own embedding and output."""
    dropout_rate: float = 0.5
    """Rate of the dropout after the embeddings and the layers."""
    learning_rate: float = 0.001
    """Adam's."""
    batch_size: int = 32
    """Sentences per step."""
    epochs: int = 10
    """Passes over the corpus."""
    seed: int = 0
    """Seed of initial weights, order and dropout."""

    def __post_init__(self) -> None:
        check_config(self)


class _Network(nn.Module):
    """Word ids -> logits of all labels, at the wanted positions of the batch."""

    def __init__(self, config: SenseTaggerConfig, *, num_words: int, num_labels: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_words, config.word_dim)
        self.first = BiLSTM(input_dim=config.word_dim, hidden_dim=config.hidden_dim)
        self.second = BiLSTM(input_dim=2 * config.hidden_dim, hidden_dim=config.hidden_dim)
        self.dropout = nn.Dropout(config.dropout_rate)
        self.output = nn.Linear(2 * config.hidden_dim, num_labels)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"], wanted: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "N K"]:
        hidden = self.first(self.dropout(self.embedding(ids)), mask)
        hidden = self.dropout(self.second(self.dropout(hidden), mask))
        return self.output(hidden[wanted])  # tens of thousands of labels: nearly all of the work


@dataclass(frozen=True)
class SenseTagger:
    """A trained tagger: its words and labels, with their numbers."""

    network: _Network
    words: Mapping[str, int]
    labels: Mapping[str, int]

    @torch.no_grad()
    def predict(self, sentences: Sequence[SenseSentence], senses: Senses) -> dict[str, str]:
        """A sense for each word, by the word's name. A word that the dictionary lacks has no answer."""
        answers: dict[str, str] = {}
        self.network.eval()
        for sentence in sentences:
            ids, mask = self.batch([sentence])
            scores = self.network(ids, mask, mask)
            for word in sentence.words:
                candidates = senses.get(word.word, ())
                if known := [sense for sense in candidates if sense in self.labels]:
                    own = scores[word.target.start : word.target.end, [self.labels[sense] for sense in known]]
                    answers[word.name] = known[int(own.sum(dim=0).argmax())]
                elif candidates:
                    answers[word.name] = candidates[0]
        return answers

    def batch(self, sentences: Sequence[SenseSentence]) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
        rows = [[self.words.get(token.lower(), _UNKNOWN) for token in sentence.tokens] for sentence in sentences]
        return _padded(rows, _UNKNOWN), _padded(rows, _IGNORED) != _IGNORED

    def targets(self, sentences: Sequence[SenseSentence]) -> Int[Tensor, "B T"]:
        """The label of each token: the first annotated sense of its word, or the token; `_IGNORED` for neither."""
        rows: list[list[int]] = []
        for sentence in sentences:
            row = [self.labels.get(token.lower(), _IGNORED) for token in sentence.tokens]
            for word in sentence.words:
                own = slice(word.target.start, word.target.end)
                row[own] = [self.labels[word.senses[0]]] * len(row[own])
            rows.append(row)
        return _padded(rows, _IGNORED)


def train_sense_tagger(sentences: Sequence[SenseSentence], settings: Sequence[str] = ()) -> SenseTagger:
    """Train a tagger on annotated sentences.

    settings: fields of `SenseTaggerConfig` as `field=value`. Raises ValueError for wrong settings and a corpus without
    a token, and DivergenceError, a ValueError.
    """
    config = change_settings({"training": SenseTaggerConfig()}, settings)["training"]
    sentences = [sentence for sentence in sentences if sentence.tokens]
    if not sentences:
        raise ValueError("the corpus has no sentence with a token; expected sentences with annotated senses")
    counts = Counter(token.lower() for sentence in sentences for token in sentence.tokens)
    kept = sorted(token for token, count in counts.items() if count >= config.min_count)
    senses = sorted({sense for sentence in sentences for word in sentence.words for sense in word.senses[:1]})
    words = {word: number for number, word in enumerate(kept, start=1)}
    labels = {label: number for number, label in enumerate([*kept, *senses])}
    with seeded(config.seed):
        network = _Network(config, num_words=1 + len(words), num_labels=len(labels))
        tagger = SenseTagger(network, words, labels)

        def loss_of(batch: Sequence[SenseSentence]) -> tuple[Float[Tensor, ""], int]:
            targets = tagger.targets(batch)
            wanted = targets != _IGNORED
            count = max(1, int(wanted.sum()))
            logits = network(*tagger.batch(batch), wanted)
            return functional.cross_entropy(logits, targets[wanted], reduction="sum") / count, count

        def batches(draws: random.Random) -> Iterator[Sequence[SenseSentence]]:
            return batched(draws.sample(sentences, len(sentences)), size=config.batch_size)

        train_epochs(network, config, batches, loss_of, clip_norm=math.inf)
    return tagger


def _padded(rows: Sequence[Sequence[int]], padding: int) -> Int[Tensor, "B T"]:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=padding)
