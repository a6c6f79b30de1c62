"""What tables and pages call a model: its name, where it was given by one, or else that of its folder."""

from __future__ import annotations

import os
from pathlib import Path

from elmokit.formats import hub

FINGERPRINT_DIGITS = 8
"""How many of a fingerprint's digits tables and names of runs have."""


def model_name(name_or_path: str | Path) -> str:
    """The last part of a path, also of `.` and `..`, or of an address on the Hub; the name of a bundled model."""
    if hub.is_address(name_or_path):
        return Path(name_or_path).name
    return os.path.basename(os.path.abspath(Path(name_or_path).expanduser()))  # a link keeps its own name


def with_fingerprint(name: str, fingerprint: str) -> str:
    """A model as tables name it: `mini-en (c3b1f14d)`."""
    return f"{name} ({fingerprint[:FINGERPRINT_DIGITS]})"
