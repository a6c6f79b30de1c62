"""Warnings that name the line of the user's program, however deep in the package they arise."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def warn_caller(message: str) -> None:
    """Give a UserWarning at the innermost call that was made from outside the package, and from outside torch."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _is_passed_over(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)  # with Python 3.12, `skip_file_prefixes` does this


def _is_passed_over(frame: FrameType) -> bool:
    """Torch is between a module's `forward` and the line that calls the module."""
    module = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename.startswith(_PACKAGE) or module.partition(".")[0] == "torch"
