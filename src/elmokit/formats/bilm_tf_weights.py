"""The weights of a bilm-tf model in an HDF5 file or a checkpoint: checked against the options, and read.

Nothing is allocated before the whole file has been checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elmokit.files.weights_file import MAX_EXPANSION, SMALL, Array, Entry, WeightsFile, require_finite
from elmokit.formats.bilm_tf_layout import ROOTS, WORDS, CellNames, cell_names, dataset_shapes, to_native
from elmokit.system.messages import FormatError, count, listed, readable_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from elmokit.formats.inspection import Inspection
    from elmokit.formats.options_json import Options
    from elmokit.model.config import BiLMConfig


@dataclass(frozen=True)
class Layout:
    """The datasets that the options call for, under the names that the file uses."""

    config: BiLMConfig
    cells: dict[tuple[int, int], CellNames]
    shapes: dict[str, tuple[int, ...]]


def read_weights(file: WeightsFile, layout: Layout) -> dict[str, Array]:
    """All weights but the softmax by native name. Raises FormatError, naming the file, the dataset and the reason."""
    for refusal in refusals(file, layout):
        raise refusal

    def read(name: str) -> Array:
        array = file.read(name)
        require_finite(file.path, f"dataset {name}", array)
        return array

    return to_native(layout.config, layout.cells, read)


def inspect_weights(file: WeightsFile, options: Options, inspection: Inspection) -> None:
    """Add what the names and shapes say, without reading weights."""
    layout = layout_of(options, file.entries)
    inspection.config = layout.config
    inspection.refusals += [str(refusal) for refusal in refusals(file, layout)]
    found = [file.entries[name].dtype for name in layout.shapes if name in file.entries]
    inspection.dtypes = sorted({f"float{8 * int(dtype[2:])}" for dtype in found if dtype})
    extra = [name for name in extra_datasets(file, layout) if not name.startswith("softmax/")]
    if extra:
        others = f"{count(len(extra), 'dataset')} not of a biLM: {listed(extra)}"
        inspection.risks.append(f"{shown(file.path.name)} has {others}")


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
    cells = cell_names(config, entries)
    return Layout(config=config, cells=cells, shapes=dataset_shapes(config, cells))


def refusals(file: WeightsFile, layout: Layout) -> Iterator[FormatError]:
    """All reasons not to read the weights."""
    for entry in file.entries.values():
        if entry.kind == "other":
            touched = [name for name in layout.shapes if f"{name}/".startswith(f"{entry.name}/")]
            part = f"dataset {touched[0]}" if touched else entry.name
            at = f"{shown(entry.name)} " if touched and touched[0] != entry.name else ""
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
    declared = sum(file.entries[name].num_bytes for name in layout.shapes if name in file.entries)
    if declared > MAX_EXPANSION * file.num_bytes + SMALL:
        sizes = f"{readable_bytes(declared)} in a file of {readable_bytes(file.num_bytes)}"
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
