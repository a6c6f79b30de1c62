"""A model as the bytes of its files in the native format, for programs that store it inside another file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.elmo import Elmo

if TYPE_CHECKING:
    import torch

    from elmokit.layers.packed.linear import Precision


def bytes_of(elmo: Elmo) -> dict[str, bytes]:
    """Name and contents of each file that `Elmo.save` writes."""
    with tempfile.TemporaryDirectory(prefix="elmokit-") as folder:
        elmo.save(Path(folder))
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def elmo_of(
    files: Mapping[str, bytes], *, device: str | torch.device | None = None, precision: Precision = "float32"
) -> Elmo:
    """Read a model from the result of `bytes_of`. Raises FormatError if one of its files is damaged or missing."""
    with tempfile.TemporaryDirectory(prefix="elmokit-") as folder:
        for name, contents in files.items():
            Path(folder, Path(name).name).write_bytes(contents)
        loaded = Elmo.from_pretrained(folder, device=device)
        return Elmo(loaded.bilm, loaded.vocabulary, precision=precision)  # this one does not need the folder
