"""Which HDF5 dataset of a bilm-tf dump contains which weights, with the transposes and gate orders between them.

Source: bilm-tf's `dump_weights` and `_pretrained_initializer`, AllenNLP's `elmo_lstm.load_weights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.weights_file import Array
from elmokit.formats.weights import PADDING_TOKEN, below_padding
from elmokit.text.character_numbers import NUM_CHARACTERS, SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from elmokit.model.config import BiLMConfig

LSTM_ROOTS = ("RNN", "rnn")
ROOTS = ("char_embed", "CNN", "RNN", "rnn/")
"""Datasets whose names begin with one of these are part of the biLM."""

WORDS = "embedding"
"""The table of words of a model without characters, or of vectors that were computed from characters."""
_DIRECTIONS = ("forward_lstm", "backward_lstm")
_FROM_TENSORFLOW = [0, 2, 3, 1]  # gates i, j, f, o -> i, f, o, j
_TO_TENSORFLOW = [0, 3, 1, 2]


@dataclass(frozen=True)
class CellNames:
    """The datasets of one LSTM layer of one direction."""

    kernel: str
    bias: str
    projection: str


def holds_weights(names: Iterable[str]) -> bool:
    """Whether the names are those of a biLM, complete or not."""
    return any(name.startswith(ROOTS) for name in names)


def cell_names(config: BiLMConfig, present: Container[str] = ()) -> dict[tuple[int, int], CellNames]:
    """Datasets by (direction, layer): the spelling whose kernel is `present`, or else that of bilm-tf and AllenNLP."""
    names: dict[tuple[int, int], CellNames] = {}
    for direction in range(config.num_directions):
        for layer in range(config.num_layers):
            spellings = list(_spellings(direction, layer, num_layers=config.num_layers))
            found = (spelling for spelling in spellings if spelling.kernel in present)
            names[direction, layer] = next(found, spellings[0])
    return names


def _spellings(direction: int, layer: int, *, num_layers: int) -> Iterator[CellNames]:
    """The names that TensorFlow's scopes and the renaming in `dump_weights` may give to a cell.

    Checkpoints have the names of TensorFlow, in lower case. A dump of a single layer has no MultiRNNCell. A dump of a
    forward model has no RNN_0; then `rnn` is at the start of the name, where the renaming of rnn, kernel and bias
    misses it.
    """
    cells = [f"MultiRNNCell/Cell{layer}/LSTMCell", f"multi_rnn_cell/cell_{layer}/lstm_cell"]
    if num_layers == 1:
        cells += ["LSTMCell", "lstm_cell"]
    roots = [f"RNN_{direction}/RNN", f"RNN_{direction}/rnn", *(["RNN", "rnn"] if direction == 0 else [])]
    for root in roots:
        for cell in cells:
            yield CellNames(f"{root}/{cell}/W_0", f"{root}/{cell}/B", f"{root}/{cell}/W_P_0")
            yield CellNames(f"{root}/{cell}/kernel", f"{root}/{cell}/bias", f"{root}/{cell}/projection/kernel")


def dataset_shapes(config: BiLMConfig, cells: dict[tuple[int, int], CellNames]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of all datasets, as in the file."""
    shapes = _token_shapes(config)
    for names in cells.values():
        shapes[names.kernel] = (2 * config.projection_dim, 4 * config.lstm_dim)
        shapes[names.bias] = (4 * config.lstm_dim,)
        if config.projection_dim != config.lstm_dim:
            shapes[names.projection] = (config.lstm_dim, config.projection_dim)
    return shapes


def _token_shapes(config: BiLMConfig) -> dict[str, tuple[int, ...]]:
    num_filters, dim = config.num_filters, config.projection_dim
    if config.lookup is not None:
        return {WORDS: (config.lookup.num_words, dim)}
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (NUM_CHARACTERS - SHIFT, config.character_dim)}
    for index, (width, number) in enumerate(config.filters):
        shapes[f"CNN/W_cnn_{index}"] = (1, width, config.character_dim, number)
        shapes[f"CNN/b_cnn_{index}"] = (number,)
    for index in range(config.num_highway_layers):
        for part in ("carry", "transform"):
            shapes[f"CNN_high_{index}/W_{part}"] = (num_filters, num_filters)
            shapes[f"CNN_high_{index}/b_{part}"] = (num_filters,)
    if num_filters != dim:
        shapes["CNN_proj/W_proj"] = (num_filters, dim)
        shapes["CNN_proj/b_proj"] = (dim,)
    return shapes


