"""Maps tensors of other formats to ours: one table for bilm-tf, one for the modules of AllenNLP.

A row of a table converts one of their tensors to ours, and back: it reorders gates, transposes matrices, shifts
character rows. ELMoForManyLangs is based on AllenNLP's modules; only the names in its char encoder differ.
Source: bilm-tf's `dump_weights` and `_pretrained_initializer`, AllenNLP's `elmo_lstm.load_weights`, `elmo.py`,
`highway.py` and `lstm_cell_with_projection.py`, ELMoForManyLangs' `embedding_layer.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from elmokit.files.atomic import new_folder, write_text
from elmokit.files.hdf5 import write_datasets
from elmokit.files.json import json_text
from elmokit.files.weights_file import check_entry, read_finite
from elmokit.model.weights import PADDING_TOKEN, SOFTMAX_BIAS, SOFTMAX_WEIGHT, below_padding
from elmokit.system.messages import FormatError
from elmokit.text.character_numbers import NUM_CHARACTERS, SHIFT

if TYPE_CHECKING:
    from elmokit.files.weights_file import Array, Entry, WeightsFile
    from elmokit.model.config import BiLMConfig
    from elmokit.model.weights import Weights

SAID_BY_OPTIONS = "options.json calls for"
SAID_BY_TENSORS = "the other tensors call for"
"""Where the expected shape of a tensor comes from, for error messages."""
OPTIONS_NAME = "options.json"
WEIGHTS_NAME = "weights.hdf5"
VOCABULARY_NAME = "vocabulary.txt"

TRAINING_OPTIONS = (
    *("all_clip_norm_val", "batch_size", "dropout", "learning_rate", "n_epochs", "n_negative_samples_batch"),
    *("n_tokens_vocab", "n_train_tokens", "sample_softmax", "share_embedding_softmax", "unroll_steps"),
)
"""Options that do not affect inference, kept as a record of how the model was trained."""
STORED_TRAINING_OPTIONS = "bilm_tf_options"  # the key of these options in `Weights.pretraining`
AT_PREDICTION = 262  # characters; a checkpoint says 261, because bilm-tf trains with 261 and predicts with 262

LSTM_ROOTS = ("RNN", "rnn")
WORDS = "embedding"
"""bilm-tf's table of word vectors, either of a model without characters or computed from characters."""
FORGET_BIAS = 1.0
"""`layers/projected_lstm.py` adds this to the forget gate, as TensorFlow does. AllenNLP stores it in the bias."""
_FROM_TENSORFLOW = [0, 2, 3, 1]  # gates i, j, f, o -> i, f, o, j
_TO_TENSORFLOW = [0, 3, 1, 2]
_ALLENNLP = [0, 1, 3, 2]  # i, f, g, o -> i, f, o, g, and back

Way: TypeAlias = tuple[Callable[[Any], tuple[Any, ...]], Callable[[Any], Any]]


@dataclass(frozen=True)
class Row:
    """One tensor: its name and shape, the native tensors that it holds, and how to convert in both directions."""

    name: str
    shape: tuple[int, ...]
    native: tuple[str, ...]
    load: Callable[[Any], tuple[Any, ...]]
    """Their array (for modules, their torch tensor) -> the native ones."""
    save: Callable[[Any], Any]
    """The native ones, joined along their first axis, -> their array. Does not work for tables of a dictionary."""


@dataclass(frozen=True)
class Names:
    """Prefixes of the names of a module's tensors. The tables have no suffix; others add a number, a part, or both."""

    embedding: str
    convolution: str
    highway: str
    projection: str
    lstm: str
    words: str = ""


def read_native(
    table: Sequence[Row], file: WeightsFile, *, expected: str = SAID_BY_OPTIONS
) -> tuple[dict[str, Array], list[str]]:
    """All tensors of a table by native name, and their dtypes in the file."""
    for row in table:
        check_entry(file, row.name, row.shape, expected=expected)
    tensors: dict[str, Array] = {}
    for row in table:
        tensors |= zip(row.native, row.load(read_finite(file, row.name)), strict=True)
    return tensors, sorted({file.entries[row.name].dtype for row in table})


