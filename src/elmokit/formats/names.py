"""Names of models, for every function that takes one: bundled models, which ship inside the package, those that other
packages bring, published ones, addresses on the Hugging Face Hub, and paths on disk.
"""

from __future__ import annotations

import os
import re
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from elmokit.files.tensor_bundle import index_of
from elmokit.formats import hub
from elmokit.formats.published import find_published, published_folder, published_names
from elmokit.runs.folder import BEST_DIR, model_folder
from elmokit.system.messages import did_you_mean
from elmokit.system.paths import expanded

_URL = re.compile(r"(https?|ftp|s3|gs):/", re.IGNORECASE)
"""A `pathlib.Path` of a URL has one slash."""
DEFAULT_MODEL = "small-en"
FORMER_MODELS = {"mini-en": "small-en"}
"""Models that were bundled once, and those that have taken their places."""
SEPARATE_MODELS = {"mini-ko": "elmokit[ko]"}
"""Models of our own that are distributed separately, and what to install for them."""
FINGERPRINT_DIGITS = 8
"""How many of a fingerprint's digits tables and names of runs have."""
ENTRY_POINTS = "elmokit.models"
"""Group of the entry points by which packages bring models: the model's name = the package that is its folder."""


def bundled_models() -> dict[str, Path]:
    """Name and folder of every model in `elmokit/bundled`, the default first."""
    configs = Path(str(files("elmokit") / "bundled")).glob("*/config.json")
    folders = sorted((path.parent for path in configs), key=lambda path: (path.name != DEFAULT_MODEL, path.name))
    return {folder.name: folder for folder in folders}


def packaged_models() -> dict[str, Path]:
    """Name and folder of every model that an installed package brings; nothing of the package is run."""
    found: dict[str, Path] = {}
    for point in entry_points(group=ENTRY_POINTS):
        package, *inner = point.value.split(".")
        spec = find_spec(package) if package else None
        places = list(spec.submodule_search_locations or ()) if spec is not None else []
        if places:
            found[point.name] = Path(places[0], *inner)
    return found


def _installed(name: str) -> Path | None:
    """The folder of a bundled model, or of one that a package brings; to look through all packages takes a while."""
    return None if os.sep in name else bundled_models().get(name) or packaged_models().get(name)


def resolve_model(name_or_path: str | Path) -> Path:
    """The folder of a model by its name, or else the path itself; a folder of such a name is written `./small-en`.

    A bundled model, and one that a package brings, comes before a path of that name, a published one after it. In any
    other case (`Small-EN`) all come after it. Published models and those of the Hub (`hf://user/model@revision`) are
    downloaded into a cache. Of a run it is the folder of its best weights (`model_folder`). Of a TensorFlow checkpoint,
    `model.ckpt-5` or its data, the path is that of its index.

    Raises FileNotFoundError, with the nearest name, if there is neither, and the errors of `hub.download` and
    `published_folder`.
    """
    if hub.is_address(name_or_path):
        return hub.download(name_or_path)
    name = str(name_or_path)
    if isinstance(name_or_path, str) and (installed := _installed(name)):
        return installed
    if not name:
        raise ValueError("the model's name is empty; expected the name of a model or a path")
    path = expanded(name_or_path)
    if (index := index_of(path)) is not None:
        return index
    if os.path.lexists(path):  # what is wrong with a link to nothing is said by what reads it
        return model_folder(path)
    if installed := _installed(name.lower()):
        return installed
    published = find_published(name)
    if published is not None:
        return published_folder(published)
    new = FORMER_MODELS.get(name.lower())
    known = bundled_models() | packaged_models()
    hint = f"{new} has taken its place; " if new else did_you_mean(name.lower(), [*known, *published_names()])
    if package := SEPARATE_MODELS.get(name.lower()):
        hint = f"install it: pip install '{package}'; "
    if _URL.match(name):
        hint = f"of a URL, download the files and give their path (on the Hugging Face Hub, {hub.SCHEME}user/model); "
    names = ", ".join(known) or "none in this installation"
    raise FileNotFoundError(
        f"no model {name!r}: it is neither a path that exists nor the name of a model; {hint}installed: {names}; "
        "`elmokit models` lists the published ones"
    )


def is_model_name(name_or_path: str | Path) -> bool:
    """Whether it names a model, and not a path that exists: it leads to the same model on another machine."""
    name = str(name_or_path)
    if isinstance(name_or_path, str) and _installed(name):
        return True
    if os.path.lexists(expanded(name_or_path)):
        return False
    return bool(_installed(name.lower())) or find_published(name) is not None


def check_is_not_a_model(*files: str | Path) -> None:
    """Raise ValueError for a text that has the name of a model, as two arguments in the other order do."""
    for file in files:
        if is_model_name(file) and not os.path.lexists(file):
            raise ValueError(f"{file} is a model, and there is no such file; expected the model first, then the text")


def published_pair(path: str | Path, weights: str | Path) -> Path | None:
    """The folder of a published model whose two addresses these are, as scripts for AllenNLP have them."""
    published = find_published(str(path))
    if published is None or str(weights) not in published.files.get("weights.hdf5", ()):
        return None
    return published_folder(published)


def pair_paths(path: str | Path, weights: str | Path) -> tuple[Path, Path]:
    """The options.json and the weights of a pair, whose files may also be those of a TensorFlow checkpoint.

    Raises ValueError for the name of a model, which has its weights.
    """
    options = expanded(path)
    if hub.is_address(path) or is_model_name(path):
        raise ValueError(
            f"{path} is the name of a model, which has weights of its own; leave out --weights, or weights=, or name "
            "the options.json to which they belong (--model, in Python the model)"
        )
    if url := next((given for given in (path, weights) if _URL.match(str(given))), None):
        raise FileNotFoundError(f"{url} is a URL; download the two files, and give their paths")
    weights = expanded(weights)
    return index_of(options) or options, index_of(weights) or weights


def lasting_name(name_or_path: str | Path) -> str:
    """What names the same model in another process: a name, a commit of the Hub, or an absolute path."""
    if hub.is_address(name_or_path):
        return hub.pinned(name_or_path)
    path = resolve_model(name_or_path)
    return str(name_or_path if is_model_name(name_or_path) else path.absolute())


def model_name(name_or_path: str | Path) -> str:
    """The last part of a path, also of `.` and `..`, or of an address on the Hub; the name of a bundled model.

    The best weights of a run are `RUN/best`.
    """
    if hub.is_address(name_or_path):
        return Path(name_or_path).name
    path = os.path.abspath(expanded(name_or_path))  # a link keeps its own name
    folder, name = os.path.split(path)
    return f"{os.path.basename(folder)}/{name}" if name == BEST_DIR else name


def with_fingerprint(name: str, fingerprint: str) -> str:
    """A model as tables name it: `small-en (d864464f)`."""
    return f"{name} ({fingerprint[:FINGERPRINT_DIGITS]})"
