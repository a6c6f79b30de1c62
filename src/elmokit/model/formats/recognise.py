"""Which format a path holds, by the contents of the files, never by their names; and reading it as NumPy arrays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias

from elmokit.model.formats.bilm_tf import Pair, holds_weights, read_bilm_tf
from elmokit.model.formats.containers.hdf5 import open_hdf5
from elmokit.model.formats.containers.vocabulary import looks_like_vocabulary
from elmokit.model.formats.file_kinds import ADVICE, FileKind, kind_of
from elmokit.model.formats.native import CONFIG_NAME, folder_of, has_softmax, read_native
from elmokit.model.formats.stored import StoredBiLM
from elmokit.system.json_fields import read_json_object
from elmokit.system.untrusted import FormatError

FormatName: TypeAlias = Literal["native", "bilm_tf"]
StrPath: TypeAlias = str | os.PathLike[str]

MAX_FILES = 1000
"""Files of a folder that are looked at."""
_MAX_LISTED = 8


def recognise(path: StrPath, weights: StrPath | None = None) -> FormatName:
    """`native` or `bilm_tf`: of a folder, of a file in one, or of a pair of files (in either order).

    `FormatError` says what was found instead and what to do with it; `FileNotFoundError` if nothing is there.
    """
    path = _existing(path)
    if weights is None and _is_native(path):
        return "native"
    find_pair(path, weights)
    return "bilm_tf"


def read_stored(path: StrPath, weights: StrPath | None = None, *, with_softmax: bool | None = False) -> StoredBiLM:
    """Read either format. `with_softmax=None`: with it if there is one; True: `FormatError` if there is none."""
    path = _existing(path)
    if recognise(path, weights) == "native":
        return read_native(path, with_softmax=has_softmax(path) if with_softmax is None else with_softmax)
    if with_softmax:
        raise FormatError(path, "has no softmax (perplexity and fine-tuning need it): the HDF5 format does not hold it")
    return read_bilm_tf(find_pair(path, weights))


def find_pair(path: StrPath, weights: StrPath | None = None) -> Pair:
    """The options and weights meant by two files, by one of them with the other beside it, or by a folder of both."""
    path = _existing(path)
    if weights is not None:
        return _pair_of(path, _existing(weights))
    kinds = kinds_in(path)
    options = path if kinds.get(path) is FileKind.OPTIONS else _only_options(path, kinds)
    found = path if kinds.get(path) is FileKind.HDF5 else _only_weights(path, kinds)
    texts = (each for each, kind in kinds.items() if kind in (FileKind.TEXT, FileKind.GZIP, FileKind.XZ))
    vocabularies = [each for each in texts if looks_like_vocabulary(each)]
    return Pair(options=options, weights=found, vocabulary=vocabularies[0] if len(vocabularies) == 1 else None)


def kinds_in(path: Path) -> dict[Path, FileKind]:
    """The kinds of the files of a folder; of a file's folder if it is one that a pair may be made of."""
    if not path.is_dir():
        kind = kind_of(path)
        if kind not in (FileKind.OPTIONS, FileKind.HDF5):
            return {path: kind}
    files = sorted(each for each in folder_of(path).iterdir() if not each.is_dir())
    if len(files) > MAX_FILES:
        raise FormatError(
            folder_of(path), f"holds {len(files)} files; no model does: give the model's files themselves"
        )
    return {each: kind_of(each) for each in files}


def _existing(path: StrPath) -> Path:
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{os.fspath(path)}: there is no such file or folder")
    return Path(path)


def _is_native(path: Path) -> bool:
    if path.is_dir() or kind_of(path) in (FileKind.SAFETENSORS, FileKind.NATIVE_CONFIG):
        config = folder_of(path) / CONFIG_NAME
        if config.is_file() and kind_of(config) is FileKind.NATIVE_CONFIG:
            return True
        if not path.is_dir():
            raise FormatError(path, f"is {kind_of(path).value}, but there is no {CONFIG_NAME} of elmokit beside it")
    return False


def _pair_of(first: Path, second: Path) -> Pair:
    kinds = {first: kind_of(first), second: kind_of(second)}
    if kinds[first] is FileKind.HDF5 and kinds[second] is not FileKind.HDF5:
        first, second = second, first
    if kinds[first] is FileKind.BROKEN_JSON:
        read_json_object(first)  # says what is wrong with it
    if kinds[first] is not FileKind.OPTIONS:
        raise FormatError(first, f"is {kinds[first].value}; expected {FileKind.OPTIONS.value}")
    if kinds[second] is not FileKind.HDF5:
        raise _not_read(second, kinds[second], expected="the HDF5 file of weights that belongs to it")
    return Pair(options=first, weights=second)


def _only_options(path: Path, kinds: dict[Path, FileKind]) -> Path:
    found = [each for each, kind in kinds.items() if kind is FileKind.OPTIONS]
    if len(found) == 1:
        return found[0]
    if found:
        raise FormatError(path, f"holds several options: {_names(found)}; give one, and its weights")
    broken = [each for each, kind in kinds.items() if kind is FileKind.BROKEN_JSON]
    if broken:
        read_json_object(broken[0])  # says what is wrong with it
    if FileKind.HDF5 in kinds.values():
        raise FormatError(path, "is or holds weights in HDF5, but there is no options.json of bilm-tf with it")
    raise _no_model(path, kinds)


def _only_weights(path: Path, kinds: dict[Path, FileKind]) -> Path:
    found = [each for each, kind in kinds.items() if kind is FileKind.HDF5]
    if not found:
        others = [each for each, kind in kinds.items() if kind in ADVICE]
        if others:
            raise _not_read(others[0], kinds[others[0]], expected="an HDF5 file of weights")
        raise FormatError(path, "has an options.json, but there is no HDF5 file of weights with it")
    if len(found) == 1:
        return found[0]
    weights: list[Path] = []
    errors: list[FormatError] = []
    for each in found:
        try:
            with open_hdf5(each) as file:
                if holds_weights(file):
                    weights.append(each)
        except FormatError as error:
            errors.append(error)
    if len(weights) == 1:
        return weights[0]
    if errors and not weights:
        raise errors[0]
    said = f"several HDF5 files of weights: {_names(weights)}" if weights else "no HDF5 file with a biLM's weights"
    raise FormatError(path, f"holds {said}; give the options and the weights as two files")


def _no_model(path: Path, kinds: dict[Path, FileKind]) -> FormatError:
    if not path.is_dir():
        return _not_read(path, kinds[path], expected="a model")
    if not kinds:
        return FormatError(path, "is a folder without files; expected a model")
    listed = [f"{each.name} ({kind.value})" for each, kind in list(kinds.items())[:_MAX_LISTED]]
    more = ["..."] if len(kinds) > _MAX_LISTED else []
    advice = [text for text in dict.fromkeys(ADVICE.get(kind) for kind in kinds.values()) if text]
    return FormatError(path, "; ".join([f"holds no model that can be read: {', '.join(listed + more)}", *advice]))


def _not_read(path: Path, kind: FileKind, *, expected: str) -> FormatError:
    advice = f"; {ADVICE[kind]}" if kind in ADVICE else ""
    return FormatError(path, f"is {kind.value}; expected {expected}{advice}")


def _names(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)
