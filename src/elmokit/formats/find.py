"""Finding a model: a name or path -> the folder of a native model, which everything else opens.

The name may be a bundled model, a model from another package, a published model, an address on the Hugging Face Hub or
a path. A child process imports a model in another format into the cache, once (`importers/child.py`). Later, elmokit
finds it there by the contents of its files.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from elmokit.files.atomic import DISK_FULL, check_new_folder, temporary_folder, write_text
from elmokit.files.json import json_text, read_json
from elmokit.files.tensor_bundle import index_of
from elmokit.formats import hub
from elmokit.formats.importers.child import import_model, inspect_files, parts_of
from elmokit.formats.importers.layouts import write_bilm_tf
from elmokit.formats.inspection import SEVERAL_VOCABULARIES, Inspection, describe_native
from elmokit.formats.native import native_folder, open_weights, write_native
from elmokit.formats.published import PublishedModel, find_published, published_folder, published_names
from elmokit.runs.folder import BEST_DIR, model_folder
from elmokit.system.messages import did_you_mean, warn_caller
from elmokit.system.paths import CachedPart, default_cache, expanded, file_digest, make_room, size_of

StrPath: TypeAlias = str | os.PathLike[str]

VERSION = "imported-1"
"""The folder of imported models in the cache. With a new number, elmokit imports all of them again."""
MODEL, ABOUT = "model", "about.json"
_MAX_HASHED = 64 << 20
"""In bytes. A larger file next to the named one is identified by its size and date, not hashed."""
_TEMPORARY: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Models imported for this process only, because the cache cannot be written."""

_URL = re.compile(r"(https?|ftp|s3|gs):/", re.IGNORECASE)
"""One slash is enough, because `pathlib.Path` drops the second slash of a URL."""
DEFAULT_MODEL = "small-en"
_ADVICE = {
    DEFAULT_MODEL: "reinstall elmokit, which includes it (in a clone: git pull, then pip install .); ",
    "mini-en": "small-en has replaced it; ",
    "mini-ko": "install it (in a clone of elmokit: pip install ./packages/elmokit-ko); ",
}
"""What to do about our models if they are not installed. Results name mini-en, which is no longer bundled."""
FINGERPRINT_DIGITS = 8
"""How many digits of a fingerprint are shown in tables and names of runs."""
ENTRY_POINTS = "elmokit.models"
"""Entry point group of packages that bring models: the model's name = the package that is its folder."""


def find(name_or_path: StrPath, weights: StrPath | None = None) -> Path:
    """The native folder of a model, given as a name, folder, file in one, pair of files (in any order) or archive.

    Published models and models on the Hub are downloaded first. Raises the errors of `resolve_model` if there is no
    such model, and FormatError if the files are not a model. That error says what they are and what to do with them.
    """
    path, weights_path = _located(name_or_path, weights)
    native = native_folder(path) if weights_path is None else None
    return native or imported(path, weights_path)


def convert(
    source: StrPath,
    target: StrPath,
    *,
    to: str,
    weights: StrPath | None = None,
    dtype: str = "float32",
    softmax_dtype: str | None = None,
    include_softmax: bool = True,
    max_file_bytes: int | None = None,
) -> list[str]:
    """`elmokit convert`: read `source` (or a pair of files), and write the new folder `target` in the format `to`.

    Native -> HDF5 -> native is exact, bit for bit.

    to: native or bilm_tf. bilm_tf stores float32 in one file, so it refuses dtype, softmax_dtype and max_file_bytes.
    dtype: float32 or float16.
    softmax_dtype: dtype of the softmax's weight, by default `dtype`. int8 is half the size of float16 and changes
        the perplexity by far less than a percent.
    include_softmax: whether to write the softmax, if there is one.
    max_file_bytes: split the softmax into files of at most this size.

    Returns notes for the user, such as that a softmax was left out. Raises ValueError for a format or setting that
    cannot be written, FileExistsError if the target exists, and the errors of reading.
    """
    target = expanded(target)
    if to not in ("native", "bilm_tf"):
        raise ValueError(f"cannot convert to {to!r}; expected native or bilm_tf")
    if to == "bilm_tf" and (dtype != "float32" or softmax_dtype is not None or max_file_bytes is not None):
        raise ValueError("bilm_tf keeps float32 in one file; dtype, softmax_dtype and max_file_bytes are for native")
    if not include_softmax and (softmax_dtype or max_file_bytes) is not None:
        raise ValueError("softmax_dtype and max_file_bytes are for the softmax, but the softmax is to be left out")
    check_new_folder(target)
    model = open_weights(find(source, weights), with_softmax=include_softmax)
    if to == "bilm_tf":
        return write_bilm_tf(target, model)
    write_native(target, model, dtype=dtype, softmax_dtype=softmax_dtype, max_file_bytes=max_file_bytes)
    return []


