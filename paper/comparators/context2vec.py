"""context2vec: vectors of a word's context without the word (Melamud et al., 2016), read, used and trained.

One LSTM reads the words to the left, another one the words to the right; a network of two layers joins their outputs.
A context's vector is close to the target vectors of the words that fit into the gap. Training is by negative sampling
on the shards that a biLM reads.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.corpus.stream import SentenceStream
from elmokit.files.atomic import check_new_folder, new_folder
from elmokit.integrations.encoder import Comparator, SystemLayers
from elmokit.layers.devices import seeded
from elmokit.runs.folder import CONFIG_NAME
from elmokit.runs.settings import change_settings
from elmokit.runs.tensor_files import check_tensors, read_tensors, write_tensors
from elmokit.system.batches import batched
from elmokit.text.vocabulary import SPECIALS, Vocabulary
from paper.comparators.training import (
    check_config,
    frequent_words,
    of_equal_length,
    read_settings,
    shuffled_groups,
    train_epochs,
    write_training,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int

SYSTEM = "context2vec"
MODEL_FILE = "model.safetensors"
VOCABULARY_FILE = "vocabulary.txt"
SENTENCES_PER_BATCH = 64
GAP = "[]"
"""The token for the gap in a sentence, as in the original program."""
NOISE_POWER = 0.75
SENTENCES_PER_BLOCK = 8192
"""Number of sentences that are grouped by length at a time."""


class ContextEncoder(nn.Module):
    """Token ids -> the vector of each position's context; and the target vectors of the words."""

    def __init__(self, vocabulary: Vocabulary, *, word_dim: int, lstm_dim: int, dim: int) -> None:
        super().__init__()
        num_tokens, self.begin_id, self.end_id = len(vocabulary), vocabulary.begin_id, vocabulary.end_id
        self.left_words = nn.Embedding(num_tokens, word_dim)
        self.right_words = nn.Embedding(num_tokens, word_dim)
        self.left_lstm = nn.LSTM(word_dim, lstm_dim, batch_first=True)
        self.right_lstm = nn.LSTM(word_dim, lstm_dim, batch_first=True)
        self.hidden = nn.Linear(2 * lstm_dim, 2 * lstm_dim)
        self.output = nn.Linear(2 * lstm_dim, dim)
        self.targets = nn.Embedding(num_tokens, dim)
        for words in (self.left_words, self.right_words):  # as in the original program: rare words stay small
            nn.init.normal_(words.weight, std=num_tokens**-0.5)
        nn.init.zeros_(self.targets.weight)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Context vectors of sentences of one length; neither LSTM reads the word itself."""
        begin, end = ids.new_full((len(ids), 1), self.begin_id), ids.new_full((len(ids), 1), self.end_id)
        left = self.left_lstm(self.left_words(torch.cat([begin, ids[:, :-1]], dim=1)))[0]
        from_the_end = torch.cat([end, ids[:, 1:].flip(1)], dim=1)
        right = self.right_lstm(self.right_words(from_the_end))[0].flip(1)
        return self.output(torch.relu(self.hidden(torch.cat([left, right], dim=2))))


@dataclass(frozen=True)
class Context2vec:
    """A trained model; words are lower-cased."""

    encoder: ContextEncoder
    vocabulary: Vocabulary

    @torch.no_grad()
    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        """For each sentence, the tokens' own target vectors, and the vectors of their contexts."""
        dim = self.encoder.targets.embedding_dim
        arrays = [np.zeros((2, len(sentence), dim), np.float32) for sentence in sentences]
        for numbers in of_equal_length(sentences, most=SENTENCES_PER_BATCH):
            ids = self.ids([sentences[number] for number in numbers])
            both = torch.stack([self.encoder.targets(ids), self.encoder(ids)], dim=1)
            for number, array in zip(numbers, both.numpy(), strict=True):
                arrays[number] = array
        return arrays

    @torch.no_grad()
    def substitutes(
        self, sentence: Sequence[str], *, known: str | None = None, number: int = 10
    ) -> list[tuple[str, float]]:
        """The words that fit best into the gap `[]` of a sentence, with their scores, best first.

        The score of a word w in a context c is `(cos(w, c) + 1) / 2`. If `known` is given, a word that the substitutes
        should be near in meaning, the score is `max(cos(w, known), 0) * max(cos(w, c), 0)`.
        Raises ValueError unless there is exactly one gap, and `known` is in the vocabulary.
        """
        if known is not None and known.lower() not in self.vocabulary:
            raise ValueError(f"the model has no vector of {known!r}, which its training text had too rarely or never")
        targets = self.encoder.targets.weight
        gaps = [position for position, token in enumerate(sentence) if token == GAP]
        if len(gaps) != 1:
            raise ValueError(f"{' '.join(sentence)!r} has {len(gaps)} gaps; expected one token {GAP}")
        scores = torch.cosine_similarity(targets, self.encoder(self.ids([sentence]))[0, gaps])
        if known is None:
            scores = (scores + 1) / 2
        else:
            of_known = torch.cosine_similarity(targets, targets[self.ids([[known]])[0]])
            scores = scores.clamp(min=0) * of_known.clamp(min=0)
        specials = [self.vocabulary.begin_id, self.vocabulary.end_id, self.vocabulary.unknown_id]
        scores[specials] = -1.0
        best = scores.topk(min(number, len(scores) - len(specials)))
        indices = cast("list[int]", best.indices.tolist())
        return [(self.vocabulary.tokens[index], float(scores[index])) for index in indices]

    def ids(self, sentences: Sequence[Sequence[str]]) -> Int[Tensor, "B T"]:
        rows = [self.vocabulary.ids(token.lower() for token in sentence) for sentence in sentences]
        return torch.from_numpy(np.stack(rows))


