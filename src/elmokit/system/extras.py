"""Optional packages: imported when they are needed, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, *, extra: str, purpose: str, package: str | None = None) -> Any:
    """Import a module that needs an optional package. Raises ValueError, naming the extra, if the package is missing.

    extra: the group of optional dependencies in pyproject.toml that installs the package.
    purpose: what needs the package, as the subject of the error's sentence: `the ONNX export`.
    package: name of the package, if it is not the first part of the module's name.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"{purpose} needs {package or module.partition('.')[0]}: pip install 'elmokit[{extra}]'"
        ) from error
