"""Finding the two files of a bilm-tf model, an options.json and its HDF5 weights, by their contents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.files.hdf5 import open_hdf5
from elmokit.files.json_fields import read_json_object
from elmokit.formats.bilm_tf_layout import holds_weights
from elmokit.formats.file_kinds import ADVICE, FileKind
from elmokit.formats.model_files import ModelFiles, wrong_kind
from elmokit.formats.vocabulary_file import looks_like_vocabulary
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """The two files, and the vocabulary in their folder if there is exactly one."""

    options: Path
    weights: Path
    vocabulary: Path | None = None
    is_named: bool = False
    """Whether the user has named the options; otherwise they were found in their folder."""


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


def vocabulary_of(kinds: dict[Path, FileKind]) -> Path | None:
    """The vocabulary among these files; None if there is none, or more than one."""
    texts = (file for file, kind in kinds.items() if kind in (FileKind.TEXT, FileKind.GZIP, FileKind.XZ))
    vocabularies = [text for text in texts if looks_like_vocabulary(text)]
    return vocabularies[0] if len(vocabularies) == 1 else None


def only_options(path: Path, kinds: dict[Path, FileKind], *, weights: str) -> Path:
    """The options.json among these files; `weights` describes what it is sought for.

    Raises FormatError if there is none, or more than one.
    """
    found = [file for file, kind in kinds.items() if kind is FileKind.OPTIONS]
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
    if len(weights) == 1:
        return weights[0]
    if errors and not weights:
        raise errors[0]
    said = f"several HDF5 files of weights: {_names(weights)}" if weights else "no HDF5 file with a biLM's weights"
    raise FormatError(path, f"holds {said}; give the options and the weights as two files")


def _names(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)
