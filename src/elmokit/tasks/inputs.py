"""What a task model reads for its tokens: word vectors, characters, ELMo. The model does not know if ELMo is used."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.elmo.embedding import ElmoEmbedding
from elmokit.elmo.encoding import unit_vectors
from elmokit.files.atomic import write_text
from elmokit.files.json import read_json
from elmokit.files.safetensors import read_arrays, read_layout, write_arrays
from elmokit.layers.char_encoder import CharEncoder
from elmokit.system.messages import FormatError
from elmokit.text.character_numbers import NUM_CHARACTERS, PADDING_ID
from elmokit.text.characters import character_ids
from elmokit.text.corpora.cells import layer_choice
from elmokit.text.word_vectors import read_word_vectors

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Float32

    from elmokit.elmo.embedding import LayerChoice
    from elmokit.layers.scalar_mix import ScalarMix, SingleLayer
    from elmokit.model.bilm import BiLM
    from elmokit.model.vector_source import VectorSource
    from elmokit.tasks.config import ElmoInput, InputConfig


WORDS_FILE = "words.json"
VECTORS_FILE = "words.safetensors"
MAX_WORDS_BYTES = 256 << 20
"""Limit on the size of `WORDS_FILE`, which is read as a whole; enough for some twenty million words."""


@dataclass(frozen=True)
class EncodedTokens:
    """A batch of token lists, padded."""

    inputs: Float[Tensor, "B T I"]
    """Input of the first encoder: word vectors, characters, and ELMo if it is at the input. Zero at padding."""
    outputs: Float[Tensor, "B T O"]
    """Vectors to be concatenated with the first encoder's output: ELMo if it is at the output; otherwise O = 0."""
    mask: Bool[Tensor, "B T"]
    """True on real tokens."""


