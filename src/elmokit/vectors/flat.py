"""Flat layouts: one array holds the vectors of all tokens, another the row at which each sentence begins.

`.npy` uses two files, `NAME.npy` and `NAME.offsets.npy`. `.npz` and `.safetensors` use one file, which also holds the
model and its settings as JSON: an archive in `about`, safetensors in the metadata. The archive is not compressed, so
that its arrays can be memory-mapped.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.lib import format as npy

from elmokit.files.atomic import atomic_write
from elmokit.files.json import parse_json
from elmokit.files.lines import ZIP_MAGIC
from elmokit.files.safetensors import DTYPES, header_bytes, looks_like_safetensors, read_layout, rows_in_parts
from elmokit.system.messages import FormatError, printable, readable_bytes

if TYPE_CHECKING:
    from jaxtyping import Float, Int64, Shaped

NAMES = ("vectors", "offsets", "about")
MAX_ABOUT_BYTES = 400_000  # NumPy uses four per character
_LOCAL_HEADER_BYTES = 30  # before the name of an entry
_NPY_DAMAGE = (ValueError, EOFError, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)
_ZIP_DAMAGE = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError)


@dataclass(frozen=True)
class RowsInFile:
    """The rows of a float32 array at the end of a file. A slice is read, not mapped, so memory does not grow."""

    path: Path
    start: int
    """Byte of the first row."""
    shape: tuple[int, ...]
    dtype: ClassVar[np.dtype[np.float32]] = np.dtype("<f4")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Float[np.ndarray, "N *L E"]:
        first, end, _ = rows.indices(len(self))
        row = self.shape[1:]
        at = self.start + first * prod(row) * self.dtype.itemsize
        numbers = np.fromfile(self.path, self.dtype, (end - first) * prod(row), offset=at)
        return numbers.reshape(end - first, *row)


@dataclass(frozen=True)
class FlatVectors:
    """Vectors of the tokens of all sentences, concatenated. Usually they are on disk, so read a part at a time."""

    vectors: Float[np.ndarray, "N *L E"] | RowsInFile
    offsets: Int64[np.ndarray, " M"]
    """Sentence i has the rows from `offsets[i]` up to `offsets[i + 1]` (exclusive)."""
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    """The model's fingerprint, the precision, the layers."""
    texts: Iterable[tuple[str, list[str]]] | None = None
    """The text of each sentence and its tokens, when vectors are written in a layout that holds them."""
    raw_text: bool = False
    """Whether the texts were tokenised. If not, they contain only the tokens."""

    @property
    def num_layers(self) -> int | None:
        return self.vectors.shape[1] if self.vectors.ndim == 3 else None

    @property
    def dim(self) -> int:
        return self.vectors.shape[-1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, sentence: int) -> Float[np.ndarray, "*L T E"]:
        return tokens_first(self.vectors[self.offsets[sentence] : self.offsets[sentence + 1]])

    def lengths(self) -> Int64[np.ndarray, " B"]:
        return np.diff(self.offsets)


