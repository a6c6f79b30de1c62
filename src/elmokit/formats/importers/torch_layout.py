"""Which tensor of AllenNLP's modules contains which weights, with the gate orders and signs between them and ours.

ELMoForManyLangs was made from AllenNLP's modules; only the names in its char encoder differ. Source: AllenNLP's
`elmo.py`, `highway.py`, `elmo_lstm.py` and `lstm_cell_with_projection.py`, ELMoForManyLangs' `embedding_layer.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from elmokit.files.torch_files import TorchFile
from elmokit.formats.config_json import require_bounds
from elmokit.model.weights import below_padding
from elmokit.system.messages import FormatError, join_names

if TYPE_CHECKING:
    from elmokit.files.weights_file import Array
    from elmokit.model.config import BiLMConfig

    Shapes: TypeAlias = Mapping[str, tuple[int, ...]]

FORGET_BIAS = 1.0
"""What `layers/projected_lstm.py` adds to the forget gate, as TensorFlow does; these modules keep it in the bias."""
_GATES = [0, 1, 3, 2]  # i, f, g, o -> i, f, o, g, and back


@dataclass(frozen=True)
class Names:
    """What the names of the tensors begin with: the tables have no more, and others a number, a part, or both."""

    embedding: str
    convolution: str
    highway: str
    projection: str
    lstm: str
    words: str = ""


@dataclass(frozen=True)
class Row:
    """One tensor: its name and shape, the native tensors that it holds, and the way there.

    turn: their tensor, of NumPy or torch, and what to add to a forget gate's bias -> the native ones. With the native
        ones joined, and the other sign, it is the way back, except for the tables of dictionaries.
    """

    name: str
    shape: tuple[int, ...]
    native: tuple[str, ...]
    turn: Callable[[Any, float], tuple[Any, ...]]


def rows(config: BiLMConfig, names: Names) -> Iterator[Row]:
    """The table of a config."""
    shapes = config.tensor_shapes()
    encoder = "char_encoder" if config.lookup is None else "char_encoder.characters"

    def row(name: str, *native: str, turn: Callable[[Any, float], tuple[Any, ...]] = _same) -> Row:
        length = sum(shapes[part][0] for part in native) - (turn is _below_padding)
        return Row(name, (length, *shapes[native[0]][1:]), native, turn)

    if config.lookup is not None and config.lookup.num_words:
        yield row(names.words, "char_encoder.words.weight", turn=_below_padding)
    if config.reads_characters:
        turn = _same if config.lookup is None else _below_padding
        yield row(names.embedding, f"{encoder}.embedding.weight", turn=turn)
    for part in ("weight", "bias"):
        for index in range(len(config.filters)):
            yield row(f"{names.convolution}{index}.{part}", f"{encoder}.convolutions.{index}.{part}")
        for index in range(config.num_highway_layers if config.reads_characters else 0):
            ours = f"{encoder}.highways.{index}"
            both = (f"{ours}.transform.{part}", f"{ours}.gate.{part}")
            yield row(f"{names.highway}{index}.{part}", *both, turn=_transform_and_gate)
        yield row(f"{names.projection}{part}", f"char_encoder.projection.{part}")
    for direction in ("forward", "backward"):
        for index in range(config.num_layers):
            theirs, ours = f"{names.lstm}{direction}_layer_{index}", f"{direction}_lstm.layers.{index}"
            yield row(f"{theirs}.input_linearity.weight", f"{ours}.input_weight", turn=_gates)
            yield row(f"{theirs}.state_linearity.weight", f"{ours}.recurrent_weight", turn=_gates)
            yield row(f"{theirs}.state_linearity.bias", f"{ours}.bias", turn=_bias_of_gates)
            yield row(f"{theirs}.state_projection.weight", f"{ours}.projection_weight")


def to_native(config: BiLMConfig, names: Names, read: Callable[[str], Array]) -> dict[str, Array]:
    """All tensors by native name; `read` returns a tensor by its name in the file."""
    tensors: dict[str, Array] = {}
    for row in rows(config, names):
        tensors |= zip(row.native, row.turn(read(row.name), -FORGET_BIAS), strict=True)
    return {name: tensors[name] for name in config.tensor_shapes()}


def _same(tensor: Any, bias: float) -> tuple[Any, ...]:
    return (tensor,)


def _below_padding(table: Array, bias: float) -> tuple[Any, ...]:
    return (below_padding(table),)  # their padding symbol is a row of its own, and not of zeros


def _transform_and_gate(both: Any, bias: float) -> tuple[Any, ...]:
    half = len(both) // 2
    return both[:half], -both[half:]  # they carry, and 1 - sigmoid(x) is sigmoid(-x)


def _gates(gates: Any, bias: float) -> tuple[Any, ...]:
    """A copy with the blocks of rows, one per gate, in the other order."""
    return (gates.reshape(4, -1, *gates.shape[1:])[_GATES].reshape(gates.shape),)


def _bias_of_gates(gates: Any, bias: float) -> tuple[Any, ...]:
    (turned,) = _gates(gates, bias)
    size = len(turned) // 4
    turned[size : 2 * size] += bias
    return (turned,)


def sizes_of(path: Path, shapes: Shapes, names: Names) -> dict[str, Any]:
    """The sizes of a biLM with these tensors, by the names of `BiLMConfig`.

    Raises FormatError for a tensor that is missing or has a shape that does not fit the others.
    """

    def shape(name: str, dimensions: int) -> tuple[int, ...]:
        found = shapes.get(name)
        if found is None or len(found) != dimensions or not all(found):
            said = "is missing" if found is None else f"has shape {found}"
            raise FormatError(path, f"{said}; expected {dimensions} dimensions", part=f"tensor {name}")
        return found

    filters = [shape(name, 3) for name in numbered(shapes, names.convolution, ".weight")]
    layer = f"{names.lstm}forward_layer_0."
    gates, _ = shape(f"{layer}input_linearity.weight", 2)
    dim, hidden = shape(f"{layer}state_projection.weight", 2)
    if gates != 4 * hidden:
        raise FormatError(path, f"has {gates} rows; expected four gates of {hidden} cells", part=f"tensor {layer}")
    if dim >= hidden:
        reason = f"projects {hidden} cells to {dim}; elmokit reads projections to fewer"
        raise FormatError(path, reason, part=f"tensor {layer}")
    return {
        "filters": tuple((width, number) for number, _, width in filters),
        "character_dim": shape(names.embedding, 2)[1] if filters else 1,
        "num_highway_layers": len(list(numbered(shapes, names.highway, ".weight"))),
        "num_layers": len(list(numbered(shapes, f"{names.lstm}forward_layer_", ".input_linearity.weight"))),
        "lstm_dim": hidden,
        "projection_dim": dim,
    }


def check_shapes(path: Path, found: Shapes, config: BiLMConfig, names: Names) -> None:
    """Raise FormatError, naming the tensor, for one that is missing or has another shape."""
    require_bounds(path, config)
    for row in rows(config, names):
        if found.get(row.name) != row.shape:
            said = "is missing" if row.name not in found else f"has shape {found[row.name]}"
            raise FormatError(path, f"{said}; the other tensors call for {row.shape}", part=f"tensor {row.name}")


def numbered(present: Container[str], start: str, end: str) -> Iterator[str]:
    """The names `start`0`end`, `start`1`end` and so on, as far as they go."""
    for number in count():
        if (name := f"{start}{number}{end}") not in present:
            return
        yield name


def the_file_with(where: Path, files: Iterable[TorchFile], ending: str) -> TorchFile | None:
    """The file with a tensor whose name has these last parts; None if there is none.

    where: what the files were found in, for the message of the FormatError that is raised if there are several.
    """
    found = [file for file in files if any(f".{name}".endswith(f".{ending}") for name in file.tensors)]
    if len(found) > 1:
        names = join_names(file.path.name for file in found)
        raise FormatError(where, f"holds several files with the weights of ELMo: {names}; give one of them")
    return found[0] if found else None