def read_context2vec(run_dir: Path) -> Context2vec:
    """Read the folder that `train_context2vec` wrote. Raises FileNotFoundError, and FormatError if it is damaged."""
    sizes = read_settings(run_dir, SYSTEM, Context2vecConfig)
    vocabulary = Vocabulary.read(run_dir / VOCABULARY_FILE)
    path = run_dir / MODEL_FILE
    tensors = read_tensors(path)
    with torch.device("meta"):
        encoder = ContextEncoder(vocabulary, word_dim=sizes.word_dim, lstm_dim=sizes.lstm_dim, dim=sizes.dim)
    check_tensors(path, tensors, encoder.state_dict())
    encoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, assign=True)
    return Context2vec(encoder.eval().requires_grad_(False), vocabulary)


def open_context2vec(model: str) -> SystemLayers:
    """Layer 0: the word's own target vector, whatever its sentence. Layer 1: the vector of its context."""
    folder = Path(model)
    read = read_context2vec(folder)
    files = [folder / name for name in (CONFIG_NAME, VOCABULARY_FILE, MODEL_FILE)]
    dim = read.encoder.targets.embedding_dim
    return SystemLayers(read.layers, num_layers=2, dim=dim, files=files, settings=SYSTEM)


CONTEXT2VEC = Comparator(name=SYSTEM, opens="a folder of `train-comparator context2vec`", open=open_context2vec)


@dataclass(frozen=True)
class Context2vecConfig:
    """Settings of a training; the defaults are the published ones, except for `max_size`."""

    word_dim: int = 300
    """Width of the context words' embeddings."""
    lstm_dim: int = 600
    """Width of each LSTM."""
    dim: int = 600
    """Width of the contexts' and of the targets' vectors."""
    min_count: int = 3
    """Occurrences that a word needs; rarer ones are one unknown word."""
    max_size: int = 100_000
    """Largest number of words, the most frequent ones."""
    negatives: int = 10
    """Random words for each real one, drawn from counts to the power of 0.75."""
    batch_size: int = 100
    """Sentences per step, of one length."""
    epochs: int = 10
    """Passes over the shards."""
    num_tokens: int = 0
    """Tokens after which an epoch ends; 0 for no limit."""
    learning_rate: float = 0.001
    """Adam's."""
    seed: int = 0
    """Seed of initial weights, order and negatives."""

    def __post_init__(self) -> None:
        check_config(self)


def train_context2vec(files: Sequence[Path], output: Path, settings: Sequence[str] = ()) -> float:
    """Train a model and write its folder: weights, vocabulary and config.json.

    settings: fields of `Context2vecConfig` as `field=value`.
    Returns the last epoch's loss (nats per token). Raises ValueError for wrong settings and shards without a sentence,
    OSError for files that cannot be read or written, and DivergenceError, a ValueError.
    """
    config = change_settings({"training": Context2vecConfig()}, settings)["training"]
    check_new_folder(output)
    vocabulary, counts = _count(files, config)
    with new_folder(output) as folder, seeded(config.seed):
        encoder = ContextEncoder(vocabulary, word_dim=config.word_dim, lstm_dim=config.lstm_dim, dim=config.dim)
        noise = torch.from_numpy(counts**NOISE_POWER)

        def loss_of(ids: Int[Tensor, "B T"]) -> tuple[Float[Tensor, ""], int]:
            negatives = torch.multinomial(noise, config.negatives * ids.numel(), replacement=True)
            return negative_sampling_loss(encoder, ids, negatives.view(*ids.shape, -1)), ids.numel()

        batches = partial(_batches, files, Context2vec(encoder, vocabulary), config)
        losses = train_epochs(encoder, config, batches, loss_of)
        vocabulary.write(folder / VOCABULARY_FILE)
        write_tensors(folder / MODEL_FILE, encoder.state_dict())
        write_training(folder, SYSTEM, config, files=files, losses=losses)
    return losses[-1]


def negative_sampling_loss(
    encoder: ContextEncoder, ids: Int[Tensor, "B T"], negatives: Int[Tensor, "B T S"]
) -> Float[Tensor, ""]:
    """Mean over all tokens of `-log s(t . c) - sum_i log s(-n_i . c)`, t the word, c its context, n the negatives."""
    contexts = encoder(ids)
    real = (encoder.targets(ids) * contexts).sum(dim=2)
    false = torch.einsum("btsd,btd->bts", encoder.targets(negatives), contexts)
    return (functional.softplus(-real) + functional.softplus(false).sum(dim=2)).mean()


def _count(shards: Sequence[Path], config: Context2vecConfig) -> tuple[Vocabulary, Float[np.ndarray, " V"]]:
    """The lower-cased words by falling count, after the specials, and how often each occurs."""
    sentences = SentenceStream(shards, shuffle=False, num_epochs=1)
    counts = Counter(token.lower() for sentence in sentences for token in sentence)
    kept = frequent_words(counts, config)
    rare = counts.total() - sum(counts[word] for word in kept)
    numbers = [0, 0, rare, *(counts[word] for word in kept)]
    return Vocabulary([*SPECIALS, *kept]), np.array(numbers, np.float64)


def _batches(
    shards: Sequence[Path], model: Context2vec, config: Context2vecConfig, draws: random.Random
) -> Iterator[Int[Tensor, "B T"]]:
    """Token ids of sentences of one length, block by block."""
    sentences = SentenceStream(shards, seed=draws.getrandbits(31), num_epochs=1)
    num_tokens = 0
    for block in batched(sentences, size=SENTENCES_PER_BLOCK):
        for group in shuffled_groups(block, draws, most=config.batch_size):
            ids = model.ids([block[number] for number in group])
            yield ids
            num_tokens += ids.numel()
            if config.num_tokens and num_tokens >= config.num_tokens:
                return
