"""Flat vectors as one safetensors file: `vectors` (N,E) or (N,L,E), `offsets`, model and settings in the metadata."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.safetensors import DTYPES, looks_like_safetensors, read_layout, write_arrays
from elmokit.system.messages import FormatError
from elmokit.vectors.arrays import ArrayHeader, map_array
from elmokit.vectors.reader import FlatVectors, checked_flat_vectors

if TYPE_CHECKING:
    from jaxtyping import Shaped

_DTYPES = ("F32", "F16", "I64")


def recognise_safetensors(path: Path, start: bytes) -> bool:
    """Whether the file, which starts with these bytes, is a safetensors file of vectors, not of a model's weights."""
    return looks_like_safetensors(start) and b'"vectors"' in start and b'"offsets"' in start


def write_safetensors(path: Path, stored: FlatVectors) -> None:
    """Write the file atomically."""
    write_arrays(path, {"vectors": stored.vectors, "offsets": stored.offsets}, metadata=stored.about)


def read_safetensors(path: Path) -> FlatVectors:
    """Map both arrays. Raises `FormatError` if one is missing, or they do not fill the file or do not fit together."""
    layout = read_layout(path, dtypes=_DTYPES)
    arrays: dict[str, Shaped[np.ndarray, "..."]] = {}
    for name in ("vectors", "offsets"):
        if name not in layout.tensors:
            raise FormatError(path, "is missing", part=f"tensor {name}")
        entry = layout.tensors[name]
        header = ArrayHeader(DTYPES[entry.dtype], entry.shape, num_bytes=0)
        arrays[name] = map_array(path, header, start=layout.num_header_bytes + entry.start)
    return checked_flat_vectors(path, arrays["vectors"], arrays["offsets"], about=layout.metadata)
