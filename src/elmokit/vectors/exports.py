"""Files of contextual vectors, one entry a line of text: HDF5 as bilm-tf dumps it, and flat arrays with offsets.

| ending | holds |
|---|---|
| `.h5`, `.hdf5` | a dataset for each line, named by its number from 0: (T,2D), or (L,T,2D) of all layers |
| `.npz`, `.safetensors` | `vectors` (N,2D), or (N,L,2D), of all tokens of all lines; `offsets` (lines + 1) |
| `.npy` | `vectors`; `offsets` in a file beside it: `name.offsets.npy` beside `name.npy` |

Vectors are float32, offsets int64: line i is `vectors[offsets[i]:offsets[i + 1]]`. A blank line has its number, and no
tokens. Files appear under their name when they are complete.

What the vectors are stands with them: attributes of the HDF5 file, the metadata of safetensors, `about` (JSON) in
`.npz`; `.npy` has no room for it.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy

from elmokit.model.formats.containers.hdf5_output import new_hdf5
from elmokit.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jaxtyping import Float32, Int64

ROWS = 4096  # tokens copied at once


@dataclass(frozen=True)
class TokenVectors:
    """Vectors of the tokens of consecutive lines; arrays on disk as a rule, so read them a part at a time."""

    vectors: Float32[np.ndarray, "N *L E"]
    offsets: Int64[np.ndarray, " M"]
    about: Mapping[str, str]
    """The model's fingerprint, the precision, the layers."""


def writer(path: Path) -> Callable[[Path, TokenVectors], None]:
    """The function that writes a file of this ending; ValueError if there is none."""
    if path.suffix not in WRITERS:
        raise ValueError(
            f"{path}: do not know how to write {path.suffix or 'a file without ending'!r} files; "
            f"expected one of {', '.join(WRITERS)}"
        )
    return WRITERS[path.suffix]


def write_hdf5(path: Path, stored: TokenVectors) -> None:
    with atomic_write(path) as unfinished, new_hdf5(unfinished) as (file, disk):
        file.attrs.update(stored.about)
        for line, (start, end) in enumerate(zip(stored.offsets[:-1], stored.offsets[1:], strict=True)):
            if disk.error is not None:
                return
            tokens = stored.vectors[start:end]
            file.create_dataset(str(line), data=tokens if tokens.ndim == 2 else tokens.swapaxes(0, 1))


def write_npz(path: Path, stored: TokenVectors) -> None:
    with atomic_write(path) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        about = np.array(json.dumps(dict(stored.about)))
        for name, array in (("vectors", stored.vectors), ("offsets", stored.offsets), ("about", about)):
            entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: the same vectors give the same bytes
            with archive.open(entry, "w", force_zip64=True) as file:
                _write_npy(file, array)


def write_npy(path: Path, stored: TokenVectors) -> None:
    with atomic_write(path) as vectors, atomic_write(path.with_suffix(".offsets.npy")) as offsets:
        for unfinished, array in ((vectors, stored.vectors), (offsets, stored.offsets)):
            with unfinished.open("wb") as file:
                _write_npy(file, array)


def write_safetensors(path: Path, stored: TokenVectors) -> None:
    header: dict[str, object] = {"__metadata__": dict(stored.about)}
    end = 0
    arrays = {"offsets": stored.offsets, "vectors": stored.vectors}  # the wider type first keeps both aligned
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        dtype = {"<f4": "F32", "<i8": "I64"}[array.dtype.str]
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": (start, end)}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    with atomic_write(path) as unfinished, unfinished.open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for array in arrays.values():
            _write_rows(file, array)


def _write_npy(file: IO[bytes], array: np.ndarray) -> None:
    npy.write_array_header_1_0(file, {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape})
    _write_rows(file, array)


def _write_rows(file: IO[bytes], array: np.ndarray) -> None:
    if array.ndim == 0:
        file.write(array.tobytes())
        return
    for start in range(0, len(array), ROWS):
        file.write(array[start : start + ROWS].tobytes())


WRITERS: dict[str, Callable[[Path, TokenVectors], None]] = {
    ".h5": write_hdf5,
    ".hdf5": write_hdf5,
    ".npz": write_npz,
    ".npy": write_npy,
    ".safetensors": write_safetensors,
}
