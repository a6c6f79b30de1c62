"""Which tensor of AllenNLP's modules contains which weights, with the gate orders and signs between them and ours.

ELMoForManyLangs was made from AllenNLP's modules; only the names in its char encoder differ. Source: AllenNLP's
`elmo.py`, `highway.py`, `elmo_lstm.py` and `lstm_cell_with_projection.py`, ELMoForManyLangs' `embedding_layer.py`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from elmokit.files.torch_files import TorchFile, looks_like_torch_file, read_torch_file
from elmokit.system.messages import FormatError, listed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from elmokit.files.weights_file import Array

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]

FORGET_BIAS = 1.0
"""What `layers/projected_lstm.py` adds to the forget gate, as TensorFlow does; these modules keep it in the bias."""
_DIRECTIONS = ("forward", "backward")
_GATES = [0, 1, 3, 2]  # i, f, g, o -> i, f, o, g


@dataclass(frozen=True)
class CharacterNames:
    """The tensors of the char encoder; `convolution` and `highway` are followed by a number, all but one by a part."""

    embedding: str
    convolution: str
    highway: str


@dataclass(frozen=True)
class Sizes:
    """What the shapes of the tensors say about a biLM, by the names of `BiLMConfig`."""

    filters: tuple[tuple[int, int], ...]
    num_highway_layers: int
    num_layers: int
    lstm_dim: int
    projection_dim: int

    @property
    def num_filters(self) -> int:
        """Number of all filters."""
        return sum(number for _, number in self.filters)


def find_torch_file(where: Path, paths: Iterable[Path], *, ending: str, must_be_readable: bool) -> TorchFile | None:
    """The file of PyTorch with a tensor whose name has these last parts; None if there is none.

    where: what the files were found in, for the message.
    must_be_readable: raise FormatError for a file of PyTorch that cannot be read; otherwise it is passed over, and
        `ModelFiles.not_a_model` says what is wrong with it if there is no other model.
    """
    found: list[TorchFile] = []
    for path in filter(looks_like_torch_file, paths):
        try:
            file = read_torch_file(path)
        except FormatError:
            if must_be_readable:
                raise
            continue
        if any(f".{name}".endswith(f".{ending}") for name in file.tensors):
            found.append(file)
    if len(found) > 1:
        names = listed(file.path.name for file in found)
        raise FormatError(where, f"holds several files with the weights of ELMo: {names}; give one of them")
    return found[0] if found else None


def sizes_of(path: Path, shapes: Shapes, names: CharacterNames, *, lstm: str) -> Sizes:
    """The sizes of a biLM with these tensors; `lstm` is what the names of its LSTMs begin with.

    Raises FormatError for a tensor that is missing or has a shape that does not fit the others.
    """

    def shape(name: str, dimensions: int) -> tuple[int, ...]:
        found = shapes.get(name)
        if found is None or len(found) != dimensions or not all(found):
            said = "is missing" if found is None else f"has shape {found}"
            raise FormatError(path, f"{said}; expected {dimensions} dimensions", part=f"tensor {name}")
        return found

    filters = [shape(name, 3) for name in numbered(shapes, names.convolution, ".weight")]
    layer = f"{lstm}forward_layer_0."
    gates, _ = shape(f"{layer}input_linearity.weight", 2)
    dim, hidden = shape(f"{layer}state_projection.weight", 2)
    if gates != 4 * hidden:
        raise FormatError(path, f"has {gates} rows; expected four gates of {hidden} cells", part=f"tensor {layer}")
    if dim >= hidden:
        raise FormatError(
            path, f"projects {hidden} cells to {dim}; elmokit reads projections to fewer", part=f"tensor {layer}"
        )
    return Sizes(
        filters=tuple((width, number) for number, _, width in filters),
        num_highway_layers=len(list(numbered(shapes, names.highway, ".weight"))),
        num_layers=len(list(numbered(shapes, f"{lstm}forward_layer_", ".input_linearity.weight"))),
        lstm_dim=hidden,
        projection_dim=dim,
    )


def numbered(present: Container[str], start: str, end: str) -> Iterator[str]:
    """The names `start`0`end`, `start`1`end` and so on, as far as they go."""
    for number in count():
        if (name := f"{start}{number}{end}") not in present:
            return
        yield name


def expected_shapes(
    sizes: Sizes, names: CharacterNames, *, lstm: str, character_dim: int
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the convolutions, the highway layers and the LSTMs."""
    shapes: dict[str, tuple[int, ...]] = {}
    num_filters = sizes.num_filters
    for index, (width, number) in enumerate(sizes.filters):
        shapes[f"{names.convolution}{index}.weight"] = (number, character_dim, width)
        shapes[f"{names.convolution}{index}.bias"] = (number,)
    for index in range(sizes.num_highway_layers):
        shapes[f"{names.highway}{index}.weight"] = (2 * num_filters, num_filters)
        shapes[f"{names.highway}{index}.bias"] = (2 * num_filters,)
    for direction in _DIRECTIONS:
        for index in range(sizes.num_layers):
            layer = f"{lstm}{direction}_layer_{index}"
            shapes[f"{layer}.input_linearity.weight"] = (4 * sizes.lstm_dim, sizes.projection_dim)
            shapes[f"{layer}.state_linearity.weight"] = (4 * sizes.lstm_dim, sizes.projection_dim)
            shapes[f"{layer}.state_linearity.bias"] = (4 * sizes.lstm_dim,)
            shapes[f"{layer}.state_projection.weight"] = (sizes.projection_dim, sizes.lstm_dim)
    return shapes


