"""The released format of bilm-tf and AllenNLP: an `options.json` and an HDF5 file of weights, under any names.

It cannot store the softmax. A vocabulary is not part of it, but may be in the same folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.atomic import atomic_write
from elmokit.files.folder import new_folder, write_text
from elmokit.files.hdf5 import open_hdf5, write_hdf5
from elmokit.files.json_fields import json_text, read_json_object
from elmokit.formats.bilm_tf_weights import holds_weights, inspect_weights, layout_of, read_weights, to_datasets
from elmokit.formats.file_kinds import ADVICE, FileKind
from elmokit.formats.format import Format, WriteSettings
from elmokit.formats.model_files import ModelFiles, wrong_kind
from elmokit.formats.options_json import STORED_TRAINING_OPTIONS, options_of, read_options
from elmokit.formats.vocabulary_file import read_words, vocabulary_of
from elmokit.formats.weights import StoredBiLM
from elmokit.system.messages import FormatError, printable

if TYPE_CHECKING:
    from elmokit.formats.inspection import Inspection

OPTIONS_NAME = "options.json"
WEIGHTS_NAME = "weights.hdf5"
VOCABULARY_NAME = "vocabulary.txt"


@dataclass(frozen=True)
class Pair:
    """The two files, and the vocabulary in their folder if there is exactly one."""

    options: Path
    weights: Path
    vocabulary: Path | None = None
    is_named: bool = False
    """Whether the user has named the options; otherwise they were found in their folder."""


def _read(files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM:
    if with_softmax:
        indices = [path.name for path, kind in files.in_folder.items() if kind is FileKind.TENSORFLOW_INDEX]
        advice = f"; the checkpoint next to it may have one: {', '.join(indices)}" if indices else ""
        raise FormatError(
            files.path,
            f"has no softmax (perplexity and fine-tuning need it): the HDF5 format cannot store it{advice}",
        )
    pair = find_pair(files)
    options = read_options(pair.options, is_named=pair.is_named)
    with open_hdf5(pair.weights) as file:
        layout = layout_of(options, file.entries)
        tensors = read_weights(file, layout)
    path = pair.vocabulary
    if path is None and layout.config.lookup is not None:  # of two files that were given, it is near the first
        path = vocabulary_of(ModelFiles(pair.options).in_folder)
    try:
        vocabulary, spelling = read_words(pair.weights, layout.config, path)
    except ValueError as error:
        if layout.config.lookup is not None:
            raise
        advice = "vectors do not need it: give options and weights as two files (--weights) to leave it out"
        raise ValueError(f"{error}; {advice}") from error
    return StoredBiLM(
        config=layout.config,
        tensors=tensors,
        vocabulary=vocabulary,
        spelling=spelling,
        pretraining={STORED_TRAINING_OPTIONS: options.training} if options.training else None,
    )


def write_bilm_tf(folder: Path, stored: StoredBiLM) -> None:
    """Write options.json, weights.hdf5 and the vocabulary, if any, into a new folder, completely or not at all.

    The datasets are those of `dump_weights`, with the names that bilm-tf and AllenNLP read. Raises FormatError if the
    model has a softmax, which the format cannot store; see `StoredBiLM.without_softmax`.
    """
    if stored.config.lookup is not None:
        raise FormatError(folder, "the HDF5 format stores models that read bytes; this one reads words of a dictionary")
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
    options = read_options(pair.options, is_named=pair.is_named)
    inspection.config = options.config
    inspection.risks += [printable(risk) for risk in options.risks]
    with open_hdf5(pair.weights) as file:
        inspect_weights(file, options, inspection)


def is_pair(files: ModelFiles) -> bool:
    """Whether one of the files is an options.json or HDF5. Raises FormatError if the other one is missing."""
    if not any(kind in (FileKind.OPTIONS, FileKind.HDF5) for kind in files.given.values()):
        return False
    find_pair(files)
    return True


def find_pair(files: ModelFiles) -> Pair:
    """The options and weights: given as two files, as one with the other in its folder, or as a folder with both.

    Raises FormatError, which says what is missing or ambiguous.
    """
    path = files.path
    if files.weights is not None:
        return _pair_of(path, files.weights, files.given)
    kinds = files.in_folder
    options = path if kinds.get(path) is FileKind.OPTIONS else only_options(path, kinds, weights="weights in HDF5")
    weights = path if kinds.get(path) is FileKind.HDF5 else _only_weights(path, kinds)
    return Pair(options=options, weights=weights, vocabulary=vocabulary_of(kinds), is_named=options == path)


def only_options(path: Path, kinds: dict[Path, FileKind], *, weights: str) -> Path:
    """The options.json among these files; `weights` describes what it is sought for.

    Raises FormatError if there is none, or more than one.
    """
    found = [file for file, kind in kinds.items() if kind is FileKind.OPTIONS]
    found = _of_the_same_name(path, found) or found
    if len(found) == 1:
        return found[0]
    if found:
        raise FormatError(path, f"holds several options.json files: {_names(found)}; pass one, and its weights")
    broken = [file for file, kind in kinds.items() if kind is FileKind.BROKEN_JSON]
    if broken:
        read_json_object(broken[0])  # says what is wrong with it
    raise FormatError(path, f"is or holds {weights}, but there is no options.json of bilm-tf with it")


def _pair_of(first: Path, second: Path, kinds: dict[Path, FileKind]) -> Pair:
    if kinds[first] is FileKind.HDF5 and kinds[second] is not FileKind.HDF5:
        first, second = second, first
    if kinds[first] is FileKind.BROKEN_JSON:
        read_json_object(first, is_named=True)  # says what is wrong with it
    if kinds[first] is not FileKind.OPTIONS:
        raise wrong_kind(first, kinds[first], expected=FileKind.OPTIONS.value)
    if kinds[second] is not FileKind.HDF5:
        raise wrong_kind(second, kinds[second], expected="the HDF5 file of weights that belongs to it")
    return Pair(options=first, weights=second, is_named=True)


def _only_weights(path: Path, kinds: dict[Path, FileKind]) -> Path:
    found = [file for file, kind in kinds.items() if kind is FileKind.HDF5]
    if not found:
        others = [file for file, kind in kinds.items() if kind in ADVICE]
        if others:
            raise wrong_kind(others[0], kinds[others[0]], expected="an HDF5 file of weights")
        raise FormatError(path, "has an options.json, but there is no HDF5 file of weights with it")
    if len(found) == 1:
        return found[0]
    weights: list[Path] = []
    errors: list[FormatError] = []
    for path_of_file in found:
        try:
            with open_hdf5(path_of_file) as file:
                if holds_weights(file.entries):
                    weights.append(path_of_file)
        except FormatError as error:
            errors.append(error)
    weights = _of_the_same_name(path, weights) or weights
    if len(weights) == 1:
        return weights[0]
    if errors and not weights:
        raise errors[0]
    said = f"several HDF5 files of weights: {_names(weights)}" if weights else "no HDF5 file with a biLM's weights"
    raise FormatError(path, f"holds {said}; give the options and the weights as two files")


def _of_the_same_name(path: Path, files: list[Path]) -> list[Path]:
    """The files that are named as the given one except for the words `options` and `weights`, as released pairs are."""
    if path.is_dir():
        return []
    names = [re.sub("options|weights", "", file.stem.lower()) for file in (path, *files)]
    return [file for file, name in zip(files, names[1:], strict=True) if name == names[0]]


def _names(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)


BILM_TF = Format(
    name="bilm_tf",
    description="bilm-tf / AllenNLP (options.json, HDF5)",
    recognise=is_pair,
    inspect=_inspect,
    read=_read,
    write=_write,
)
