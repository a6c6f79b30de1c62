"""Optional packages: imported where they are needed, with an error that says how to install them."""

import importlib
from typing import Any


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
