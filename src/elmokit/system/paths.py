"""Paths that start with `~`, digests of files, and the folder and size limit of caches."""

import hashlib
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

LIMIT_VARIABLE = "ELMOKIT_CACHE_GB"
"""The environment variable that limits the size of a cache, in GB; 0 keeps only the last addition."""
DEFAULT_LIMIT_GB = 20.0


class Cached(Protocol):
    """A part of a cache."""

    @property
    def num_bytes(self) -> int: ...

    def remove(self) -> int:
        """Remove it as far as permitted, and return the number of bytes freed."""
        ...


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with a leading `~` replaced by the home folder; unchanged if there is no such home folder."""
    return Path(os.path.expanduser(path))


def file_digest(path: Path, algorithm: str = "blake2b") -> bytes:
    """Digest of a file's contents; `algorithm` is a name that hashlib knows. Raises OSError if reading fails."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).digest()


def default_cache() -> Path:
    """Absolute path of the folder in ELMOKIT_CACHE, or else of `elmokit` in the user's caches, such as `~/.cache`."""
    usual = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    caches = os.environ.get("XDG_CACHE_HOME") or usual or "~/.cache"
    folder = expanded(os.environ.get("ELMOKIT_CACHE") or Path(caches, "elmokit"))
    if str(folder).startswith("~"):
        raise FileNotFoundError(f"{folder}: there is no such home folder; set ELMOKIT_CACHE to a folder for caches")
    return folder.absolute()


def cache_limit() -> int:
    """Largest size of a cache, in bytes: 20 GB, or ELMOKIT_CACHE_GB. Raises ValueError if that is not a number."""
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT_GB)
    try:
        gigabytes = float(text)
    except ValueError:
        gigabytes = math.nan
    if not 0 <= gigabytes < math.inf:
        raise ValueError(f"{LIMIT_VARIABLE} is {text[:80]!r}; expected a number of GB, such as 50")
    return int(gigabytes * 1e9)


def make_room(cached: Sequence[Cached], *, num_bytes: int) -> None:
    """Remove parts of a cache, from the first on, until `num_bytes` more fit within the limit."""
    too_many = sum(part.num_bytes for part in cached) + num_bytes - cache_limit()
    for part in cached:
        if too_many <= 0:
            return
        too_many -= part.remove()
