"""A task's words: which of them have a vector of their own, and the module that looks the vectors up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.elmo.layer_choice import unit_vectors
from elmokit.files.atomic import write_text
from elmokit.files.json_fields import Fields, read_json_object
from elmokit.files.safetensors import read_arrays, read_layout, write_arrays
from elmokit.system.messages import FormatError
from elmokit.text.word_vectors import read_word_vectors

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Float32

    from elmokit.tasks.config import InputConfig

WORDS_FILE = "words.json"
VECTORS_FILE = "words.safetensors"
MAX_WORDS_BYTES = 256 << 20
"""Of the words' file, which is read as a whole: room for some twenty million words."""


@dataclass(frozen=True)
class WordTable:
    """Words and their vectors. Row 0 is the unknown word; then come the words that are learnt, then the fixed ones."""

    learnt: list[str]
    fixed: list[str]
    vectors: Float32[np.ndarray, "N D"]


def new_word_table(
    config: InputConfig, training: Iterable[Sequence[str]], others: Iterable[Sequence[str]], *, seed: int
) -> WordTable:
    """Words with vectors: those of the training set that the config's file has or, if they are trained, that occur
    `min_word_count` times.

    others: sentences that are predicted later, such as the development and test sets. Their words, and the first
        `num_extra_words` of the file, get the file's vectors, as if the whole file were kept; these are not learnt.
    A word that the file lacks starts at random, with the mean and spread of the file's vectors; the unknown word at
    zero. Raises ValueError for vectors that are neither trained nor read, and what `read_word_vectors` raises.
    """
    path, trainable, dim = config.word_vectors, config.train_word_vectors, config.word_dim
    if not path and not trainable:
        raise ValueError(
            "word vectors are neither read nor trained; set word_vectors to a file (--word-vectors FILE), or learn "
            "them (train_word_vectors=true), or do without (word_dim=0)"
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
    """Write the words and their vectors as two files of a run folder."""
    write_arrays(folder / VECTORS_FILE, {"vectors": table.vectors})
    write_text(folder / WORDS_FILE, json.dumps({"learnt": table.learnt, "fixed": table.fixed}) + "\n")


def load_word_table(folder: Path) -> WordTable:
    """Read what `save_word_table` wrote. FormatError, naming file and field, if they are damaged or do not fit."""
    words = Fields(folder / WORDS_FILE, read_json_object(folder / WORDS_FILE, max_bytes=MAX_WORDS_BYTES))
    words.require_known(("learnt", "fixed"))
    learnt, fixed = words.read("learnt", list[str]), words.read("fixed", list[str])
    num_words = 1 + len(learnt) + len(fixed)
    if len({*learnt, *fixed}) < num_words - 1:
        raise FormatError(words.where, "has a word more than once")
    layout = read_layout(folder / VECTORS_FILE, dtypes=["F32"])
    shape = layout.tensors["vectors"].shape if list(layout.tensors) == ["vectors"] else None
    if shape is None or len(shape) != 2 or shape[0] != num_words:
        reason = f"has shape {shape}; expected ({num_words}, width) for the words of {WORDS_FILE}"
        raise FormatError(folder / VECTORS_FILE, reason, part="tensor vectors")
    vectors = read_arrays(folder / VECTORS_FILE, layout)["vectors"]
    if not np.isfinite(vectors).all():
        raise FormatError(folder / VECTORS_FILE, "has numbers that are not finite", part="tensor vectors")
    return WordTable(learnt, fixed, vectors)


class WordEmbedding(nn.Module):
    """Sentences -> word vectors (B,T,D), zero at padding. Only the words that are learnt are among the weights."""

    fixed: Float[Tensor, "F D"]

    def __init__(self, table: WordTable, *, lower_case: bool) -> None:
        super().__init__()
        self.rows = {word: row for row, word in enumerate([*table.learnt, *table.fixed], start=1)}
        self.lower_case = lower_case
        self.num_learnt = 1 + len(table.learnt)
        vectors = torch.from_numpy(table.vectors)
        self.weight = nn.Parameter(vectors[: self.num_learnt].clone(), requires_grad=bool(table.learnt))
        self.register_buffer("fixed", vectors[self.num_learnt :].clone(), persistent=False)

    @property
    def dim(self) -> int:
        """Width of the word vectors, D."""
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