def bilm_tf_rows(config: BiLMConfig, present: Container[str] = ()) -> Iterator[Row]:
    """The datasets of bilm-tf. An LSTM's datasets use the names that are `present`, or else the released names."""
    filters, dim, cells = config.num_filters, config.projection_dim, config.lstm_dim
    if config.lookup is not None:
        yield Row(WORDS, (config.lookup.num_words, dim), ("char_encoder.words.weight",), *_PADDED)
    else:
        yield Row("char_embed", (NUM_CHARACTERS - SHIFT, config.character_dim), (PADDING_TOKEN,), *_PADDED)
        for index, (width, number) in enumerate(config.filters):
            ours = f"char_encoder.convolutions.{index}"
            yield Row(f"CNN/W_cnn_{index}", (1, width, config.character_dim, number), (f"{ours}.weight",), *_FILTER)
            yield Row(f"CNN/b_cnn_{index}", (number,), (f"{ours}.bias",), *_SAME)
        for index in range(config.num_highway_layers):
            for part, theirs in (("transform", "transform"), ("gate", "carry")):
                ours = f"char_encoder.highways.{index}.{part}"
                yield Row(f"CNN_high_{index}/W_{theirs}", (filters, filters), (f"{ours}.weight",), *_TURNED)
                yield Row(f"CNN_high_{index}/b_{theirs}", (filters,), (f"{ours}.bias",), *_SAME)
        if filters != dim:
            yield Row("CNN_proj/W_proj", (filters, dim), ("char_encoder.projection.weight",), *_TURNED)
            yield Row("CNN_proj/b_proj", (dim,), ("char_encoder.projection.bias",), *_SAME)
    for direction in range(config.num_directions):
        for layer in range(config.num_layers):
            ours = f"{('forward', 'backward')[direction]}_lstm.layers.{layer}"
            kernel, bias, projection = _cell(direction, layer, config.num_layers, present)
            yield Row(kernel, (2 * dim, 4 * cells), (f"{ours}.input_weight", f"{ours}.recurrent_weight"), *_KERNEL)
            yield Row(bias, (4 * cells,), (f"{ours}.bias",), *_BIAS)
            if dim != cells:
                yield Row(projection, (cells, dim), (f"{ours}.projection_weight",), *_TURNED)


def softmax_rows(config: BiLMConfig, present: Mapping[str, Entry]) -> Iterator[Row]:
    """The softmax of a checkpoint. A model that reads words may use its table of words as the softmax's weight."""
    if (bias := present.get("softmax/b")) is None:
        return
    weight = WORDS if WORDS in present and "softmax/W" not in present else "softmax/W"
    rows = bias.shape[:1]
    yield Row(weight, (*rows, config.projection_dim), (SOFTMAX_WEIGHT,), *_SAME)
    yield Row("softmax/b", rows, (SOFTMAX_BIAS,), *_SAME)


def _cell(direction: int, layer: int, num_layers: int, present: Container[str]) -> tuple[str, str, str]:
    """The names of a cell's tensors, among all that TensorFlow's scopes and the renaming in `dump_weights` may give.

    Checkpoints use TensorFlow's lower-case names. A dump of a single layer has no MultiRNNCell. A dump of a forward
    model has no RNN_0, so `rnn` is at the start of its names. There, `dump_weights` fails to rename rnn, kernel and
    bias.
    """
    cells = [f"MultiRNNCell/Cell{layer}/LSTMCell", f"multi_rnn_cell/cell_{layer}/lstm_cell"]
    cells += ["LSTMCell", "lstm_cell"] if num_layers == 1 else []
    roots = [f"RNN_{direction}/RNN", f"RNN_{direction}/rnn", *(LSTM_ROOTS if direction == 0 else ())]
    endings = (("W_0", "B", "W_P_0"), ("kernel", "bias", "projection/kernel"))
    scopes = [(f"{root}/{cell}", ending) for root in roots for cell in cells for ending in endings]
    scope, ending = next(((scope, ends) for scope, ends in scopes if f"{scope}/{ends[0]}" in present), scopes[0])
    kernel, bias, projection = (f"{scope}/{part}" for part in ending)
    return kernel, bias, projection