class TokenInputs(nn.Module):
    """Token lists -> `EncodedTokens`. `tasks/train.py` opens the files it needs.

    words: the words with their vectors; None for a config without word vectors.
    elmo: frozen layers, or the biLM itself to train it; None for a config without ELMo.
    """

    input_dim: int
    output_dim: int

    def __init__(
        self, config: InputConfig, *, words: WordTable | None = None, elmo: VectorSource | BiLM | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.words: WordEmbedding | None = None
        self.characters: _CharacterCNN | None = None
        self.elmo: ElmoEmbedding | None = None
        self.input_dim = self.output_dim = 0
        if words is not None:
            self.words = WordEmbedding(words, lower_case=config.lower_case)
            self.input_dim += self.words.dim
        if config.character_dim:
            self.characters = _CharacterCNN(config)
            self.input_dim += self.characters.dim
        self.positions: tuple[str, ...] = () if config.elmo is None else config.elmo.positions
        if elmo is not None and config.elmo is not None:
            self.elmo = _new_embedding(config.elmo, elmo)
            self.input_dim += self.elmo.output_dim if "input" in self.positions else 0
            self.output_dim += self.elmo.output_dim if "output" in self.positions else 0
        self.register_buffer("_device", torch.empty(0), persistent=False)

    def forward(self, sentences: Sequence[Sequence[str]]) -> EncodedTokens:
        """Encode a batch of sentences. Raises ValueError if no sentence has a token."""
        device = cast("Tensor", self._device).device
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        if len(sentences) == 0 or int(lengths.max()) == 0:
            raise ValueError(f"no tokens in {len(sentences)} sentences; expected at least one token")
        mask = (torch.arange(int(lengths.max())) < lengths[:, None]).to(device)
        empty = torch.zeros(*mask.shape, 0, device=device)
        inputs, outputs = [empty], [empty]
        if self.words is not None:
            inputs.append(self.words(sentences, mask))
        if self.characters is not None:
            inputs.append(self.characters(sentences, mask))
        if self.elmo is not None:
            for position, vectors in zip(self.positions, self.elmo(sentences).mixes, strict=True):
                (inputs if position == "input" else outputs).append(vectors)
        return EncodedTokens(torch.cat(inputs, dim=2), torch.cat(outputs, dim=2), mask)

    def known(self, tokens: Sequence[str]) -> list[bool]:
        """Whether each token has a word vector that was learnt in training; all False without word vectors."""
        if self.words is None:
            return [False] * len(tokens)
        rows = (self.words.rows.get(word, 0) for word in _keys([tokens], lower_case=self.words.lower_case))
        return [0 < row < self.words.num_learnt for row in rows]

    def measure_scales(self, sentences: Sequence[Sequence[str]]) -> None:
        """Measure the scales of the biLM's layers for ELMo's `rescale`; does nothing without `rescale`."""
        if self.elmo is not None and self.elmo.scales is not None:
            self.elmo.measure_scales(sentences)

    def penalty(self) -> Float[Tensor, ""]:
        """Penalty of ELMo's mixes (`ElmoEmbedding.penalty`), to be added to the loss; zero without ELMo."""
        return cast("Tensor", self._device).new_zeros(()) if self.elmo is None else self.elmo.penalty()

    def mixes(self) -> dict[str, ScalarMix | SingleLayer]:
        """ELMo's mixes by their position, input or output; empty without ELMo."""
        mixes = () if self.elmo is None else cast("Iterable[ScalarMix | SingleLayer]", self.elmo.mixes)
        return dict(zip(self.positions, mixes, strict=True))


class _CharacterCNN(nn.Module):
    """The largest response of each filter over a token's UTF-8 bytes, then a ReLU, computed once per distinct token."""

    def __init__(self, config: InputConfig) -> None:
        super().__init__()
        self.dim: int = sum(number for _, number in config.character_filters)
        self.max_characters: int = config.max_characters
        self.encoder: CharEncoder = CharEncoder(
            num_characters=NUM_CHARACTERS,
            padding_id=PADDING_ID,
            character_dim=config.character_dim,
            filters=config.character_filters,
            activation="relu",
            num_highway_layers=0,
            projection_dim=self.dim,
        )

    def forward(self, sentences: Sequence[Sequence[str]], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T K"]:
        rows: dict[str, int] = {}
        which = [rows.setdefault(token, len(rows)) for sentence in sentences for token in sentence]
        ids = torch.from_numpy(character_ids(list(rows), max_characters_per_token=self.max_characters))
        encoded = self.encoder(ids.to(mask.device))
        batch = encoded.new_zeros(*mask.shape, self.dim)
        batch[mask] = encoded[torch.tensor(which, device=mask.device)]
        return batch


def _new_embedding(config: ElmoInput, layers: VectorSource | BiLM) -> ElmoEmbedding:
    embedding = ElmoEmbedding(
        layers,
        num_mixes=len(config.positions),
        dropout_rate=config.dropout_rate,
        layer_norm=config.layer_norm,
        layers=cast("LayerChoice", layer_choice(config.layers)),
        rescale=config.rescale,
        penalty_factor=config.penalty,
        encode_distinct=False,  # keeps the order of sums, so runs that train the biLM stay the same bit by bit
        requires_grad=config.train,
    )
    if not config.train_gamma:
        for mix in cast("Iterable[ScalarMix | SingleLayer]", embedding.mixes):
            mix.gamma.requires_grad_(False)
    return embedding


@dataclass(frozen=True)
class WordTable:
    """Words and their vectors. Row 0 is the unknown word; then come the words that are learnt, then the fixed ones."""

    learnt: list[str]
    fixed: list[str]
    vectors: Float32[np.ndarray, "N D"]


def new_word_table(
    config: InputConfig, training: Iterable[Sequence[str]], others: Iterable[Sequence[str]], *, seed: int
) -> WordTable:
    """Collect the words with vectors: words of the training set that are in the config's file or, if vectors are
    trained, occur at least `min_word_count` times.

    others: sentences to predict later, such as the development and test sets. Their words, and the first
        `num_extra_words` of the file, get the file's vectors, as if the whole file were kept. These are not learnt.
    A word that the file lacks starts at random, with the mean and spread of the file's vectors. The unknown word starts
    at zero. Raises ValueError if vectors are neither trained nor read, and what `read_word_vectors` raises.
    """
    path, trainable, dim = config.word_vectors, config.train_word_vectors, config.word_dim
    if not path and not trainable:
        raise ValueError(
            "word vectors are neither read nor trained; set word_vectors to a file (--word-vectors FILE), train them "
            "(train_word_vectors=true), or use none (word_dim=0)"
        )
    counts = Counter(_keys(training, lower_case=config.lower_case))
    by_count = sorted(counts, key=lambda word: (-counts[word], word))
    read: dict[str, Float32[np.ndarray, " D"]] = {}
    mean, deviation = 0.0, dim**-0.5
    if path:
        wanted = {*counts, *_keys(others, lower_case=config.lower_case)}
        found = read_word_vectors(path, wanted, first=config.num_extra_words)
        if wanted.isdisjoint(found.words):
            raise ValueError(f"{path} has none of the {len(wanted):,} words of the data; is it for another language?")
        matrix = unit_vectors(found.matrix) if config.unit_word_vectors else found.matrix
        read = dict(zip(found.words, matrix, strict=True))
        dim = matrix.shape[1]
        mean, deviation = float(matrix.mean()), float(matrix.std())
    learnt = [word for word in by_count if trainable and (word in read or counts[word] >= config.min_word_count)]
    is_learnt = set(learnt)
    fixed = [word for word in read if word not in is_learnt]
    vectors = np.random.default_rng(seed).normal(mean, deviation, (1 + len(learnt) + len(fixed), dim))
    vectors[0] = 0.0
    for row, word in enumerate([*learnt, *fixed], start=1):
        if word in read:
            vectors[row] = read[word]
    return WordTable(learnt, fixed, vectors.astype(np.float32))


def save_word_table(folder: Path, table: WordTable) -> None:
    write_arrays(folder / VECTORS_FILE, {"vectors": table.vectors})
    write_text(folder / WORDS_FILE, json.dumps({"learnt": table.learnt, "fixed": table.fixed}) + "\n")


def load_word_table(folder: Path) -> WordTable:
    """Read the files of `save_word_table`. Raises FormatError, naming file and field, if damaged or inconsistent."""
    words = read_json(folder / WORDS_FILE, _Words, max_bytes=MAX_WORDS_BYTES)
    num_words = 1 + len(words.learnt) + len(words.fixed)
    if len({*words.learnt, *words.fixed}) < num_words - 1:
        raise FormatError(folder / WORDS_FILE, "has a word more than once")
    layout = read_layout(folder / VECTORS_FILE, dtypes=["F32"])
    shape = layout.tensors["vectors"].shape if list(layout.tensors) == ["vectors"] else None
    if shape is None or len(shape) != 2 or shape[0] != num_words:
        reason = f"has shape {shape}; expected ({num_words}, width) for the words of {WORDS_FILE}"
        raise FormatError(folder / VECTORS_FILE, reason, part="tensor vectors")
    vectors = read_arrays(folder / VECTORS_FILE, layout)["vectors"]
    if not np.isfinite(vectors).all():
        raise FormatError(folder / VECTORS_FILE, "has numbers that are not finite", part="tensor vectors")
    return WordTable(words.learnt, words.fixed, vectors)


@dataclass(frozen=True)
class _Words:
    learnt: list[str]
    fixed: list[str]


class WordEmbedding(nn.Module):
    """Sentences -> word vectors (B,T,D), zero at padding. Only the words that are learnt are among the weights."""

    fixed: Float[Tensor, "F D"]

    def __init__(self, table: WordTable, *, lower_case: bool) -> None:
        super().__init__()
        self.rows: dict[str, int] = {word: row for row, word in enumerate([*table.learnt, *table.fixed], start=1)}
        self.lower_case = lower_case
        self.num_learnt: int = 1 + len(table.learnt)
        vectors = torch.from_numpy(table.vectors)
        self.weight: nn.Parameter = nn.Parameter(vectors[: self.num_learnt].clone(), requires_grad=bool(table.learnt))
        self.register_buffer("fixed", vectors[self.num_learnt :].clone(), persistent=False)

    @property
    def dim(self) -> int:
        return self.weight.shape[1]

    def forward(self, sentences: Sequence[Sequence[str]], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        found = [self.rows.get(word, 0) for word in _keys(sentences, lower_case=self.lower_case)]
        rows = torch.tensor(found, device=self.weight.device)
        vectors = functional.embedding(rows.clamp(max=self.num_learnt - 1), self.weight)
        beyond = (rows - self.num_learnt).clamp(min=-1)
        if bool((beyond >= 0).any()):
            vectors = torch.where((beyond >= 0)[:, None], self.fixed[beyond.clamp(min=0)], vectors)
        batch = vectors.new_zeros(*mask.shape, self.dim)
        batch[mask] = vectors
        return batch


def _keys(sentences: Iterable[Sequence[str]], *, lower_case: bool) -> Iterable[str]:
    return (word.lower() if lower_case else word for sentence in sentences for word in sentence)
