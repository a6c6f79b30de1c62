"""Files of PyTorch that hold a biLM: the one with its weights, and its sizes, which follow from the shapes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.formats.importers.layouts import Names
from elmokit.system.messages import FormatError, join_names

if TYPE_CHECKING:
    from elmokit.files.torch_files import TorchFile
    from elmokit.files.weights_file import WeightsFile

EXPECTED = "the other tensors call for"
"""Where the shape of a tensor comes from."""


def sizes_of(file: WeightsFile, names: Names) -> dict[str, Any]:
    """The sizes of a biLM with these tensors, by the names of `BiLMConfig`.

    Raises FormatError for a tensor that is missing or has a shape that does not fit the others.
    """
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
        reason = f"projects {hidden} cells to {dim}; elmokit reads projections to fewer"
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


def the_file_with(where: Path, files: Iterable[TorchFile], ending: str) -> TorchFile | None:
    """The file with a tensor whose name has these last parts; None if there is none.

    where: what the files were found in, for the message of the FormatError that is raised if there are several.
    """
    found = [file for file in files if any(f".{name}".endswith(f".{ending}") for name in file.entries)]
    if len(found) > 1:
        names = join_names(file.path.name for file in found)
        raise FormatError(where, f"holds several files with the weights of ELMo: {names}; give one of them")
    return found[0] if found else None