def module_rows(config: BiLMConfig, names: Names) -> Iterator[Row]:
    """The tensors of a module of AllenNLP or ELMoForManyLangs."""
    shapes = config.tensor_shapes()
    encoder = "char_encoder" if config.lookup is None else "char_encoder.characters"

    def row(name: str, *native: str, way: Way = _SAME) -> Row:
        length = sum(shapes[part][0] for part in native) - (way is _PADDED)
        return Row(name, (length, *shapes[native[0]][1:]), native, *way)

    if config.lookup is not None and config.lookup.num_words:
        yield row(names.words, "char_encoder.words.weight", way=_PADDED)
    if config.reads_characters:  # in dictionaries, the padding symbol has a row, which is not zero
        yield row(names.embedding, f"{encoder}.embedding.weight", way=_SAME if config.lookup is None else _PADDED)
    for part in ("weight", "bias"):
        for index in range(len(config.filters)):
            yield row(f"{names.convolution}{index}.{part}", f"{encoder}.convolutions.{index}.{part}")
        for index in range(config.num_highway_layers if config.reads_characters else 0):
            ours = f"{encoder}.highways.{index}"
            both = (f"{ours}.transform.{part}", f"{ours}.gate.{part}")
            yield row(f"{names.highway}{index}.{part}", *both, way=_HIGHWAY)
        yield row(f"{names.projection}{part}", f"char_encoder.projection.{part}")
    for direction in ("forward", "backward"):
        for index in range(config.num_layers):
            theirs, ours = f"{names.lstm}{direction}_layer_{index}", f"{direction}_lstm.layers.{index}"
            yield row(f"{theirs}.input_linearity.weight", f"{ours}.input_weight", way=_GATES)
            yield row(f"{theirs}.state_linearity.weight", f"{ours}.recurrent_weight", way=_GATES)
            yield row(f"{theirs}.state_linearity.bias", f"{ours}.bias", way=_GATE_BIAS)
            yield row(f"{theirs}.state_projection.weight", f"{ours}.projection_weight")


def sizes_of(file: WeightsFile, names: Names) -> dict[str, Any]:
    """The sizes of a biLM with these tensors, as fields of `BiLMConfig`."""
    entries = file.entries

    def shape(name: str, dimensions: int) -> tuple[int, ...]:
        found = entries[name].shape if name in entries else None
        if found is None or len(found) != dimensions or not all(found):
            said = "is missing" if found is None else f"has shape {found}"
            raise FormatError(file.path, f"{said}; expected {dimensions} dimensions", part=f"tensor {name}")
        return found

    filters = [shape(name, 3) for name in numbered(entries, names.convolution, ".weight")]
    layer = f"{names.lstm}forward_layer_0."
    gates, _ = shape(f"{layer}input_linearity.weight", 2)
    dim, hidden = shape(f"{layer}state_projection.weight", 2)
    if gates != 4 * hidden:
        raise FormatError(file.path, f"has {gates} rows; expected four gates of {hidden} cells", part=f"tensor {layer}")
    if dim >= hidden:
        reason = f"projects {hidden} cells to {dim}; elmokit supports only projections to fewer"
        raise FormatError(file.path, reason, part=f"tensor {layer}")
    return {
        "filters": tuple((width, number) for number, _, width in filters),
        "character_dim": shape(names.embedding, 2)[1] if filters else 1,
        "num_highway_layers": len(list(numbered(entries, names.highway, ".weight"))),
        "num_layers": len(list(numbered(entries, f"{names.lstm}forward_layer_", ".input_linearity.weight"))),
        "lstm_dim": hidden,
        "projection_dim": dim,
    }


def numbered(present: Container[str], start: str, end: str) -> Iterator[str]:
    """The names `start`0`end`, `start`1`end` and so on, up to the first that is missing."""
    for number in count():
        if (name := f"{start}{number}{end}") not in present:
            return
        yield name


def _gates(gates: Any, order: Sequence[int]) -> Any:
    """A copy with the gates, which are blocks of rows, in another order."""
    return gates.reshape(4, -1, *gates.shape[1:])[order].reshape(gates.shape)