def tokens_first(array: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The vectors (T,E) of a sentence as they are, (L,T,E) as (T,L,E), and (T,L,E) as (L,T,E)."""
    return array if array.ndim == 2 else array.swapaxes(0, 1)


def offsets_path(path: Path) -> Path:
    """The path `NAME.offsets.npy` for `NAME.npy`."""
    return path.with_suffix(".offsets.npy")


def tokens_path(path: Path) -> Path:
    """The file with the tokens of raw text that was embedded: `NAME.ENDING.tokens.txt`."""
    return path.with_name(f"{path.name}.tokens.txt")


def npy_start(shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.generic] = np.float32) -> bytes:
    """The header of a `.npy` file, as `numpy.save` writes it. The rows follow it."""
    start = io.BytesIO()
    npy.write_array_header_1_0(start, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape})
    return start.getvalue()


def start_of_safetensors(shape: tuple[int, ...], offsets: Int64[np.ndarray, " M"], about: Mapping[str, str]) -> bytes:
    """The header and the offsets of a safetensors file, in the library's order. The vectors follow them."""
    tensors = {"offsets": ("I64", offsets.shape, offsets.nbytes), "vectors": ("F32", shape, 4 * prod(shape))}
    return header_bytes(tensors, about) + offsets.tobytes()


def write_array(file: IO[bytes], array: Shaped[np.ndarray, "..."] | RowsInFile) -> None:
    """Write a `.npy` file, a few megabytes at a time."""
    file.write(npy_start(array.shape, array.dtype))
    for part in rows_in_parts(array):
        file.write(part.tobytes())


def write_npz(path: Path, stored: FlatVectors) -> None:
    """Write the archive atomically; the same vectors give the same bytes."""
    with atomic_write(path) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        about = np.array(json.dumps(dict(stored.about)))
        for name, array in zip(NAMES, (stored.vectors, stored.offsets, about), strict=True):
            entry = zipfile.ZipInfo(f"{name}.npy")  # always dated 1980
            with archive.open(entry, "w", force_zip64=True) as file:
                write_array(file, array)


def read_npy(path: Path) -> FlatVectors:
    """Map both arrays. Raises FileNotFoundError if one is missing, `FormatError` if they are damaged or do not fit."""
    offsets = offsets_path(path)
    return _checked(path, {"vectors": map_npy(path), "offsets": map_npy(offsets)}, about={}, offsets_path=offsets)


def recognise_npz(path: Path, start: bytes) -> bool:
    """Whether the first array of an archive is one of `NAMES`, judging by the first bytes of the file."""
    return start[_LOCAL_HEADER_BYTES:].startswith(tuple(f"{name}.npy".encode() for name in NAMES))


def read_npz(path: Path) -> FlatVectors:
    """Map the arrays. Raises `FormatError` if one is missing, compressed or damaged, or they do not fit together."""
    with path.open("rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except _ZIP_DAMAGE as error:
            reason = f"cannot be opened as a zip archive, perhaps cut short: {printable(str(error))}"
            raise FormatError(path, reason) from None
        with archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            arrays = {name: _map_entry(path, file, entries[name], part=name) for name in NAMES if name in entries}
    about = arrays.get("about", np.array("{}"))
    if about.dtype.kind != "U" or about.ndim != 0 or about.nbytes > MAX_ABOUT_BYTES:
        raise FormatError(path, f"has {about.dtype} of shape {about.shape}; expected a short text", part="about")
    try:
        text = str(about).encode()
    except ValueError as error:  # numbers that are not characters
        raise FormatError(path, f"is not text: {error}", part="about") from None
    return _checked(path, arrays, about=parse_json(text, dict[str, str], where=path, part="about"))


def recognise_safetensors(path: Path, start: bytes) -> bool:
    """Whether the first bytes are from a safetensors file of vectors, not of a model's weights."""
    return looks_like_safetensors(start) and b'"vectors"' in start and b'"offsets"' in start


def read_safetensors(path: Path) -> FlatVectors:
    """Map both arrays. Raises `FormatError` if one is missing, or they do not fill the file or do not fit together."""
    layout = read_layout(path, dtypes=("F32", "F16", "I64"))
    arrays = {
        name: _map(path, DTYPES[entry.dtype], entry.shape, start=layout.num_header_bytes + entry.start)
        for name, entry in layout.tensors.items()
        if name in NAMES
    }
    return _checked(path, arrays, about=layout.metadata)


def map_npy(path: Path) -> Shaped[np.ndarray, "..."]:
    """Map the array of a `.npy` file read-only. Raises FileNotFoundError, or `FormatError` for anything else."""
    if not path.is_file():  # opening a pipe would block
        raise FileNotFoundError(f"{path}: there is no such file")
    with path.open("rb") as file:
        return _map_npy_part(path, file, num_bytes=os.fstat(file.fileno()).st_size)


def fits_float16(array: Float[np.ndarray, "..."]) -> bool:
    """Whether every number is finite and within float16's range, up to 65,504."""
    return bool(np.abs(array).max(initial=0.0) <= np.finfo(np.float16).max)


def _map_npy_part(path: Path, file: IO[bytes], *, num_bytes: int, part: str | None = None) -> Shaped[np.ndarray, "..."]:
    """Map the array in the next `num_bytes` of `file`. Arrays of Python objects are refused, not unpickled."""
    start = file.tell()
    try:
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, fortran_order, dtype = read(file)
    except _NPY_DAMAGE as error:
        raise FormatError(path, f"is not a NumPy array: {printable(str(error))}", part=part) from None
    if dtype.hasobject or fortran_order or min(shape, default=0) < 0:
        raise FormatError(path, f"is an array of {dtype} of shape {shape}; expected numbers in rows", part=part)
    expected = file.tell() - start + prod(shape) * dtype.itemsize
    if expected != num_bytes:
        sizes = f"{dtype} of shape {shape} needs {readable_bytes(expected)}, but it has {readable_bytes(num_bytes)}"
        raise FormatError(path, f"is not a NumPy array, or is cut short: {sizes}", part=part)
    return _map(path, dtype, shape, start=file.tell())


def _map(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], *, start: int) -> Shaped[np.ndarray, "..."]:
    """Map an array read-only. The caller has checked that it ends within the file."""
    if 0 in shape or dtype.itemsize == 0:
        try:
            return np.empty(shape, dtype)
        except ValueError as error:  # the size of the file does not bound the other dimensions
            raise FormatError(path, f"has an array of shape {shape}: {error}") from None
    return np.asarray(np.memmap(path, dtype, "r", offset=start, shape=shape))


def _map_entry(path: Path, file: IO[bytes], entry: zipfile.ZipInfo, *, part: str) -> Shaped[np.ndarray, "..."]:
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or entry.header_offset < 0:
        raise FormatError(path, "is compressed or encrypted; expected a plain array, as in numpy.savez", part=part)
    file.seek(entry.header_offset)
    local = file.read(_LOCAL_HEADER_BYTES)  # it repeats the lengths of the name and the extra field
    name_and_extra = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    start = entry.header_offset + _LOCAL_HEADER_BYTES + name_and_extra
    if not local.startswith(ZIP_MAGIC) or start + entry.file_size > os.fstat(file.fileno()).st_size:
        raise FormatError(path, "is not where the archive's directory says", part=part)
    file.seek(start)
    return _map_npy_part(path, file, num_bytes=entry.file_size, part=part)


def _checked(
    path: Path,
    arrays: Mapping[str, Shaped[np.ndarray, "..."]],
    *,
    about: Mapping[str, str],
    offsets_path: Path | None = None,
) -> FlatVectors:
    """Make `FlatVectors` from a file's arrays. Raises `FormatError`, naming file and array, for any other arrays."""
    for name in ("vectors", "offsets"):
        if name not in arrays:
            raise FormatError(path, "is missing", part=name)
    vectors, offsets = arrays["vectors"], arrays["offsets"]
    if vectors.ndim not in (2, 3) or vectors.dtype.str not in ("<f2", "<f4") or 0 in vectors.shape[1:]:
        expected = "float16 or float32, (tokens, width) or (tokens, layers, width)"
        raise FormatError(path, f"has {vectors.dtype} of shape {vectors.shape}; expected {expected}", part="vectors")
    where = offsets_path or path
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) == 0:
        reason = f"has {offsets.dtype} of shape {offsets.shape}; expected a row of whole numbers"
        raise FormatError(where, reason, part="offsets")
    bounds = offsets.astype(np.int64, copy=False)
    if bounds[0] != 0 or bounds[-1] != len(vectors) or (bounds[1:] < bounds[:-1]).any():
        expected = f"numbers that grow from 0 to {len(vectors):,}, the number of tokens in {path.name}"
        raise FormatError(where, f"goes from {bounds[0]} to {bounds[-1]}; expected {expected}", part="offsets")
    return FlatVectors(vectors, bounds, about)
