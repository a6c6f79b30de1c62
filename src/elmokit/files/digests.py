"""The digest of a file, which is read in parts."""

from __future__ import annotations

import hashlib
from pathlib import Path


def file_digest(path: Path, algorithm: str = "blake2b") -> bytes:
    """Digest of a file's contents; `algorithm` is a name that hashlib knows. Raises OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).digest()
