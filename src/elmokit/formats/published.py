"""Published models by name (`original`, `nlpl:161`): a name -> a folder in the cache, downloaded at its first use.

The list is `published.toml`. A model is in the cache whole or not at all; what a killed process began is continued.
The SHA-256 of each file is kept next to the model's folder, and a later download is compared with it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from elmokit.files.archives import unpacked
from elmokit.files.atomic import new_folder, write_text
from elmokit.files.digests import file_digest
from elmokit.files.downloads import OFFLINE, DownloadError, download, is_offline
from elmokit.files.hdf5 import open_hdf5
from elmokit.files.json_fields import read_json_object
from elmokit.files.locks import InUseError, lock
from elmokit.formats.file_kinds import FileKind, kind_of
from elmokit.system.messages import FormatError, plural
from elmokit.system.python import default_cache, warn_caller

LIST = Path(str(files("elmokit") / "formats" / "published.toml"))
_KINDS = {".json": FileKind.OPTIONS, ".hdf5": FileKind.HDF5, ".index": FileKind.TENSORFLOW_INDEX, ".zip": FileKind.ZIP}


@dataclass(frozen=True)
class PublishedModel:
    """A model that others have published, and its files with their addresses."""

    name: str
    language: str
    text: str
    """What it was trained on."""
    files: Mapping[str, Sequence[str]]
    """Addresses of each file, by the name that it has in the cache."""
    parameters: str = ""
    size: str = ""
    licence: str = ""
    aliases: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        return default_cache() / "models" / self.name.replace(":", "-")

    @property
    def is_here(self) -> bool:
        return os.path.lexists(self.folder)  # what is wrong with a file or link in its place is said by what reads it

    @property
    def by_hand(self) -> str:
        """How to get it without a download."""
        addresses = [addresses[0] for addresses in self.files.values()]
        names = " ".join(address.rpartition("/")[2] for address in addresses)
        return f"fetch {' and '.join(addresses)} with a browser, and run `elmokit models add {self.name} {names}`"


def published_models() -> dict[str, PublishedModel]:
    return _read_list(LIST)


def published_names() -> list[str]:
    """All names of published models, for hints: their aliases too."""
    return [name for model in published_models().values() for name in (model.name, *model.aliases)]


def find_published(name: str) -> PublishedModel | None:
    """The published model of that name, in any case, alias, or address of its options.json; None if there is none."""
    known = published_models()
    lower = name.lower()
    if lower in known:
        return known[lower]
    for model in known.values():
        if lower in map(str.lower, model.aliases) or name in model.files.get("options.json", ()):
            return model
    return None


def published_folder(model: PublishedModel) -> Path:
    """The folder of a model in the cache, into which it is downloaded first if it is not there.

    Raises FileNotFoundError if it is not there and downloads are forbidden, DownloadError if no address has it,
    FormatError for an archive that cannot be unpacked, and InUseError if the lock is another user's.
    """
    folder = model.folder
    if model.is_here:
        return folder
    if is_offline():
        reason = f"downloads are forbidden ({' or '.join(OFFLINE)} is set)"
        raise FileNotFoundError(f"{model.name} is not in {folder.parent}, and {reason}; {model.by_hand}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    while not model.is_here:
        try:
            with lock(folder):
                if not model.is_here:
                    _download(model, folder)
        except InUseError as error:
            if isinstance(error.__context__, PermissionError):  # of another user, who may have left it
                raise
            warn_caller(f"waits for another process that downloads {model.name}")
            time.sleep(1)
    return folder


def add_published(model: PublishedModel, given: Sequence[Path]) -> Path:
    """Put files that were fetched by hand into the cache, as a download would; returns the folder.

    Raises ValueError for files that are not those of the model, FileNotFoundError for one that is missing, and
    FileExistsError if the model is there already.
    """
    sources = {name: _given(model, name, given) for name in model.files}
    if len(given) != len(sources):
        raise ValueError(f"{plural(len(given), 'file')} given; {model.name} has {', '.join(model.files)}")
    for name, source in sources.items():
        if not os.path.lexists(source):
            raise FileNotFoundError(f"{source}: there is no such file")
        wrong = _problem(model, name, source)
        if wrong is not None:
            raise FormatError(source, wrong)
    with new_folder(model.folder) as staging:
        for name, source in sources.items():
            _unpack(source, staging) if name.endswith(".zip") else shutil.copyfile(source, staging / name)
        _keep_sums(model, staging, sources)
    return model.folder


def verify_published(model: PublishedModel) -> None:
    """Compare the files in the cache with their sums. Raises FormatError if one has changed, or is gone."""
    sums = _kept_sums(model)
    if not sums:
        raise FormatError(model.folder, f"has no sums to compare with; remove it, and get {model.name} again")
    for name, expected in sums.items():
        path = model.folder / name
        if name.endswith(".zip"):  # what it held has taken its place
            continue
        if not path.is_file() or file_digest(path, "sha256").hex() != expected:
            raise FormatError(path, f"has changed since it came; remove {model.folder}, and get {model.name} again")


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
    """The addresses are `MIRROR:PATH`, of a file that all the mirrors of that name have."""
    split = {file: [address.partition(":") for address in addresses] for file, addresses in fields["files"].items()}
    addresses = {
        file: [root + path for mirror, _, path in parts for root in mirrors[mirror]] for file, parts in split.items()
    }
    about: dict[str, Any] = {**fields, "files": addresses}
    return PublishedModel(name, **about)


def _download(model: PublishedModel, folder: Path) -> None:
    """Each step can be repeated after a kill: nothing that came leaves its place before the whole model does."""
    staging = folder.with_name(f".{folder.name}.downloading")
    whole = staging / "whole"
    whole.mkdir(parents=True, exist_ok=True)
    came = {name: (staging if name.endswith(".zip") else whole) / name for name in model.files}
    for name, path in came.items():
        try:
            if not path.exists():
                download(model.files[name], path, check=lambda path, name=name: _problem(model, name, path))
        except DownloadError as error:
            raise DownloadError(f"{model.name} could not be downloaded: {error}; {model.by_hand}") from None
        try:
            if name.endswith(".zip"):
                _unpack(path, whole)
        except FormatError:  # the archive is damaged
            shutil.rmtree(staging)
            raise
    _keep_sums(model, whole, came)
    os.replace(whole, folder)
    shutil.rmtree(staging)


def _problem(model: PublishedModel, name: str, path: Path) -> str | None:
    """What is wrong with a file that came for `name`, or None."""
    kind, expected = kind_of(path), _KINDS.get(Path(name).suffix)
    if expected not in (None, kind):
        return f"is {kind.value} in place of {expected.value}"
    if kind is FileKind.HDF5:
        try:
            with open_hdf5(path):
                pass
        except FormatError as error:
            return str(error).removeprefix(f"{path}: ")
    wanted = _kept_sums(model).get(name)
    if wanted is None or (found := file_digest(path, "sha256").hex()) == wanted:
        return None
    return f"has the SHA-256 {found[:12]}..., not the {wanted[:12]}... that an earlier one had: {_sums_path(model)}"


def _given(model: PublishedModel, name: str, given: Sequence[Path]) -> Path:
    """The given file that is meant for `name`: of that name, or else the only one with its ending."""
    found = [path for path in given if path.name == name] or [p for p in given if p.suffix == Path(name).suffix]
    if len(found) != 1:
        raise ValueError(f"expected the files of {model.name}: {', '.join(model.files)}; {name} is not among them")
    return found[0]


def _unpack(archive: Path, folder: Path) -> None:
    with unpacked(archive) as inside:
        try:
            shutil.copytree(inside, folder, dirs_exist_ok=True)
        except shutil.Error as error:  # a list for all files; the disk is full for the first one
            raise OSError(error.args[0][0][-1]) from error


def _sums_path(model: PublishedModel) -> Path:
    return model.folder.with_name(f"{model.folder.name}.json")


def _keep_sums(model: PublishedModel, folder: Path, came: Mapping[str, Path]) -> None:
    """Keep the sums of the files that came, and of those that an archive among them held, which are in the folder."""
    placed = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    sums = {
        name: {"bytes": path.stat().st_size, "sha256": file_digest(path, "sha256").hex()}
        for name, path in (placed | dict(came)).items()
    }
    write_text(_sums_path(model), json.dumps({"model": model.name, "files": sums}, indent=2) + "\n")


def _kept_sums(model: PublishedModel) -> dict[str, str]:
    path = _sums_path(model)
    if not path.exists():
        return {}
    try:
        files: Any = read_json_object(path)["files"]
        return {name: str(about["sha256"]) for name, about in files.items()}
    except (KeyError, TypeError, AttributeError):
        raise FormatError(path, "has no sums of files; remove it") from None
