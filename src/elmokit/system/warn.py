"""Warnings that name the line of the user's program, however deep in the package they arise."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def warn_caller(message: str) -> None:
    """Give a UserWarning at the innermost call that was made from outside the package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)  # with Python 3.12, `skip_file_prefixes` does this
