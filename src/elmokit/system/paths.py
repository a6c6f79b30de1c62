"""Paths that start with `~`, digests and first bytes of files, and the folder and size limit of caches."""

import hashlib
import math
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT_VARIABLE = "ELMOKIT_CACHE_GB"
"""The environment variable that limits the size of a cache, in GB; 0 keeps only the last addition."""
DEFAULT_LIMIT_GB = 20.0


@dataclass(frozen=True)
class CachedPart:
    """A part of a cache: a model, or the vectors of some sentences."""

    name: str
    paths: Sequence[Path]
    """Its files, or its folder. They are removed in this order."""
    num_bytes: int
    last_used: float
    """Seconds since 1970."""

    def remove(self) -> int:
        """Remove it as far as permitted, and return the number of bytes freed. An open file can still be read."""
        freed = 0
        for path in self.paths:
            with suppress(FileNotFoundError, PermissionError):  # already gone; of another user, or in use
                num_bytes = size_of(path)
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
                freed += 0 if path.exists() else num_bytes
        return freed


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with a leading `~` replaced by the home folder; unchanged if there is no such home folder."""
    return Path(os.path.expanduser(path))


def file_digest(path: Path, algorithm: str = "blake2b") -> bytes:
    """Digest of a file's contents; `algorithm` is a name that hashlib knows. Raises OSError if reading fails."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).digest()


def first_bytes(path: Path, num_bytes: int) -> bytes:
    """The first bytes of a file. Raises OSError if reading fails."""
    with path.open("rb") as file:
        return file.read(num_bytes)


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


def size_of(path: Path) -> int:
    """Number of bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def make_room(cached: Sequence[CachedPart], *, num_bytes: int) -> None:
    """Remove parts of a cache, from the first on, until `num_bytes` more fit within the limit."""
    too_many = sum(part.num_bytes for part in cached) + num_bytes - cache_limit()
    for part in cached:
        if too_many <= 0:
            return
        too_many -= part.remove()
