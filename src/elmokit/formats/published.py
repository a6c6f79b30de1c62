"""Published models by name (`original`, `nlpl:161`): a name -> a native folder in the cache.

The list is `published.toml`. On first use, a model is downloaded and imported, and the downloaded files are removed.
The cache never holds half a model. If a process is killed, the next one continues its download. The SHA-256 of each
file is kept next to the model's folder, and later downloads are compared with it.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from elmokit.files.atomic import temporary_folder, write_text
from elmokit.files.downloads import OFFLINE, DownloadError, download, is_offline
from elmokit.files.json import read_json
from elmokit.files.locks import lock
from elmokit.formats.file_kinds import FileKind, kind_of
from elmokit.formats.importers.child import import_model
from elmokit.formats.native import native_folder
from elmokit.system.messages import FormatError, plural
from elmokit.system.paths import default_cache, file_digest

LIST = Path(str(files("elmokit") / "formats" / "published.toml"))
_KINDS = {".json": FileKind.OPTIONS, ".hdf5": FileKind.HDF5, ".index": FileKind.TENSORFLOW_INDEX, ".zip": FileKind.ZIP}


@dataclass(frozen=True)
class PublishedModel:
    """A model published by others, with the addresses of its files."""

    name: str
    language: str
    text: str
    """What it was trained on."""
    files: Mapping[str, Sequence[str]]
    """File name in the cache -> addresses of the file."""
    parameters: str = ""
    size: str = ""
    licence: str = ""
    aliases: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        return default_cache() / "models" / self.name.replace(":", "-")

    @property
    def is_here(self) -> bool:
        return os.path.lexists(self.folder)  # also a file or broken link: `published_folder` refuses it

    @property
    def by_hand(self) -> str:
        """How to get the model if elmokit cannot download it."""
        addresses = [addresses[0] for addresses in self.files.values()]
        names = " ".join(address.rpartition("/")[2] for address in addresses)
        return f"download {' and '.join(addresses)} with a browser, and run `elmokit models add {self.name} {names}`"


@dataclass(frozen=True)
class _Note:
    """SHA-256 of each file of the first download, and of each file of the imported model."""

    model: str = ""
    files: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    imported: dict[str, str] = field(default_factory=dict[str, str])


def published_models() -> dict[str, PublishedModel]:
    return _read_list(LIST)


def published_names() -> list[str]:
    """Names and aliases of all published models, for hints."""
    return [name for model in published_models().values() for name in (model.name, *model.aliases)]


def find_published(name: str) -> PublishedModel | None:
    """The published model with this name or alias (in any case), or this address of its options.json; else None."""
    known = published_models()
    lower = name.lower()
    if lower in known:
        return known[lower]
    for model in known.values():
        if lower in map(str.lower, model.aliases) or name in model.files.get("options.json", ()):
            return model
    return None


def published_folder(model: PublishedModel) -> Path:
    """The native folder of a model in the cache. A model that is not in the cache is downloaded first.

    Raises FileNotFoundError if the model is not in the cache and downloads are forbidden, DownloadError if no address
    has it, FormatError for files that are not the model, and InUseError if the lock belongs to another user.
    """
    folder = model.folder
    if not model.is_here and is_offline():
        reason = f"downloads are forbidden ({' or '.join(OFFLINE)} is set)"
        raise FileNotFoundError(f"{model.name} is not in {folder.parent}, and {reason}; {model.by_hand}")
    if not model.is_here:
        _make_folder(folder.parent)
        with lock(folder, wait=f"waiting for another process that is downloading {model.name}"):
            if not model.is_here:
                _download(model)
    if not folder.is_dir() or native_folder(folder) is None:
        raise FormatError(folder, f"is not a model that elmokit imported; remove it, and get {model.name} again")
    return folder


def add_published(model: PublishedModel, given: Sequence[Path]) -> Path:
    """Put files that were fetched by hand into the cache, as a download would. Returns the model's folder.

    Raises ValueError for files that do not belong to the model, FileNotFoundError for a missing file, and
    FileExistsError if the model is already in the cache.
    """
    sources = {name: _given(model, name, given) for name in model.files}
    if len(given) != len(sources):
        raise ValueError(f"{plural(len(given), 'file')} given; {model.name} has {', '.join(model.files)}")
    if model.is_here:
        raise FileExistsError(f"{model.folder} exists; remove it first")
    for name, source in sources.items():
        if not os.path.lexists(source):
            raise FileNotFoundError(f"{source}: there is no such file")
        if (wrong := _problem(model, name, source)) is not None:
            raise FormatError(source, wrong)
    _make_folder(model.folder.parent)
    with lock(model.folder), temporary_folder(model.folder) as staging:
        for name, source in sources.items():
            shutil.copyfile(source, staging / name)
        _import(model, staging)
    return model.folder


def verify_published(model: PublishedModel) -> None:
    """Compare a model in the cache with the sums taken at its import. Raises FormatError if a file has changed."""
    imported = _note(model).imported
    if not imported:
        raise FormatError(model.folder, f"has no checksums to compare with; remove it, and get {model.name} again")
    for name, expected in imported.items():
        path = model.folder / name
        if not path.is_file() or file_digest(path, "sha256").hex() != expected:
            raise FormatError(path, f"has been changed; remove {model.folder}, and get {model.name} again")


@cache
def _read_list(path: Path) -> dict[str, PublishedModel]:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    models = {name: _model(name, fields, values["mirrors"]) for name, fields in values["models"].items()}
    many = values["many-langs"]
    shared = {name: many.pop(name) for name in ("text", "licence")}
    for language, number in many.items():
        fields: dict[str, Any] = {"language": language.replace("-", " ").title(), "aliases": [f"efml:{language}"]}
        fields |= shared | {"files": {f"{number}.zip": [f"nlpl:{number}.zip"]}}
        models[f"nlpl:{number}"] = _model(f"nlpl:{number}", fields, values["mirrors"])
    return models


def _model(name: str, fields: Mapping[str, Any], mirrors: Mapping[str, Sequence[str]]) -> PublishedModel:
    """Addresses in the list are `MIRROR:PATH`. Every mirror with that name has the file."""
    split = {file: [address.partition(":") for address in addresses] for file, addresses in fields["files"].items()}
    addresses = {
        file: [root + path for mirror, _, path in parts for root in mirrors[mirror]] for file, parts in split.items()
    }
    about: dict[str, Any] = {**fields, "files": addresses}
    return PublishedModel(name, **about)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        advice = "set ELMOKIT_CACHE to a folder that can be written"
        raise OSError(error.errno, f"{error.strerror}; {advice}", os.fspath(folder)) from None


def _download(model: PublishedModel) -> None:
    """Every step can be repeated after a kill: downloads stay where they are until the model is imported."""
    staging = model.folder.with_name(f".{model.folder.name}.downloading")
    staging.mkdir(parents=True, exist_ok=True)
    for name, addresses in model.files.items():
        path = staging / name
        try:
            if not path.exists():
                download(addresses, path, check=lambda path, name=name: _problem(model, name, path))
        except DownloadError as error:
            raise DownloadError(f"{model.name} could not be downloaded: {error}; {model.by_hand}") from None
    try:
        _import(model, staging)
    except FormatError:  # the download is damaged
        shutil.rmtree(staging)
        raise
    shutil.rmtree(staging)


def _import(model: PublishedModel, source: Path) -> None:
    """Import the files in a folder. Put the native model into the cache, together with the sums of both."""
    sums = _sums(source / name for name in model.files)
    archives = [name for name in model.files if name.endswith(".zip")]
    with temporary_folder(model.folder.with_name(f"{model.folder.name}.native")) as staging:
        import_model(source / archives[0] if archives else source, None, staging / "model")
        files = {name: {"sha256": digest} for name, digest in sums.items()}
        note = {"model": model.name, "files": files, "imported": _sums(sorted((staging / "model").iterdir()))}
        write_text(_note_path(model), json.dumps(note, indent=2) + "\n")
        os.rename(staging / "model", model.folder)


def _problem(model: PublishedModel, name: str, path: Path) -> str | None:
    """What is wrong with a file that was fetched as `name`, or None."""
    kind, expected = kind_of(path), _KINDS.get(Path(name).suffix)
    if expected not in (None, kind):
        return f"is {kind.value}; expected {expected.value}"
    wanted = _note(model).files.get(name, {}).get("sha256")
    if wanted is None or (found := file_digest(path, "sha256").hex()) == wanted:
        return None
    other = f"has the SHA-256 {found[:12]}..., not the {wanted[:12]}... that an earlier one had"
    return f"{other}; to trust it, remove {_note_path(model)}"


def _given(model: PublishedModel, name: str, given: Sequence[Path]) -> Path:
    """The given file for `name`: the one with that name, or else the only one with the same suffix."""
    found = [path for path in given if path.name == name] or [p for p in given if p.suffix == Path(name).suffix]
    if len(found) != 1:
        raise ValueError(f"expected the files of {model.name}: {', '.join(model.files)}; {name} is not among them")
    return found[0]


def _sums(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: file_digest(path, "sha256").hex() for path in paths}


def _note_path(model: PublishedModel) -> Path:
    return model.folder.with_name(f"{model.folder.name}.json")


def _note(model: PublishedModel) -> _Note:
    path = _note_path(model)
    return read_json(path, _Note) if path.exists() else _Note()
