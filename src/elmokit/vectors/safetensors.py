"""Flat vectors as one safetensors file: `vectors` (N,E) or (N,L,E), `offsets`, model and settings in the metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.safetensors import DTYPES, looks_like_safetensors, read_layout, write_file
from elmokit.system.messages import FormatError
from elmokit.vectors.arrays import ArrayHeader, map_array
from elmokit.vectors.reader import FlatVectors, checked_flat_vectors

if TYPE_CHECKING:
    from pathlib import Path

    from jaxtyping import Shaped

_DTYPES = ("F32", "F16", "I64")
_NAMES = {DTYPES[name].str: name for name in _DTYPES}


def recognise_safetensors(path: Path, start: bytes) -> bool:
    """Whether the file, which starts with these bytes, is a safetensors file of vectors, not of a model's weights."""
    return looks_like_safetensors(start) and b'"vectors"' in start and b'"offsets"' in start


def write_safetensors(path: Path, stored: FlatVectors) -> None:
    """Write the file atomically."""
    header: dict[str, object] = {"__metadata__": dict(stored.about)}
    end = 0
    arrays = {"offsets": stored.offsets, "vectors": stored.vectors}  # the wider type first keeps both aligned
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype.str], "shape": array.shape, "data_offsets": (start, end)}
    write_file(path, json.dumps(header), arrays.values())


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
