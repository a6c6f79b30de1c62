"""Optional packages: imported when they are needed, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, *, extra: str, purpose: str, package: str | None = None) -> Any:
    """Import a module that works with an optional package alone; ValueError, naming the extra, when that is missing.

    extra: the group of pyproject.toml that installs the package.
    purpose: what needs it, as the subject of the error's sentence: `the ONNX export`.
    package: its name, when the module is not the package's own.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"{purpose} needs {package or module.partition('.')[0]}: pip install 'elmokit[{extra}]'"
        ) from error
