"""The weights of a bilm-tf model in an HDF5 file or a checkpoint: which dataset holds what, checked and read.

Nothing is allocated before the whole file has been checked. Source: bilm-tf's `dump_weights` and
`_pretrained_initializer`, AllenNLP's `elmo_lstm.load_weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from elmokit.files.weights_file import MAX_EXPANSION, SMALL, Array, Entry, WeightsFile, require_finite
from elmokit.formats.weights import PADDING_TOKEN, below_padding
from elmokit.system.messages import FormatError, join_names, plural, printable, readable_bytes
from elmokit.text.character_numbers import NUM_CHARACTERS, SHIFT

if TYPE_CHECKING:
    from elmokit.formats.inspection import Inspection
    from elmokit.formats.options_json import Options
    from elmokit.model.config import BiLMConfig

    Way: TypeAlias = tuple[Callable[[Array], tuple[Array, ...]], Callable[[Sequence[Array]], Array]]

LSTM_ROOTS = ("RNN", "rnn")
ROOTS = ("char_embed", "CNN", "RNN", "rnn/")
"""Datasets whose names begin with one of these are part of the biLM."""

WORDS = "embedding"
"""The table of words of a model without characters, or of vectors that were computed from characters."""
_FROM_TENSORFLOW = [0, 2, 3, 1]  # gates i, j, f, o -> i, f, o, j
_TO_TENSORFLOW = [0, 3, 1, 2]


@dataclass(frozen=True)
class Row:
    """One dataset: its name and shape, the native tensors that it holds, and the way there and back."""

    dataset: str
    shape: tuple[int, ...]
    native: tuple[str, ...]
    load: Callable[[Array], tuple[Array, ...]] = lambda array: (array,)
    save: Callable[[Sequence[Array]], Array] = lambda parts: parts[0]


def rows(config: BiLMConfig, present: Container[str] = ()) -> Iterator[Row]:
    """The table of a config; LSTM datasets under the names that are `present`, or else those of bilm-tf."""
    filters, dim, cells = config.num_filters, config.projection_dim, config.lstm_dim
    if config.lookup is not None:
        yield Row(WORDS, (config.lookup.num_words, dim), ("char_encoder.words.weight",), *_PADDED)
    else:
        yield Row("char_embed", (NUM_CHARACTERS - SHIFT, config.character_dim), (PADDING_TOKEN,), *_PADDED)
        for index, (width, number) in enumerate(config.filters):
            ours = f"char_encoder.convolutions.{index}"
            yield Row(f"CNN/W_cnn_{index}", (1, width, config.character_dim, number), (f"{ours}.weight",), *_FILTER)
            yield Row(f"CNN/b_cnn_{index}", (number,), (f"{ours}.bias",))
        for index in range(config.num_highway_layers):
            for part, theirs in (("transform", "transform"), ("gate", "carry")):
                ours = f"char_encoder.highways.{index}.{part}"
                yield Row(f"CNN_high_{index}/W_{theirs}", (filters, filters), (f"{ours}.weight",), *_TURNED)
                yield Row(f"CNN_high_{index}/b_{theirs}", (filters,), (f"{ours}.bias",))
        if filters != dim:
            yield Row("CNN_proj/W_proj", (filters, dim), ("char_encoder.projection.weight",), *_TURNED)
            yield Row("CNN_proj/b_proj", (dim,), ("char_encoder.projection.bias",))
    for direction in range(config.num_directions):
        for layer in range(config.num_layers):
            ours = f"{('forward', 'backward')[direction]}_lstm.layers.{layer}"
            kernel, bias, projection = _cell(direction, layer, config.num_layers, present)
            yield Row(kernel, (2 * dim, 4 * cells), (f"{ours}.input_weight", f"{ours}.recurrent_weight"), *_KERNEL)
            yield Row(bias, (4 * cells,), (f"{ours}.bias",), *_BIAS)
            if dim != cells:
                yield Row(projection, (cells, dim), (f"{ours}.projection_weight",), *_TURNED)


def _cell(direction: int, layer: int, num_layers: int, present: Container[str]) -> tuple[str, str, str]:
    """The names that TensorFlow's scopes and the renaming in `dump_weights` may give to a cell.

    Checkpoints have the names of TensorFlow, in lower case. A dump of a single layer has no MultiRNNCell. A dump of a
    forward model has no RNN_0; then `rnn` is at the start of the name, where the renaming of rnn, kernel and bias
    misses it.
    """
    cells = [f"MultiRNNCell/Cell{layer}/LSTMCell", f"multi_rnn_cell/cell_{layer}/lstm_cell"]
    cells += ["LSTMCell", "lstm_cell"] if num_layers == 1 else []
    roots = [f"RNN_{direction}/RNN", f"RNN_{direction}/rnn", *(LSTM_ROOTS if direction == 0 else ())]
    endings = (("W_0", "B", "W_P_0"), ("kernel", "bias", "projection/kernel"))
    names = [
        (f"{root}/{cell}/{kernel}", f"{root}/{cell}/{bias}", f"{root}/{cell}/{projection}")
        for root in roots
        for cell in cells
        for kernel, bias, projection in endings
    ]
    return next((name for name in names if name[0] in present), names[0])


def _gates(gates: Array, order: list[int]) -> Array:
    """The blocks of rows, one per gate, in another order."""
    return np.ascontiguousarray(gates.reshape(4, -1, *gates.shape[1:])[order]).reshape(gates.shape)


def _halves(kernel: Array) -> tuple[Array, ...]:
    return tuple(_gates(half, _FROM_TENSORFLOW) for half in np.split(kernel.T, 2, axis=1))


def _kernel(parts: Sequence[Array]) -> Array:
    return _gates(np.concatenate(parts, axis=1), _TO_TENSORFLOW).T


_PADDED: Way = (lambda table: (below_padding(table),), lambda parts: parts[0][1:])
_FILTER: Way = (lambda w: (np.ascontiguousarray(w[0].transpose(2, 1, 0)),), lambda w: w[0].transpose(2, 1, 0)[None])
_TURNED: Way = (lambda matrix: (np.ascontiguousarray(matrix.T),), lambda parts: parts[0].T)
_KERNEL: Way = (_halves, _kernel)
_BIAS: Way = (lambda bias: (_gates(bias, _FROM_TENSORFLOW),), lambda parts: _gates(parts[0], _TO_TENSORFLOW))


def holds_weights(names: Iterable[str]) -> bool:
    """Whether the names are those of a biLM, complete or not."""
    return any(name.startswith(ROOTS) for name in names)


def to_datasets(config: BiLMConfig, tensors: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """Names and values of all datasets of the file."""
    return ((row.dataset, row.save([tensors[name] for name in row.native])) for row in rows(config))


@dataclass(frozen=True)
class Layout:
    """The datasets that the options call for, under the names that the file uses."""

    config: BiLMConfig
    rows: tuple[Row, ...]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the datasets."""
        return {row.dataset: row.shape for row in self.rows}


