"""What Python leaves to its users: optional packages, the folder of caches, and the line of a warning."""

import importlib
import inspect
import math
import os
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


class PackageError(ImportError, ValueError):
    """An optional package cannot be imported: an ImportError to Python, and a ValueError like all that is refused."""


class MissingPackageError(ModuleNotFoundError, PackageError):
    """An optional package is not installed."""


def require(module: str, *, extra: str, purpose: str, package: str | None = None) -> Any:
    """Import a module that needs an optional package.

    extra: the group of optional dependencies in pyproject.toml that installs the package.
    purpose: what needs the package, as the subject of the error's sentence: `the ONNX export`.
    package: name of the package, if it is not the first part of the module's name.

    Raises MissingPackageError, naming the extra, if the package is not installed, and PackageError if it is but fails.
    """
    root = module.partition(".")[0]
    needs, install = f"{purpose} needs {package or root}", f"pip install 'elmokit[{extra}]'"
    try:
        return importlib.import_module(module)
    except Exception as error:  # a package of another time fails with any, such as AttributeError
        if isinstance(error, ModuleNotFoundError) and error.name in (root, package):
            raise MissingPackageError(f"{needs}: {install}", name=root) from error
        reason = f"which is installed but fails to import ({type(error).__name__}: {error})"
        raise PackageError(f"{needs}, {reason}; try {install} in a new environment", name=root) from error


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with the home folder in place of a `~` at its start; as it is where there is no such folder."""
    return Path(os.path.expanduser(path))


def default_cache() -> Path:
    """The folder that ELMOKIT_CACHE names; else `elmokit` in the user's caches, such as `~/.cache`. It is absolute."""
    usual = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    caches = os.environ.get("XDG_CACHE_HOME") or usual or "~/.cache"
    folder = expanded(os.environ.get("ELMOKIT_CACHE") or Path(caches, "elmokit"))
    if str(folder).startswith("~"):
        raise FileNotFoundError(f"{folder}: there is no such home folder; set ELMOKIT_CACHE to a folder for caches")
    return folder.absolute()


LIMIT_VARIABLE = "ELMOKIT_CACHE_GB"
"""The environment variable with the largest size of a cache, in GB; 0 keeps what was added last."""
DEFAULT_LIMIT_GB = 20.0


def cache_limit() -> int:
    """Bytes that a cache may have: 20 GB, or what ELMOKIT_CACHE_GB says. ValueError if that is not a number."""
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT_GB)
    try:
        gigabytes = float(text)
    except ValueError:
        gigabytes = math.nan
    if not 0 <= gigabytes < math.inf:
        raise ValueError(f"{LIMIT_VARIABLE} is {text[:80]!r}; expected a number of GB, such as 50")
    return int(gigabytes * 1e9)


def warn_caller(message: str) -> None:
    """Give a UserWarning that points to the user's line: the innermost frame outside elmokit and torch."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _is_passed_over(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)  # with Python 3.12, `skip_file_prefixes` does this


def _is_passed_over(frame: FrameType) -> bool:
    """Torch is between a module's `forward` and the line that calls the module."""
    module = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename.startswith(_PACKAGE) or module.partition(".")[0] == "torch"
