"""The released format of bilm-tf and AllenNLP: an `options.json` and an HDF5 file of weights, under any names.

It cannot store the softmax. A vocabulary is not part of it, but may be in the same folder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elmokit.model.formats.bilm_tf_layout import ROOTS, CellNames, cell_names, dataset_shapes, to_datasets, to_native
from elmokit.model.formats.bilm_tf_pair import Pair, find_pair, is_pair
from elmokit.model.formats.containers.hdf5 import HDF5File, open_hdf5, write_hdf5
from elmokit.model.formats.containers.hdf5_dataset import MAX_EXPANSION, SMALL, Entry
from elmokit.model.formats.containers.vocabulary import read_vocabulary
from elmokit.model.formats.folder import new_folder, write_text
from elmokit.model.formats.format import Format, WriteSettings
from elmokit.model.formats.options_json import STORED_TRAINING_OPTIONS, Options, options_of, read_options
from elmokit.model.formats.stored import Array, StoredBiLM, require_finite
from elmokit.system.files import atomic_write
from elmokit.system.json_fields import json_text
from elmokit.system.untrusted import FormatError, count, listed, readable_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from elmokit.model.config import BiLMConfig
    from elmokit.model.formats.inspection import Inspection
    from elmokit.model.formats.model_files import ModelFiles

OPTIONS_NAME = "options.json"
WEIGHTS_NAME = "weights.hdf5"
VOCABULARY_NAME = "vocabulary.txt"


@dataclass(frozen=True)
class Layout:
    """The datasets that the options call for, under the names that the file uses."""

    config: BiLMConfig
    cells: dict[tuple[int, int], CellNames]
    shapes: dict[str, tuple[int, ...]]


def _read(files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM:
    if with_softmax:
        raise FormatError(
            files.path, "has no softmax (perplexity and fine-tuning need it): the HDF5 format cannot store it"
        )
    return read_bilm_tf(find_pair(files))


def read_bilm_tf(pair: Pair) -> StoredBiLM:
    """Read a pair (see `find_pair`). Nothing is allocated before the whole file has been checked.

    Raises FormatError, which names the file, the dataset and the reason.
    """
    options = read_options(pair.options)
    with open_hdf5(pair.weights) as file:
        layout = layout_of(options, file.entries)
        for refusal in refusals(file, layout):
            raise refusal

        def read(name: str) -> Array:
            array = file.read(name)
            require_finite(pair.weights, f"dataset {name}", array)
            return array

        tensors = to_native(layout.config, layout.cells, read)
    return StoredBiLM(
        config=layout.config,
        tensors=tensors,
        vocabulary=None if pair.vocabulary is None else read_vocabulary(pair.vocabulary),
        pretraining={STORED_TRAINING_OPTIONS: options.training} if options.training else None,
    )


def layout_of(options: Options, entries: dict[str, Entry]) -> Layout:
    """The layout of a file that matches both the options and the names in the file.

    Options that do not say whether the model is bidirectional mean two directions, as for every other loader, unless
    the file is a dump of a forward model, which has no RNN_0.
    """
    config = options.config
    if not options.says_direction and not any(name.startswith("RNN_") for name in entries):
        config = replace(config, bidirectional=not any(name in entries for name in ("rnn", "RNN")))
    cells = cell_names(config, entries)
    return Layout(config=config, cells=cells, shapes=dataset_shapes(config, cells))


def refusals(file: HDF5File, layout: Layout) -> Iterator[FormatError]:
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


def extra_datasets(file: HDF5File, layout: Layout) -> list[str]:
    """Datasets that the options do not call for. They are refused if they belong to a biLM, and ignored otherwise."""
    return [name for name, entry in file.entries.items() if entry.kind == "dataset" and name not in layout.shapes]


def write_bilm_tf(folder: Path, stored: StoredBiLM) -> None:
    """Write options.json, weights.hdf5 and the vocabulary, if any, into a new folder, completely or not at all.

    The datasets are those of `dump_weights`, with the names that bilm-tf and AllenNLP read. Raises FormatError if the
    model has a softmax, which the format cannot store; see `StoredBiLM.without_softmax`.
    """
    if stored.has_softmax:
        raise FormatError(folder, "the HDF5 format cannot store a softmax; write the model without it")
    stored.check(folder)
    options = json_text(folder / OPTIONS_NAME, options_of(stored))
    with new_folder(folder) as staging:
        with atomic_write(staging / WEIGHTS_NAME) as temporary:
            write_hdf5(temporary, to_datasets(stored.config, stored.tensors))
        if stored.vocabulary is not None:
            stored.vocabulary.write(staging / VOCABULARY_NAME)
        write_text(staging / OPTIONS_NAME, options)


def _write(folder: Path, stored: StoredBiLM, settings: WriteSettings) -> list[str]:
    write_bilm_tf(folder, stored.without_softmax())
    notes: list[str] = []
    config = stored.config
    if stored.has_softmax:
        notes.append("the softmax was left out, because the HDF5 format cannot store it; keep the native model for it")
    if not config.bidirectional:
        notes.append("bilm-tf and AllenNLP read only bidirectional models; this one is a forward model")
    if not config.use_skip_connections:
        notes.append("AllenNLP refuses models without skip connections; bilm-tf reads them")
    if config.num_filters <= config.projection_dim:
        notes.append(
            "AllenNLP needs a projection, and bilm-tf refuses one that widens; this model has "
            f"{config.num_filters} filters and projection_dim {config.projection_dim}"
        )
    return notes


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    pair = find_pair(files)
    inspection.add_file(pair.options)
    inspection.add_file(pair.weights)
    if pair.vocabulary is not None:
        inspection.add_vocabulary(pair.vocabulary)
    options = read_options(pair.options)
    inspection.config = options.config
    inspection.risks += [shown(risk) for risk in options.risks]
    with open_hdf5(pair.weights) as file:
        layout = layout_of(options, file.entries)
        inspection.config = layout.config
        inspection.refusals += [str(refusal) for refusal in refusals(file, layout)]
        found = [file.entries[name].dtype for name in layout.shapes if name in file.entries]
        inspection.dtypes = sorted({f"float{8 * int(dtype[2:])}" for dtype in found if dtype})
        extra = extra_datasets(file, layout)
        if extra:
            others = f"{count(len(extra), 'dataset')} not of a biLM: {listed(extra)}"
            inspection.risks.append(f"{shown(pair.weights.name)} has {others}")


def _is_refused_already(name: str, entries: dict[str, Entry]) -> bool:
    """Whether a group in the path of the dataset is not a group but, for example, a link, which is refused itself."""
    parts = name.split("/")
    above = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return any(entries[prefix].kind != "group" for prefix in above if prefix in entries)


BILM_TF = Format(
    name="bilm_tf",
    description="bilm-tf / AllenNLP (options.json, HDF5)",
    recognise=is_pair,
    inspect=_inspect,
    read=_read,
    write=_write,
)