def read_weights(file: WeightsFile, layout: Layout) -> dict[str, Array]:
    """All weights but the softmax by native name. Raises FormatError, naming the file, the dataset and the reason."""
    for refusal in refusals(file, layout):
        raise refusal
    tensors: dict[str, Array] = {}
    for row in layout.rows:
        array = file.read(row.dataset)
        require_finite(file.path, f"dataset {row.dataset}", array)
        tensors |= zip(row.native, row.load(array), strict=True)
    return tensors


def inspect_weights(file: WeightsFile, options: Options, inspection: Inspection) -> None:
    """Add what the names and shapes say, without reading weights."""
    layout = layout_of(options, file.entries)
    inspection.config = layout.config
    inspection.refusals += [str(refusal) for refusal in refusals(file, layout)]
    found = [file.entries[name].dtype for name in layout.shapes if name in file.entries]
    inspection.dtypes = sorted({f"float{8 * int(dtype[2:])}" for dtype in found if dtype})
    extra = [name for name in extra_datasets(file, layout) if not name.startswith("softmax/")]
    if extra:
        others = f"{plural(len(extra), 'dataset')} not of a biLM: {join_names(extra)}"
        inspection.risks.append(f"{printable(file.path.name)} has {others}")


def layout_of(options: Options, entries: Mapping[str, Entry]) -> Layout:
    """The layout of a file that matches both the options and the names in the file.

    The options of a model that reads words do not say how many there are, but the file does.

    Options that do not say whether the model is bidirectional mean two directions, as for every other loader, unless
    the file is a dump of a forward model, which has no RNN_0.
    """
    config = options.config
    if not options.says_direction and not any(name.startswith("RNN_") for name in entries):
        config = replace(config, bidirectional=not any(name in entries for name in ("rnn", "RNN")))
    if config.lookup is not None and WORDS in entries:
        num_words = next(iter(entries[WORDS].shape), 0)
        config = replace(config, lookup=replace(config.lookup, num_words=max(num_words, 1)))
    return Layout(config=config, rows=tuple(rows(config, entries)))