def _gate_bias(bias: Any, more: float) -> Any:
    turned = _gates(bias, _ALLENNLP)
    turned.reshape(4, -1)[1] += more
    return turned


def _highway(both: Any) -> Any:
    """Negate the gate, which carries in their code and transforms in ours: 1 - sigmoid(x) is sigmoid(-x)."""
    turned = both * 1
    turned[len(both) // 2 :] *= -1
    return turned


def _halves(both: Any) -> tuple[Any, ...]:
    return both[: len(both) // 2], both[len(both) // 2 :]


_SAME: Way = lambda array: (array,), lambda array: array
_PADDED: Way = lambda table: (below_padding(table),), lambda table: table[1:]
_TURNED: Way = lambda matrix: (matrix.T,), lambda matrix: matrix.T
_FILTER: Way = lambda weight: (weight[0].transpose(2, 1, 0),), lambda weight: weight.transpose(2, 1, 0)[None]
_KERNEL: Way = (
    lambda kernel: tuple(_gates(half.T, _FROM_TENSORFLOW) for half in _halves(kernel)),
    lambda weights: _gates(np.concatenate(_halves(weights), axis=1), _TO_TENSORFLOW).T,
)
_BIAS: Way = lambda bias: (_gates(bias, _FROM_TENSORFLOW),), lambda bias: _gates(bias, _TO_TENSORFLOW)
_HIGHWAY: Way = lambda both: _halves(_highway(both)), _highway
_GATES: Way = lambda gates: (_gates(gates, _ALLENNLP),), lambda gates: _gates(gates, _ALLENNLP)
_GATE_BIAS: Way = lambda bias: (_gate_bias(bias, -FORGET_BIAS),), lambda bias: _gate_bias(bias, FORGET_BIAS)


def write_bilm_tf(folder: Path, weights: Weights) -> list[str]:
    """Write options.json, weights.hdf5 and the vocabulary, if any, into a new folder, completely or not at all.

    Returns notes for the user about the parts that were left out. Raises FormatError for a model that reads words from
    a dictionary, and for one that could not be read back.
    """
    config = weights.config
    if config.lookup is not None:
        raise FormatError(folder, "the HDF5 format stores only models that read bytes; this one reads words")
    weights.without_softmax().check(folder)
    tensors = {name: np.asarray(weights.tensors[name], np.float32) for name in config.tensor_shapes()}
    options = json_text(folder / OPTIONS_NAME, _options_of(weights))
    joined = ((row, np.concatenate([tensors[name] for name in row.native])) for row in bilm_tf_rows(config))
    datasets = ((row.name, row.save(array)) for row, array in joined)
    with new_folder(folder) as staging:
        write_datasets(staging / WEIGHTS_NAME, datasets)
        if weights.vocabulary is not None:
            weights.vocabulary.write(staging / VOCABULARY_NAME)
        write_text(staging / OPTIONS_NAME, options)
    left_out = "the softmax was left out, because the HDF5 format cannot store it; keep the native model for it"
    return [left_out] if weights.has_softmax else []


def _options_of(weights: Weights) -> dict[str, object]:
    """Contents of the options.json of a model; training options are included if it was read from such a file."""
    config = weights.config
    training = (weights.pretraining or {}).get(STORED_TRAINING_OPTIONS)
    known = cast("dict[str, object]", training) if isinstance(training, dict) else {}
    options = {name: value for name, value in known.items() if name in TRAINING_OPTIONS}
    return options | {
        "bidirectional": config.bidirectional,
        "lstm": {
            "dim": config.lstm_dim,
            "projection_dim": config.projection_dim,
            "n_layers": config.num_layers,
            "cell_clip": config.cell_clip,  # null if there is none: AllenNLP requires the key
            "proj_clip": config.projection_clip,
            "use_skip_connections": config.use_skip_connections,
        },
        "char_cnn": {
            "activation": config.activation,
            "embedding": {"dim": config.character_dim},
            "filters": [list(pair) for pair in config.filters],
            "max_characters_per_token": config.max_characters_per_token,
            "n_characters": AT_PREDICTION,
            "n_highway": config.num_highway_layers,
        },
    }