def inspect(path: StrPath, weights: StrPath | None = None) -> Inspection:
    """`elmokit inspect`: describe the files of a model in any format.

    The first problem with the files becomes a refusal in the result. Raises FileNotFoundError if there is no such
    model, ValueError for the name of a model with `weights`, and OSError if a model cannot be downloaded.
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


def bundled_models() -> dict[str, Path]:
    """Name and folder of every model in `elmokit/bundled`, the default first."""
    configs = Path(str(files("elmokit") / "bundled")).glob("*/config.json")
    folders = sorted((path.parent for path in configs), key=lambda path: (path.name != DEFAULT_MODEL, path.name))
    return {folder.name: folder for folder in folders}


def packaged_models() -> dict[str, Path]:
    """Name and folder of every model that an installed package brings. No code of the package runs."""
    found: dict[str, Path] = {}
    for point in entry_points(group=ENTRY_POINTS):
        package, *inner = point.value.split(".")
        spec = find_spec(package) if package else None
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        if places:
            found[point.name] = Path(places[0], *inner)
    return found


def _installed(name: str) -> Path | None:
    """The folder of a bundled or packaged model, or None. Packages come last, because looking through them is slow."""
    return None if os.sep in name else bundled_models().get(name) or packaged_models().get(name)


def resolve_model(name_or_path: str | Path) -> Path:
    """The folder of a model by its name, or else the path itself.

    Bundled and packaged models take precedence over a path with the same name: write `./small-en` for the path. A path
    takes precedence over a published model, and over any name in another case (`Small-EN`). Published models and models
    on the Hub (`hf://user/model@revision`) are downloaded into a cache. For a run, returns the folder of its best
    weights (`model_folder`). For a TensorFlow checkpoint (`model.ckpt-5` or its data), returns the path of its index.

    Raises FileNotFoundError, with the nearest name, if there is no such model or path, and the errors of `hub.download`
    and `published_folder`.
    """
    if hub.is_address(name_or_path):
        return hub.download(name_or_path)
    if (named := _named(name_or_path)) is not None:
        return published_folder(named) if isinstance(named, PublishedModel) else named
    name, path = str(name_or_path), expanded(name_or_path)
    if not name:
        raise ValueError("the model's name is empty; expected the name of a model or a path")
    if (index := index_of(path)) is not None:
        return index
    if os.path.lexists(path):  # the reader reports a broken link
        return model_folder(path)
    known = bundled_models() | packaged_models()
    hint = _ADVICE.get(name.lower()) or did_you_mean(name.lower(), [*known, *published_names()])
    if _URL.match(name):
        hint = f"for a URL, download the files and give their path (on the Hugging Face Hub, {hub.SCHEME}user/model); "
    names = ", ".join(known) or "none in this installation"
    raise FileNotFoundError(
        f"unknown model {name!r}: neither an existing path nor the name of a model; {hint}installed: {names}; "
        "`elmokit models` lists the published ones"
    )


def is_model_name(name_or_path: str | Path) -> bool:
    """Whether it is a model's name, not an existing path. A name means the same model on another machine."""
    return _named(name_or_path) is not None


def _named(name_or_path: str | Path) -> Path | PublishedModel | None:
    """The installed or published model with this name. None for a path, and for an unknown name."""
    name, path = str(name_or_path), expanded(name_or_path)
    exact = _installed(name) if isinstance(name_or_path, str) else None
    if exact or index_of(path) or os.path.lexists(path):
        return exact
    return _installed(name.lower()) or find_published(name)


def check_is_not_a_model(*files: str | Path) -> None:
    """Raise ValueError for a text that has the name of a model: the two arguments were probably swapped."""
    for file in files:
        if is_model_name(file) and not os.path.lexists(file):
            raise ValueError(f"{file} is the name of a model, not of a file; expected the model first, then the text")


def lasting_name(name_or_path: str | Path) -> str:
    """A name that finds the same model in another process: a model's name, a commit on the Hub, or an absolute path.

    A path that is a link keeps its name.
    """
    if hub.is_address(name_or_path):
        return hub.pinned(name_or_path)
    path = resolve_model(name_or_path)
    return str(name_or_path if is_model_name(name_or_path) else path.parent.resolve() / path.name)


def model_name(name_or_path: str | Path) -> str:
    """The last part of a path (also of `.` and `..`) or of an address on the Hub, or the name of a bundled model.

    The best weights of a run are called `RUN/best`.
    """
    if hub.is_address(name_or_path):
        return Path(name_or_path).name
    path = os.path.abspath(expanded(name_or_path))  # not resolved: a link keeps its name
    folder, name = os.path.split(path)
    return f"{os.path.basename(folder)}/{name}" if name == BEST_DIR else name