def refusals(file: WeightsFile, layout: Layout) -> Iterator[FormatError]:
    """All reasons not to read the weights."""
    for entry in file.entries.values():
        if entry.kind == "other":
            touched = [name for name in layout.shapes if f"{name}/".startswith(f"{entry.name}/")]
            part = f"dataset {touched[0]}" if touched else entry.name
            at = f"{printable(entry.name)} " if touched and touched[0] != entry.name else ""
            yield FormatError(file.path, f"{at}{entry.refusal}", part=part)
    for name, shape in layout.shapes.items():
        entry = file.entries.get(name)
        if entry is None:
            if not _is_refused_already(name, file.entries):
                yield FormatError(
                    file.path, f"is missing; options.json calls for shape {shape}", part=f"dataset {name}"
                )
        elif entry.kind == "group":
            yield FormatError(file.path, "is a group; expected a dataset", part=f"dataset {name}")
        elif entry.refusal is not None:
            yield FormatError(file.path, entry.refusal, part=f"dataset {name}")
        elif entry.shape != shape:
            reason = f"has shape {entry.shape}; options.json calls for {shape}"
            yield FormatError(file.path, reason, part=f"dataset {name}")
    found = [file.entries[name] for name in layout.shapes if name in file.entries]
    stored, read = sum(entry.num_stored_bytes for entry in found), sum(4 * prod(entry.shape) for entry in found)
    if stored > file.num_bytes or read > MAX_EXPANSION * file.num_bytes + SMALL:  # several may claim the same bytes
        sizes = f"{readable_bytes(max(stored, read))} in a file of {readable_bytes(file.num_bytes)}"
        yield FormatError(file.path, f"declares {sizes}, which cannot hold them")
    for name in extra_datasets(file, layout):
        if name.startswith(ROOTS):
            yield FormatError(
                file.path, "is not called for by options.json: they are not a pair", part=f"dataset {name}"
            )


def extra_datasets(file: WeightsFile, layout: Layout) -> list[str]:
    """Datasets that the options do not call for. They are refused if they belong to a biLM, and ignored otherwise.

    A checkpoint has slots of the optimiser, such as `char_embed/Adagrad`, which are as good as not there.
    """
    names = [name for name, entry in file.entries.items() if entry.kind == "dataset" and name not in layout.shapes]
    return [name for name in names if name.rpartition("/")[0] not in layout.shapes]


def _is_refused_already(name: str, entries: dict[str, Entry]) -> bool:
    """Whether a group in the path of the dataset is not a group but, for example, a link, which is refused itself."""
    parts = name.split("/")
    above = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return any(entries[prefix].kind != "group" for prefix in above if prefix in entries)
