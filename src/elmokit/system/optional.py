"""Optional packages: imported where they are needed, with an error that says how to install them."""

import importlib
from typing import Any


class PackageError(ImportError, ValueError):
    """An optional package cannot be imported. It is an ImportError, and a ValueError like all refusals of elmokit."""


class MissingPackageError(ModuleNotFoundError, PackageError):
    """An optional package is not installed."""


def require(module: str, *, extra: str, purpose: str, package: str | None = None) -> Any:
    """Import a module that needs an optional package.

    extra: the group of optional dependencies in pyproject.toml that installs the package.
    purpose: what needs the package, as the subject of the error message: `the ONNX export`.
    package: name of the package, if it differs from the first part of the module's name.

    Raises MissingPackageError, naming the extra, if the package is not installed, and PackageError if its import fails.
    """
    root = module.partition(".")[0]
    needs, install = f"{purpose} needs {package or root}", f"pip install 'elmokit[{extra}]'"
    try:
        return importlib.import_module(module)
    except Exception as error:  # a package of the wrong version can raise anything, such as AttributeError
        if isinstance(error, ModuleNotFoundError) and error.name in (root, package):
            raise MissingPackageError(f"{needs}: {install}", name=root) from error
        reason = f"which is installed but fails to import ({type(error).__name__}: {error})"
        raise PackageError(f"{needs}, {reason}; try {install} in a new environment", name=root) from error
