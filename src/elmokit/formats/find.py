"""Finding a model, whatever names it -> the folder of a native model, which everything else opens.

A model in another format is imported once, into the cache, in a child process (`importers/child.py`). It is found
again by the contents of its files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from elmokit.files.atomic import DISK_FULL, temporary_folder, write_text
from elmokit.files.digests import file_digest
from elmokit.files.json import json_text, read_json
from elmokit.formats.importers.child import import_model, inspect_files, parts_of
from elmokit.formats.inspection import Inspection, describe_native
from elmokit.formats.names import pair_paths, published_pair, resolve_model
from elmokit.formats.native import native_folder
from elmokit.formats.vocabulary_file import SEVERAL_VOCABULARIES
from elmokit.system.messages import warn_caller
from elmokit.system.paths import cache_limit, default_cache

StrPath: TypeAlias = str | os.PathLike[str]

VERSION = "imported-1"
"""The folder of imported models in the cache. Another number imports all of them anew."""
MODEL, ABOUT = "model", "about.json"
_MAX_HASHED = 64 << 20
"""Bytes of a file next to the one that was named; a larger one is known by its size and date."""
_TEMPORARY: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Imported models of this process, where the cache cannot be written."""


def find(name_or_path: StrPath, weights: StrPath | None = None) -> Path:
    """The native folder of a model: a name, a folder, a file in one, a pair of files (in either order), or an archive.

    A published model, and one on the Hub, is downloaded first. Raises the errors of `resolve_model` if there is no such
    model, and FormatError if the files are not a model, which says what they are instead and what to do with them.
    """
    path, weights_path = _located(name_or_path, weights)
    native = native_folder(path) if weights_path is None else None
    return native or imported(path, weights_path)


def inspect(path: StrPath, weights: StrPath | None = None) -> Inspection:
    """`elmokit inspect`: what the files of a model in any format say.

    The first thing that is wrong with them becomes its refusal, except that there is no such model
    (FileNotFoundError).
    """
    found, weights_path = _located(path, weights)
    inspection = Inspection(found)
    try:
        native = native_folder(found) if weights_path is None else None
        if native is None:
            return inspect_files(found, weights_path)
        describe_native(native, inspection)
    except (ValueError, OSError) as error:
        inspection.refusals.append(str(error))
    return inspection


def imported(path: Path, weights: Path | None = None) -> Path:
    """The native folder of a model in another format, in the cache; it is imported at its first use."""
    key = _key(path, weights)
    if key in _TEMPORARY:
        return Path(_TEMPORARY[key].name, MODEL)
    with ExitStack() as held:
        try:
            folder = default_cache() / VERSION / key
            if _is_up_to_date(folder):
                with suppress(OSError):  # in a cache that may only be read
                    os.utime(folder)  # so that it is removed after the others
                return folder / MODEL
            folder.parent.mkdir(parents=True, exist_ok=True)
            staging = held.enter_context(temporary_folder(folder))
        except OSError as error:
            return _import_for_now(key, path, weights, why=error)
        try:
            _import(path, weights, staging / key)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            return _import_for_now(key, path, weights, why=error)
        make_room(folder.parents[1], num_bytes=_num_bytes(staging))
        if folder.exists():  # made of other files
            folder.rename(staging / "old")
        with suppress(OSError):  # another process was first
            (staging / key).rename(folder)
    return folder / MODEL


@dataclass(frozen=True)
class _About:
    """What is kept next to an imported model."""

    source: str
    """Path of its files when it was imported."""
    others: dict[str, str]
    """Size and date of the files that belong to it without having been named."""