def to_native(
    config: BiLMConfig, cells: dict[tuple[int, int], CellNames], read: Callable[[str], Array]
) -> dict[str, Array]:
    """All tensors by native name; `read` returns a dataset by its name in the file."""
    tensors = _tokens_to_native(config, read)
    for (direction, layer), names in cells.items():
        lstm = f"{_DIRECTIONS[direction]}.layers.{layer}"
        kernel = read(names.kernel).T
        tensors[f"{lstm}.input_weight"] = _reorder(kernel[:, : config.projection_dim], _FROM_TENSORFLOW)
        tensors[f"{lstm}.recurrent_weight"] = _reorder(kernel[:, config.projection_dim :], _FROM_TENSORFLOW)
        tensors[f"{lstm}.bias"] = _reorder(read(names.bias), _FROM_TENSORFLOW)
        if config.projection_dim != config.lstm_dim:
            tensors[f"{lstm}.projection_weight"] = np.ascontiguousarray(read(names.projection).T)
    return tensors


def _tokens_to_native(config: BiLMConfig, read: Callable[[str], Array]) -> dict[str, Array]:
    if config.lookup is not None:
        return {"char_encoder.words.weight": below_padding(read(WORDS))}
    tensors = {PADDING_TOKEN: below_padding(read("char_embed"))}
    for index in range(len(config.filters)):
        convolution = f"char_encoder.convolutions.{index}"
        tensors[f"{convolution}.weight"] = np.ascontiguousarray(read(f"CNN/W_cnn_{index}")[0].transpose(2, 1, 0))
        tensors[f"{convolution}.bias"] = read(f"CNN/b_cnn_{index}")
    for index in range(config.num_highway_layers):
        for ours, theirs in (("transform", "transform"), ("gate", "carry")):
            linear = f"char_encoder.highways.{index}.{ours}"
            tensors[f"{linear}.weight"] = np.ascontiguousarray(read(f"CNN_high_{index}/W_{theirs}").T)
            tensors[f"{linear}.bias"] = read(f"CNN_high_{index}/b_{theirs}")
    if config.num_filters != config.projection_dim:
        tensors["char_encoder.projection.weight"] = np.ascontiguousarray(read("CNN_proj/W_proj").T)
        tensors["char_encoder.projection.bias"] = read("CNN_proj/b_proj")
    return tensors


def to_datasets(config: BiLMConfig, tensors: dict[str, Array]) -> Iterator[tuple[str, Array]]:
    """Names and values of all datasets of the file; the inverse of `to_native`."""
    yield "char_embed", tensors[PADDING_TOKEN][1:]
    for index in range(len(config.filters)):
        convolution = f"char_encoder.convolutions.{index}"
        yield f"CNN/W_cnn_{index}", tensors[f"{convolution}.weight"].transpose(2, 1, 0)[None]
        yield f"CNN/b_cnn_{index}", tensors[f"{convolution}.bias"]
    for index in range(config.num_highway_layers):
        for ours, theirs in (("transform", "transform"), ("gate", "carry")):
            linear = f"char_encoder.highways.{index}.{ours}"
            yield f"CNN_high_{index}/W_{theirs}", tensors[f"{linear}.weight"].T
            yield f"CNN_high_{index}/b_{theirs}", tensors[f"{linear}.bias"]
    if config.num_filters != config.projection_dim:
        yield "CNN_proj/W_proj", tensors["char_encoder.projection.weight"].T
        yield "CNN_proj/b_proj", tensors["char_encoder.projection.bias"]
    for (direction, layer), names in cell_names(config).items():
        lstm = f"{_DIRECTIONS[direction]}.layers.{layer}"
        kernel = [tensors[f"{lstm}.input_weight"], tensors[f"{lstm}.recurrent_weight"]]
        yield names.kernel, _reorder(np.concatenate(kernel, axis=1), _TO_TENSORFLOW).T
        yield names.bias, _reorder(tensors[f"{lstm}.bias"], _TO_TENSORFLOW)
        if config.projection_dim != config.lstm_dim:
            yield names.projection, tensors[f"{lstm}.projection_weight"].T


def _reorder(gates: Array, order: list[int]) -> Array:
    """The blocks of rows, one per gate, in another order."""
    blocks = gates.reshape(4, -1, *gates.shape[1:])
    return np.ascontiguousarray(blocks[order]).reshape(gates.shape)
