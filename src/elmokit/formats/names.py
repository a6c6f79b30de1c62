"""Names of models, for every function that takes one: of bundled models, which ship inside the package, addresses on
the Hugging Face Hub, or paths on disk.
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

from elmokit.files.tensor_bundle import index_of
from elmokit.formats import hub
from elmokit.system.messages import did_you_mean

_URL = re.compile(r"(https?|ftp|s3|gs):/", re.IGNORECASE)
"""A `pathlib.Path` of a URL has one slash."""
DEFAULT_MODEL = "mini-en"


def bundled_models() -> dict[str, Path]:
    """Name and folder of every model in `elmokit/bundled`."""
    root = Path(str(files("elmokit") / "bundled"))
    if not root.is_dir():
        return {}
    return {folder.name: folder for folder in sorted(root.iterdir()) if (folder / "config.json").is_file()}


def resolve_model(name_or_path: str | Path) -> Path:
    """The folder of a bundled model, or else the path itself; a folder of such a name is written `./mini-en`.

    The name of a bundled model may be written in any case (`Mini-EN`), unless there is such a path. A model on the
    Hugging Face Hub is `hf://user/model`, or `hf://user/model@revision`; it is downloaded into the cache. A TensorFlow
    checkpoint may be named as TensorFlow does, `model.ckpt-5`, or by its data; the path is then that of its index.

    Raises FileNotFoundError, with the nearest bundled name and all of them, if there is neither, and the errors of
    `hub.download`.
    """
    if hub.is_address(name_or_path):
        return hub.download(name_or_path)
    bundled = bundled_models()
    if isinstance(name_or_path, str) and name_or_path in bundled:
        return bundled[name_or_path]
    path = expanded(name_or_path)
    if (index := index_of(path)) is not None:
        return index
    if os.path.lexists(path):  # what is wrong with a link to nothing is said by what reads it
        return path
    if str(name_or_path).lower() in bundled:
        return bundled[str(name_or_path).lower()]
    _refuse_url(name_or_path)
    hint = did_you_mean(str(name_or_path).lower(), bundled)
    names = ", ".join(bundled) or "none in this installation"
    raise FileNotFoundError(
        f"no model {str(name_or_path)!r}: it is neither a path that exists nor a bundled model; {hint}bundled: {names}"
    )


def check_is_not_a_model(*files: str | Path) -> None:
    """Raise ValueError for a text that has the name of a bundled model, as two arguments in the other order do."""
    for file in files:
        if str(file) in bundled_models() and not os.path.lexists(file):
            raise ValueError(
                f"{file} is a model, and there is no such file; expected the model first, and then the text"
            )


def _refuse_url(name: str | Path) -> None:
    if _URL.match(str(name)):
        raise FileNotFoundError(
            f"{name} is a URL, which elmokit does not download; download the files of the model, and give their path "
            f"(of a model on the Hugging Face Hub, {hub.SCHEME}user/model)"
        )


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with the home folder in place of a `~` at its start."""
    return Path(os.path.expanduser(path))


def pair_paths(path: str | Path, weights: str | Path) -> tuple[Path, Path]:
    """The options.json and the weights of a pair, whose files may also be those of a TensorFlow checkpoint.

    Raises ValueError for the name of a model, which has its weights, and FileNotFoundError for a URL.
    """
    options = expanded(path)
    if hub.is_address(path) or (str(path).lower() in bundled_models() and not os.path.lexists(options)):
        raise ValueError(
            f"{path} is the name of a model, which has weights of its own; leave out --weights, or weights=, or name "
            "the options.json to which they belong (--model, in Python the model)"
        )
    _refuse_url(path)
    _refuse_url(weights)
    weights = expanded(weights)
    return index_of(options) or options, index_of(weights) or weights


def lasting_paths(name_or_path: str | Path, weights: str | Path | None = None) -> tuple[str | Path, str | Path | None]:
    """What leads to the same model later, for `resolve_model`: a bundled name, a commit of the Hub, absolute paths.

    Raises the errors of `resolve_model` and `pair_paths`.
    """
    if weights is not None:
        options, weights = pair_paths(name_or_path, weights)
        return options.absolute(), weights.absolute()
    if hub.is_address(name_or_path):
        return hub.pinned(name_or_path), None
    path = resolve_model(name_or_path)
    return (name_or_path if path in bundled_models().values() else path.absolute()), None