def with_fingerprint(name: str, fingerprint: str) -> str:
    """A model's name in tables: `small-en (d864464f)`."""
    return f"{name} ({fingerprint[:FINGERPRINT_DIGITS]})"


def _located(name_or_path: StrPath, weights: StrPath | None) -> tuple[Path, Path | None]:
    """The path of a model, or of its two files: the options.json and the weights, in either order.

    The two addresses of a published model, as in scripts for AllenNLP, count as its name. Raises ValueError for a
    model's name with weights, because a named model has its own weights.
    """
    name = name_or_path if isinstance(name_or_path, str) else Path(name_or_path)
    if weights is None:
        return resolve_model(name), None
    published = find_published(str(name))
    if published is not None and str(weights) in published.files.get("weights.hdf5", ()):
        return published_folder(published), None
    if hub.is_address(name) or is_model_name(name):
        raise ValueError(
            f"{name} is the name of a model, which has its own weights; leave out --weights (in Python weights), or "
            "give the options.json that these weights belong to as --model (in Python the model)"
        )
    if url := next((given for given in (name, weights) if _URL.match(str(given))), None):
        raise FileNotFoundError(f"{url} is a URL; download the two files, and give their paths")
    path, weights_path = (index_of(file) or file for file in map(expanded, (name, weights)))
    for given in (path, weights_path):
        if not os.path.lexists(given):
            raise FileNotFoundError(f"{given}: there is no such file or folder")
    return path, weights_path


def imported(path: Path, weights: Path | None = None) -> Path:
    """The native folder, in the cache, of a model in another format. The first use imports the model."""
    key = _key(path, weights)
    if key in _TEMPORARY:
        return Path(_TEMPORARY[key].name, MODEL)
    with ExitStack() as held:
        try:
            folder = default_cache() / VERSION / key
            if _is_up_to_date(folder):
                with suppress(OSError):  # the cache may be read-only
                    os.utime(folder)  # `make_room` removes the least recently used models first
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
        make_room(imported_models(folder.parents[1]), num_bytes=size_of(staging))
        if folder.exists():  # but not up to date
            folder.rename(staging / "old")
        try:
            (staging / key).rename(folder)
        except OSError:
            if not folder.exists():  # otherwise another process was first
                raise
    return folder / MODEL


@dataclass(frozen=True)
class _About:
    """Notes next to an imported model."""

    source: str
    """Path of its files when it was imported."""
    others: dict[str, str]
    """Size and date of the files that belong to it but were not named."""


def imported_models(cache: Path) -> list[CachedPart]:
    """The imported models in a cache, least recently used first. Their names are the paths of the user's files."""
    found: list[CachedPart] = []
    for folder in cache.glob("imported-*/[!.]*"):
        with suppress(FileNotFoundError):  # removed by another process
            source = read_json(folder / ABOUT, _About).source
            found.append(CachedPart(source, [folder], size_of(folder), folder.stat().st_mtime))
    return sorted(found, key=lambda model: model.last_used)


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
    """Import into a temporary folder that is removed when this process ends."""
    warn_caller(f"{path} is imported for this process only: the cache cannot be written ({why})")
    temporary = tempfile.TemporaryDirectory(prefix="elmokit-", ignore_cleanup_errors=True)
    import_model(path, weights, Path(temporary.name, MODEL))
    _TEMPORARY[key] = temporary
    return Path(temporary.name, MODEL)


def _key(path: Path, weights: Path | None) -> str:
    """A digest of the files that may be part of a model. It stays the same if the folder is moved."""
    digest = hashlib.sha256()
    for part in parts_of(path, weights):
        is_given = part in (path, weights)
        is_read = part.is_file() and (is_given or path.is_dir() or part.stat().st_size <= _MAX_HASHED)
        content = file_digest(part, "sha256").hex() if is_read else _seen(part)
        digest.update(f"{part.name if weights is None else ''}\0{is_given}\0{content}\n".encode())
    return digest.hexdigest()[:32]


def _seen(file: Path) -> str:
    found = file.stat()
    return f"{found.st_size} bytes of {found.st_mtime_ns}"


def _is_up_to_date(folder: Path) -> bool:
    """Whether the model is there, and its files that were not named have not changed since the import."""
    try:
        others = read_json(folder / ABOUT, _About).others
    except (FileNotFoundError, ValueError):
        return False
    return all(os.path.exists(file) and _seen(Path(file)) == seen for file, seen in others.items())


def _text(path: Path) -> str:
    """An absolute path that JSON can hold, even if it is not UTF-8."""
    return str(path.absolute()).encode("utf-8", "replace").decode()