def check_shapes(path: Path, found: Shapes, expected: Shapes) -> None:
    """Raise FormatError, naming the tensor, for one that is missing or has another shape."""
    for name, shape in expected.items():
        if found.get(name) != shape:
            said = "is missing" if name not in found else f"has shape {found[name]}"
            raise FormatError(path, f"{said}; the other tensors call for {shape}", part=f"tensor {name}")


def characters_to_native(
    sizes: Sizes, names: CharacterNames, read: Callable[[str], Array], *, prefix: str
) -> dict[str, Array]:
    """Convolutions and highway layers by native name, which begins with `prefix`; `read` returns a tensor."""
    tensors: dict[str, Array] = {}
    for index in range(len(sizes.filters)):
        for part in ("weight", "bias"):
            tensors[f"{prefix}convolutions.{index}.{part}"] = read(f"{names.convolution}{index}.{part}")
    for index in range(sizes.num_highway_layers):
        for part in ("weight", "bias"):
            transform, carry = np.split(read(f"{names.highway}{index}.{part}"), 2)
            tensors[f"{prefix}highways.{index}.transform.{part}"] = transform
            tensors[f"{prefix}highways.{index}.gate.{part}"] = -carry  # 1 - sigmoid(x) is sigmoid(-x)
    return tensors


def lstms_to_native(sizes: Sizes, read: Callable[[str], Array], *, lstm: str) -> dict[str, Array]:
    """The LSTMs of both directions by native name; `read` returns a tensor."""
    tensors: dict[str, Array] = {}
    for direction in _DIRECTIONS:
        for index in range(sizes.num_layers):
            theirs, ours = f"{lstm}{direction}_layer_{index}", f"{direction}_lstm.layers.{index}"
            bias = _reordered(read(f"{theirs}.state_linearity.bias"))
            bias[sizes.lstm_dim : 2 * sizes.lstm_dim] -= FORGET_BIAS
            tensors[f"{ours}.input_weight"] = _reordered(read(f"{theirs}.input_linearity.weight"))
            tensors[f"{ours}.recurrent_weight"] = _reordered(read(f"{theirs}.state_linearity.weight"))
            tensors[f"{ours}.bias"] = bias
            tensors[f"{ours}.projection_weight"] = read(f"{theirs}.state_projection.weight")
    return tensors


def _reordered(gates: Array) -> Array:
    """A copy with the blocks of rows, one per gate, in our order."""
    return gates.reshape(4, -1, *gates.shape[1:])[_GATES].reshape(gates.shape)
