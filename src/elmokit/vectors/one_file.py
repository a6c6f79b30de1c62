"""Flat vectors as one file, `.npz` or `.safetensors`: `vectors` (N,E) or (N,L,E), `offsets`, model and settings.

Model and settings are JSON: in `about` of an archive, in the metadata of a safetensors file. The archive is not
compressed, so that the vectors in it can be mapped.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from elmokit.files.atomic import atomic_write
from elmokit.files.safetensors import DTYPES, looks_like_safetensors, read_layout, write_arrays
from elmokit.system.messages import FormatError, printable
from elmokit.vectors.arrays import map_array, map_npy_part, write_array
from elmokit.vectors.reader import FlatVectors, checked_flat_vectors, read_about

if TYPE_CHECKING:
    from jaxtyping import Shaped

NAMES = ("vectors", "offsets", "about")
MAX_ENTRIES = 100
MAX_ABOUT_CHARACTERS = 100_000
_MAGIC = b"PK\x03\x04"
_LOCAL_HEADER_BYTES = 30  # before the name of an entry
_DAMAGE = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError)  # what zipfile raises


def recognise_npz(path: Path, start: bytes) -> bool:
    """Whether the file, which starts with these bytes, is an archive whose first array is one of `NAMES`."""
    names = tuple(f"{name}.npy".encode() for name in NAMES)
    return start.startswith(_MAGIC) and start[_LOCAL_HEADER_BYTES:].startswith(names)


def write_npz(path: Path, stored: FlatVectors) -> None:
    """Write the archive atomically; the same vectors give the same bytes."""
    with atomic_write(path) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        about = np.array(json.dumps(dict(stored.about)))
        for name, array in zip(NAMES, (stored.vectors, stored.offsets, about), strict=True):
            entry = zipfile.ZipInfo(f"{name}.npy")  # always dated 1980
            with archive.open(entry, "w", force_zip64=True) as file:
                write_array(file, array)


def read_npz(path: Path) -> FlatVectors:
    """Map the arrays. Raises `FormatError` if one is missing, compressed or damaged, or they do not fit together."""
    with path.open("rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except _DAMAGE as error:
            reason = f"cannot be opened as a zip archive, perhaps cut short: {printable(str(error))}"
            raise FormatError(path, reason) from None
        with archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise FormatError(path, f"holds {len(entries)} arrays; at most {MAX_ENTRIES} are read")
            arrays = {
                name: _map_entry(path, file, entry, part=name)
                for name in NAMES
                for entry in entries
                if entry.filename == f"{name}.npy"
            }
    for name in NAMES[:2]:
        if name not in arrays:
            raise FormatError(path, "is missing", part=name)
    about = _about_of(path, arrays["about"]) if "about" in arrays else {}
    return checked_flat_vectors(path, arrays["vectors"], arrays["offsets"], about=about)


def recognise_safetensors(path: Path, start: bytes) -> bool:
    """Whether the file, which starts with these bytes, is a safetensors file of vectors, not of a model's weights."""
    return looks_like_safetensors(start) and b'"vectors"' in start and b'"offsets"' in start


def write_safetensors(path: Path, stored: FlatVectors) -> None:
    """Write the file atomically."""
    write_arrays(path, {"vectors": stored.vectors, "offsets": stored.offsets}, metadata=stored.about)


def read_safetensors(path: Path) -> FlatVectors:
    """Map both arrays. Raises `FormatError` if one is missing, or they do not fill the file or do not fit together."""
    layout = read_layout(path, dtypes=("F32", "F16", "I64"))
    arrays: dict[str, Shaped[np.ndarray, "..."]] = {}
    for name in ("vectors", "offsets"):
        if name not in layout.tensors:
            raise FormatError(path, "is missing", part=f"tensor {name}")
        entry = layout.tensors[name]
        arrays[name] = map_array(path, DTYPES[entry.dtype], entry.shape, start=layout.num_header_bytes + entry.start)
    return checked_flat_vectors(path, arrays["vectors"], arrays["offsets"], about=layout.metadata)


def _map_entry(path: Path, file: IO[bytes], entry: zipfile.ZipInfo, *, part: str) -> Shaped[np.ndarray, "..."]:
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
        raise FormatError(path, "is compressed or encrypted; expected a plain array, as of numpy.savez", part=part)
    if entry.header_offset < 0:
        raise FormatError(path, "begins before the archive", part=part)
    file.seek(entry.header_offset)
    local = file.read(_LOCAL_HEADER_BYTES)  # it repeats the lengths of the name and the extra field
    name_and_extra = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    start = entry.header_offset + _LOCAL_HEADER_BYTES + name_and_extra
    if not local.startswith(_MAGIC) or start + entry.file_size > os.fstat(file.fileno()).st_size:
        raise FormatError(path, "is not where the archive's directory says", part=part)
    file.seek(start)
    return map_npy_part(path, file, num_bytes=entry.file_size, part=part)


def _about_of(path: Path, array: Shaped[np.ndarray, "..."]) -> dict[str, str]:
    if array.dtype.kind != "U" or array.ndim != 0 or array.dtype.itemsize > 4 * MAX_ABOUT_CHARACTERS:
        raise FormatError(path, f"has {array.dtype} of shape {array.shape}; expected a short text", part="about")
    try:
        text = str(array).encode()
    except ValueError as error:  # numbers that are not characters
        raise FormatError(path, f"is not text: {error}", part="about") from None
    return read_about(path, text, part="about")
