"""The folder of cached activations: its contents, their sizes, and clearing it.

`activations-2/FINGERPRINT/` holds the pieces of a model, three files each. `FINGERPRINT-int8/` holds the pieces of the
same model in int8. A piece may be removed at any time: a process that has it open can still read it, and a process that
finds it incomplete makes it again.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

VERSION = "activations-2"
KEYS_ENDING = ".keys.npy"
_ENDINGS = (KEYS_ENDING, ".offsets.npy", ".npy")  # in the order of removal: without keys, a piece does not count


@dataclass(frozen=True)
class CachedPiece:
    """Sentences that were added to the cache together."""

    model: str
    """Fingerprint, and the precision unless that is float32."""
    keys_path: Path
    num_bytes: int
    last_used: float
    """Seconds since 1970."""

    def remove(self) -> int:
        """Remove its files as far as permitted, and return the number of bytes freed."""
        stem = self.keys_path.name.removesuffix(KEYS_ENDING)
        freed = 0
        for ending in _ENDINGS:
            path = self.keys_path.with_name(stem + ending)
            with suppress(FileNotFoundError, PermissionError):  # already gone; of another user, or in use
                size = path.stat().st_size
                path.unlink()
                freed += size
        return freed


def cached_pieces(folder: Path, *, model: str = "") -> list[CachedPiece]:
    """The pieces of models whose fingerprint starts with `model`, least recently used first."""
    sizes: dict[Path, int] = defaultdict(int)
    dates: dict[Path, float] = {}
    files = (path for path in folder.glob("activations-*/*/[!.]*.npy") if path.parent.name.startswith(model))
    for path in files:
        ending = next(ending for ending in _ENDINGS if path.name.endswith(ending))
        keys_path = path.with_name(path.name.removesuffix(ending) + KEYS_ENDING)
        with suppress(FileNotFoundError):  # removed by another process
            found = path.stat()
            sizes[keys_path] += found.st_size
            if path == keys_path or keys_path not in dates:
                dates[keys_path] = found.st_mtime
    pieces = [CachedPiece(path.parent.name, path, size, dates[path]) for path, size in sizes.items()]
    return sorted(pieces, key=lambda piece: (piece.last_used, piece.keys_path))


def clear_cache(folder: Path, *, model: str = "") -> int:
    """Remove the pieces of models whose fingerprint starts with `model`, and return the number of bytes freed."""
    return sum(piece.remove() for piece in cached_pieces(folder, model=model))
