"""A biLM as arrays, with config, vocabulary and dictionaries. Every format is read into this and written from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elmokit.files.weights_file import require_finite
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from elmokit.model.config import BiLMConfig
    from elmokit.text.spelling import DictionarySpelling
    from elmokit.text.vocabulary import Vocabulary

SOFTMAX_WEIGHT = "softmax.weight"
SOFTMAX_BIAS = "softmax.bias"
SOFTMAX_NAMES = (SOFTMAX_WEIGHT, SOFTMAX_BIAS)
PADDING_TOKEN = "char_encoder.embedding.weight"
"""The tensor whose row 0 represents padding tokens: it is always zeros, and HDF5 files do not contain it."""


@dataclass(frozen=True)
class Weights:
    """A biLM by native names. The tensors of an opened model are mapped, so they take no memory until they are used.

    Writes to a mapped tensor stay in memory and do not reach the file.
    """

    config: BiLMConfig
    tensors: Mapping[str, NDArray[Any]]
    """In float32, or in float16 if they are stored that way. The two softmax tensors may be absent."""
    vocabulary: Vocabulary | None = None
    pretraining: dict[str, object] | None = None
    """How the model was trained, as JSON; the training options of a bilm-tf model are under `bilm_tf_options`."""
    spelling: DictionarySpelling | None = None
    """The dictionaries of a model whose config has a `lookup`."""
    stored_fingerprint: str | None = None
    """The fingerprint that was written with the weights; older models have none."""

    @property
    def has_softmax(self) -> bool:
        return SOFTMAX_WEIGHT in self.tensors

    @cached_property
    def fingerprint(self) -> str:
        """A hash of config, weights and dictionaries; equal for equal models, however they are stored."""
        if self.stored_fingerprint is not None:
            return self.stored_fingerprint
        names = sorted(self.config.tensor_shapes())
        arrays = ((name, np.asarray(self.tensors[name], np.float32)) for name in names)
        return fingerprint_of(self.config, arrays, self.spelling)

    def without_softmax(self) -> Weights:
        kept = {name: array for name, array in self.tensors.items() if name not in SOFTMAX_NAMES}
        return replace(self, tensors=kept)

    def check(self, path: Path) -> None:
        """Raise FormatError for anything a model must not contain. The message names `path`, the file of the model."""
        check_shapes(path, self.config, {name: array.shape for name, array in self.tensors.items()})
        for name, array in self.tensors.items():
            if array.dtype.name not in ("float32", "float16"):
                raise FormatError(path, f"is {array.dtype}; expected float32", part=name)
            require_finite(path, f"tensor {name}", array)
        check_padding(path, self.config, self.tensors)
        self.check_spelling(path)
        self.check_softmax(path)

    def check_spelling(self, path: Path) -> None:
        """Raise FormatError, naming `path`, for dictionaries that do not belong to the config."""
        lookup, spelling = self.config.lookup, self.spelling
        if lookup is None or spelling is None:
            if lookup is not None or spelling is not None:
                raise FormatError(path, "has dictionaries, or a config that needs them, but not both")
            return
        tables = {"words": (spelling.words, lookup.num_words), "characters": (spelling.symbols, lookup.num_symbols)}
        for what, (numbers, most) in tables.items():
            if bool(numbers) != bool(most) or not all(0 <= number < most for number in numbers.values()):
                raise FormatError(path, f"the numbers of the {what} in the dictionary are not 0 to {most - 1}")
        if spelling.padding_id != lookup.padding_id:
            raise FormatError(path, "the padding has different numbers in the dictionary and in the config")

    def check_softmax(self, path: Path) -> None:
        """Raise FormatError, naming `path`, if the softmax does not have one row per token of the vocabulary."""
        if self.has_softmax and self.vocabulary is not None:
            rows, tokens = len(self.tensors[SOFTMAX_BIAS]), len(self.vocabulary)
            if rows != tokens:
                raise FormatError(path, f"the softmax has {rows} rows, but the vocabulary has {tokens} tokens")


def fingerprint_of(
    config: BiLMConfig, arrays: Iterable[tuple[str, NDArray[Any]]], spelling: DictionarySpelling | None
) -> str:
    """The hash of a model with these weights, which are sorted by name.

    Caches and results are found by it, so it must stay the same for existing models.
    """
    digest = hashlib.blake2b(config.text().encode(), digest_size=16)
    for name, array in arrays:
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(array).data)
    if config.lookup is not None:
        digest.update(repr((config.lookup, spelling)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def check_padding(path: Path, config: BiLMConfig, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Raise FormatError unless the rows that represent the padding token are zeros."""
    for name in config.padding_rows:
        if tensors[name][0].any():
            raise FormatError(path, "row 0 is for padding tokens and must be zeros", part=name)


def below_padding(table: NDArray[Any]) -> NDArray[Any]:
    """The table with a row of zeros above it, for the padding token."""
    return np.concatenate([np.zeros_like(table[:1]), table])


def check_shapes(path: Path, config: BiLMConfig, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise FormatError for names and shapes that differ from the config's. The softmax may be absent."""
    expected = config.tensor_shapes()
    if any(name in shapes for name in SOFTMAX_NAMES):
        rows = next(iter(shapes.get(SOFTMAX_BIAS) or shapes.get(SOFTMAX_WEIGHT) or (0,)))
        expected |= {SOFTMAX_WEIGHT: (rows, config.projection_dim), SOFTMAX_BIAS: (rows,)}
    for name, shape in expected.items():
        if name not in shapes:
            raise FormatError(path, f"is missing; expected shape {shape}", part=name)
        if shapes[name] != shape:
            raise FormatError(path, f"has shape {shapes[name]}; the config says {shape}", part=name)
    for name in shapes:
        if name not in expected:
            raise FormatError(path, "is not a weight of the biLM that the config describes", part=name)