@dataclass(frozen=True)
class ImportedModel:
    """A model in the cache that was imported from files of the user."""

    folder: Path
    source: str
    """Path of the files."""
    num_bytes: int
    last_used: float
    """Seconds since 1970."""

    def remove(self) -> int:
        """Remove it, and return the number of bytes freed; a process that has it open keeps it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        return 0 if self.folder.exists() else self.num_bytes


def imported_models(cache: Path) -> list[ImportedModel]:
    """The imported models in a cache, the least recently used one first."""
    found: list[ImportedModel] = []
    for folder in cache.glob("imported-*/[!.]*"):
        with suppress(FileNotFoundError):  # removed by another process
            source = read_json(folder / ABOUT, _About).source
            found.append(ImportedModel(folder, source, _num_bytes(folder), folder.stat().st_mtime))
    return sorted(found, key=lambda model: model.last_used)


def make_room(cache: Path, *, num_bytes: int) -> None:
    """Remove the least recently used imported models, until `num_bytes` more do not exceed the limit of a cache."""
    models = imported_models(cache)
    too_many = sum(model.num_bytes for model in models) + num_bytes - cache_limit()
    for model in models:
        if too_many <= 0:
            return
        too_many -= model.remove()


def _located(name_or_path: StrPath, weights: StrPath | None) -> tuple[Path, Path | None]:
    """The path of a model, or of its two files."""
    name = name_or_path if isinstance(name_or_path, str) else Path(name_or_path)
    if weights is None:
        return resolve_model(name), None
    other = weights if isinstance(weights, str) else Path(weights)
    published = published_pair(name, other)
    if published is not None:
        return published, None
    pair = pair_paths(name, other)
    for given in pair:
        if not os.path.lexists(given):
            raise FileNotFoundError(f"{given}: there is no such file or folder")
    return pair


def _import(path: Path, weights: Path | None, folder: Path) -> None:
    """Import into a new folder, with a note of the source and of the files next to it that belong to the model."""
    folder.mkdir()
    inspection = import_model(path, weights, folder / MODEL)
    given = parts_of(path, weights)
    others = {_text(file): _seen(file) for file in inspection.files if file not in given and file.is_file()}
    write_text(folder / ABOUT, json_text(folder / ABOUT, _About(_text(path), others)))
    for risk in inspection.risks:
        if risk.startswith(SEVERAL_VOCABULARIES):
            warn_caller(f"{path}: {risk}")


def _import_for_now(key: str, path: Path, weights: Path | None, *, why: OSError) -> Path:
    """Import into a temporary folder that goes when this process ends."""
    warn_caller(f"{path} is imported for this process only: the cache cannot be written ({why})")
    temporary = tempfile.TemporaryDirectory(prefix="elmokit-", ignore_cleanup_errors=True)
    import_model(path, weights, Path(temporary.name, MODEL))
    _TEMPORARY[key] = temporary
    return Path(temporary.name, MODEL)


def _key(path: Path, weights: Path | None) -> str:
    """A digest of the files that a model may consist of, which finds it again wherever they are."""
    digest = hashlib.sha256()
    for part in parts_of(path, weights):
        is_named = part in (path, weights) or path.is_dir()
        small_enough = is_named or part.stat().st_size <= _MAX_HASHED
        is_read = small_enough and part.is_file() and os.access(part, os.R_OK)
        content = file_digest(part, "sha256").hex() if is_read else _seen(part)
        digest.update(f"{part.name if weights is None else ''}\0{part in (path, weights)}\0{content}\n".encode())
    return digest.hexdigest()[:32]


def _seen(file: Path) -> str:
    found = file.stat()
    return f"{found.st_size} bytes of {found.st_mtime_ns}"


def _is_up_to_date(folder: Path) -> bool:
    """Whether it is there, and the files next to the named ones that belong to the model are as they were."""
    try:
        others = read_json(folder / ABOUT, _About).others
    except (FileNotFoundError, ValueError):
        return False
    return all(os.path.exists(file) and _seen(Path(file)) == seen for file, seen in others.items())


def _text(path: Path) -> str:
    """An absolute path that JSON can hold, even if it is not UTF-8."""
    return str(path.absolute()).encode("utf-8", "replace").decode()


def _num_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
