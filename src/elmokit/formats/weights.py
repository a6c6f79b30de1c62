"""A biLM as NumPy arrays, which every format is read into and written from, and the checks that formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.weights_file import Array, require_finite
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from jaxtyping import Float

    from elmokit.model.config import BiLMConfig
    from elmokit.text.indexer import DictionarySpelling
    from elmokit.text.vocabulary import Vocabulary

SOFTMAX_WEIGHT = "softmax.weight"
SOFTMAX_BIAS = "softmax.bias"
SOFTMAX_NAMES = (SOFTMAX_WEIGHT, SOFTMAX_BIAS)
PADDING_TOKEN = "char_encoder.embedding.weight"
"""The tensor whose row 0 represents padding tokens: it is always zeros, and HDF5 files do not contain it."""


@dataclass(frozen=True)
class StoredMix:
    """A scalar mix that a task model has learned: `gamma * sum_j softmax(weights)_j * layers[j]`."""

    name: str
    """Its name in the file, such as `text_field_embedder.token_embedder_elmo._elmo.scalar_mix_0`."""
    weights: tuple[float, ...]
    """One per layer, from layer 0 on, before the softmax."""
    gamma: float

    def __call__(self, layers: Float[np.ndarray, "L T E"]) -> Float[np.ndarray, "T E"]:
        """The mixed vectors of a sentence, from `Elmo.encode(..., layers="all")`.

        Raises ValueError for another number of layers.
        """
        if len(layers) != len(self.weights):
            raise ValueError(f"a mix over {len(self.weights)} layers was given {len(layers)}")
        shares = np.exp(np.array(self.weights) - max(self.weights))
        return (self.gamma * np.tensordot(shares / shares.sum(), layers, axes=1)).astype(np.float32)


class UnreadTensors(MutableMapping[str, Array]):
    """Tensors by name, each read anew whenever it is asked for, so that no more are in memory than are used."""

    def __init__(self, readers: dict[str, Callable[[], Array]]) -> None:
        self._readers = readers

    def __getitem__(self, name: str) -> Array:
        return self._readers[name]()

    def __setitem__(self, name: str, array: Array) -> None:
        self._readers[name] = lambda: array

    def __delitem__(self, name: str) -> None:
        del self._readers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)


@dataclass(frozen=True)
class StoredBiLM:
    """Weights in float32 by native name, with config and vocabulary; the softmax tensors may be absent."""

    config: BiLMConfig
    tensors: MutableMapping[str, Array]
    vocabulary: Vocabulary | None = None
    pretraining: dict[str, object] | None = None
    """How the model was trained, as JSON; the training options of a bilm-tf model are under `bilm_tf_options`."""
    spelling: DictionarySpelling | None = None
    """The dictionaries of a model whose config has a `lookup`."""

    @property
    def has_softmax(self) -> bool:
        return SOFTMAX_WEIGHT in self.tensors

    def without_softmax(self) -> StoredBiLM:
        kept = {name: array for name, array in self.tensors.items() if name not in SOFTMAX_NAMES}
        return replace(self, tensors=kept)

    def check(self, path: Path) -> None:
        """Raise FormatError for what no format may contain; `path`, for the message, is the file read or written."""
        check_shapes(path, self.config, {name: array.shape for name, array in self.tensors.items()})
        for name, array in self.tensors.items():
            if array.dtype != np.float32:
                raise FormatError(path, f"is {array.dtype}; expected float32", part=name)
            require_finite(path, name, array)
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
                raise FormatError(path, f"the dictionary has other numbers of {what} than 0 to {most - 1}")
        if spelling.padding_id != lookup.padding_id:
            raise FormatError(path, "the dictionary has another number for the padding than the config")

    def check_softmax(self, path: Path) -> None:
        """Raise FormatError, naming `path`, for a softmax that has another number of rows than the vocabulary."""
        if self.has_softmax and self.vocabulary is not None:
            rows, tokens = len(self.tensors[SOFTMAX_BIAS]), len(self.vocabulary)
            if rows != tokens:
                raise FormatError(path, f"the softmax has {rows} rows, but the vocabulary has {tokens} tokens")


def check_padding(path: Path, config: BiLMConfig, tensors: Mapping[str, Array]) -> None:
    """Raise FormatError unless the rows that represent the padding token are zeros."""
    for name in config.padding_rows:
        if tensors[name][0].any():
            raise FormatError(path, "row 0 is for padding tokens and must be zeros", part=name)


def below_padding(table: Array) -> Array:
    """The table with a row of zeros above it, for the padding token."""
    return np.concatenate([np.zeros_like(table[:1]), table])


def check_shapes(path: Path, config: BiLMConfig, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise FormatError for names and shapes other than those that the config says; the softmax may be absent."""
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
