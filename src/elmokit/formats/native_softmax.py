"""The softmax of the native format: in model.safetensors, or in softmax-00001-of-0000N.safetensors, split by rows.

Separate files may hold the weight in int8: integers from -127 to 127, times the row's scale, a float32. Such a softmax
takes half the space of a float16 one, and it is read into float32 like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.safetensors import WEIGHTS, map_weights, read_layout, write_arrays
from elmokit.files.weights_file import Array
from elmokit.formats.file_kinds import naming_failed_download
from elmokit.model.weights import SOFTMAX_BIAS, SOFTMAX_NAMES, SOFTMAX_WEIGHT
from elmokit.system.messages import FormatError, plural, printable

if TYPE_CHECKING:
    from elmokit.files.safetensors import Layout, TensorEntry
    from elmokit.model.config import BiLMConfig
    from elmokit.model.weights import Weights

INT8 = "I8"
SOFTMAX_DTYPES = (*WEIGHTS, "int8")
SOFTMAX_SCALE = "softmax.weight_scale"
_HEADER_ROOM = 1024  # bytes for the header entries of four tensors
_LARGEST = 127
_SHARD = re.compile(r"softmax-\d{5}-of-\d{5}\.safetensors")
_DTYPES_IN_SHARDS = (*WEIGHTS.values(), INT8)


def softmax_shards(folder: Path) -> list[Path]:
    """The files of the softmax alone, in the order of its rows; none if it is in model.safetensors or absent."""
    return sorted(path for path in folder.iterdir() if _SHARD.fullmatch(path.name))


def softmax_files(weights: Path, config: BiLMConfig, layout: Layout) -> dict[Path, Layout]:
    """The files that contain the softmax, in the order of its rows, with their checked layouts.

    layout: that of `weights`, the model's model.safetensors, which has a softmax, or else shards are next to it.
    """
    shards = softmax_shards(weights.parent)
    if SOFTMAX_WEIGHT in layout.tensors:
        if shards:
            raise FormatError(shards[0], f"is a part of the softmax, but {weights.name} also contains a softmax")
        return {weights: layout}
    total = int(shards[0].stem.rpartition("-")[2])
    expected = [weights.with_name(_shard_name(number, total)) for number in range(1, total + 1)]
    for path in sorted({*shards} ^ {*expected}):
        reason = "is missing" if path in expected else "is one too many"
        raise FormatError(path, f"{reason}; {shards[0].name} says that the softmax has {plural(total, 'part')}")
    files: dict[Path, Layout] = {}
    for shard in shards:
        with naming_failed_download(shard):
            files[shard] = read_layout(shard, dtypes=_DTYPES_IN_SHARDS)
        _check_shard(shard, files[shard].tensors, config)
    return files


def read_softmax(weights: Path, config: BiLMConfig, layout: Layout) -> dict[str, Array]:
    """Weight (V,D) and bias (V,) in float32, from the files that `softmax_files` gives."""
    pieces: list[dict[str, Array]] = []
    for file, layout_of_file in softmax_files(weights, config, layout).items():
        names = layout_of_file.tensors.keys() & {*SOFTMAX_NAMES, SOFTMAX_SCALE}
        mapped = map_weights(file, layout_of_file, names)
        tensors = {name: np.asarray(array, np.float32) for name, array in mapped.items()}
        if SOFTMAX_SCALE in tensors:
            tensors[SOFTMAX_WEIGHT] *= tensors.pop(SOFTMAX_SCALE)[:, None]
        pieces.append(tensors)
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece.pop(name) for piece in pieces]) for name in SOFTMAX_NAMES}


def write_softmax(
    folder: Path, model: Weights, *, dtype: str, max_file_bytes: int | None, metadata: Mapping[str, str]
) -> None:
    """Write the softmax into separate files of at most `max_file_bytes`, by rows; None writes one file."""
    weight, bias = model.tensors[SOFTMAX_WEIGHT], model.tensors[SOFTMAX_BIAS]
    rows = len(bias)
    if max_file_bytes is not None:
        dim = weight.shape[1]  # in int8, the bias and the row's scale are float32
        row_bytes = dim + 2 * 4 if dtype == "int8" else (dim + 1) * np.dtype(dtype).itemsize
        most = (max_file_bytes - _HEADER_ROOM) // row_bytes
        if most < 1:
            raise ValueError(f"max_file_bytes is {max_file_bytes}; a single row of the softmax needs more")
        rows = ceil(rows / ceil(rows / most))
    starts = range(0, len(bias), rows)
    for number, start in enumerate(starts, start=1):
        own_weight, own_bias = weight[start : start + rows], bias[start : start + rows]
        if dtype == "int8":
            steps, scale = _as_int8(own_weight)
            arrays = {SOFTMAX_WEIGHT: steps, SOFTMAX_SCALE: scale, SOFTMAX_BIAS: own_bias}
        else:
            arrays = {SOFTMAX_WEIGHT: np.asarray(own_weight, dtype), SOFTMAX_BIAS: np.asarray(own_bias, dtype)}
        write_arrays(folder / _shard_name(number, len(starts)), arrays, metadata=metadata)


def _check_shard(shard: Path, entries: Mapping[str, TensorEntry], config: BiLMConfig) -> None:
    """Raise FormatError for other tensors than a weight and a bias, with the rows' scales if the weight is in int8."""
    rows = entries[SOFTMAX_BIAS].shape[:1] if SOFTMAX_BIAS in entries else ()
    expected = {SOFTMAX_WEIGHT: (*rows, config.projection_dim), SOFTMAX_BIAS: rows}
    in_int8 = [name for name, entry in entries.items() if entry.dtype == INT8]
    if in_int8:
        expected[SOFTMAX_SCALE] = rows
    if {name: entry.shape for name, entry in entries.items()} != expected or in_int8 not in ([], [SOFTMAX_WEIGHT]):
        found = printable(str({name: (entry.dtype, *entry.shape) for name, entry in entries.items()}))
        raise FormatError(shard, f"holds {found}; expected {expected}; only {SOFTMAX_WEIGHT} may be in {INT8}")


def _as_int8(weight: Array) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int8]], Array]:
    """Each row in 127 steps of its scale to either side, and the scales (V,)."""
    scale = np.abs(weight).max(axis=1) / np.float32(_LARGEST)
    steps = np.divide(weight, scale[:, None], out=np.zeros_like(weight), where=scale[:, None] > 0)
    return np.rint(steps).clip(-_LARGEST, _LARGEST).astype(np.int8), scale


def _shard_name(number: int, total: int) -> str:
    return f"softmax-{number:05d}-of-{total:05d}.safetensors"
