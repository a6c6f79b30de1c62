"""The folder of cached activations: its contents, their sizes, and clearing it.

`activations-2/FINGERPRINT/` holds the pieces of a model, three files each. `FINGERPRINT-int8/` holds the pieces of the
same model in int8. A piece may be removed at any time: a process that has it open can still read it, and a process that
finds it incomplete makes it again.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from elmokit.system.paths import CachedPart

VERSION = "activations-2"
KEYS_ENDING = ".keys.npy"
_ENDINGS = (KEYS_ENDING, ".offsets.npy", ".npy")  # in the order of removal: without keys, a piece does not count


def cached_pieces(folder: Path, *, model: str = "") -> list[CachedPart]:
    """The pieces of models whose fingerprint starts with `model`, least recently used first.

    A piece is named after its model: the fingerprint, and the precision unless that is float32.
    """
    files = (path for path in folder.glob("activations-*/*/[!.]*.npy") if path.parent.name.startswith(model))
    stems = {path.with_name(re.sub(r"(\.keys|\.offsets)?\.npy$", "", path.name)) for path in files}
    pieces: list[CachedPart] = []
    for stem in stems:
        paths = [stem.with_name(stem.name + ending) for ending in _ENDINGS]
        with suppress(FileNotFoundError):  # removed by another process
            if found := [path.stat() for path in paths if path.exists()]:
                num_bytes = sum(file.st_size for file in found)
                pieces.append(CachedPart(stem.parent.name, paths, num_bytes, last_used=found[0].st_mtime))
    return sorted(pieces, key=lambda piece: (piece.last_used, piece.paths[0]))


def clear_cache(folder: Path, *, model: str = "") -> int:
    """Remove the pieces of models whose fingerprint starts with `model`, and return the number of bytes freed."""
    return sum(piece.remove() for piece in cached_pieces(folder, model=model))
