"""Tensors of torch in safetensors files: what runs keep of their weights and optimisers, without pickle.

A file has a checksum of its tensors and metadata among its metadata, so that a single damaged bit is noticed. Files
of earlier versions, which have none, are read without this check.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from elmokit.files.safetensors import read_arrays, read_layout, rows_in_parts, write_arrays
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Shaped
    from torch import Tensor

CHECKSUM = "checksum"


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors of any device, contiguous or not, whole or not at all.

    Raises OSError, which names `path`, if the disk is full.
    """
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    about = dict(metadata or {})
    write_arrays(path, arrays, metadata=about | {CHECKSUM: _checksum(arrays, about)})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, on the CPU, in memory of their own, at most as much as the file has bytes.

    Raises FileNotFoundError, and FormatError, a ValueError that names the file, if it is damaged.
    """
    layout = read_layout(path)
    arrays = read_arrays(path, layout)
    about = dict(layout.metadata)
    checksum = about.pop(CHECKSUM, None)
    if checksum is not None and checksum != _checksum(arrays, about):
        raise FormatError(path, "does not have the checksum that was written with it: it is damaged")
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _checksum(arrays: Mapping[str, Shaped[np.ndarray, "..."]], metadata: Mapping[str, str]) -> str:
    """Of names, types, shapes and numbers, in an order that does not depend on that of the file."""
    digest = hashlib.blake2b(repr(sorted(metadata.items())).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        for part in rows_in_parts(array):
            digest.update(part.tobytes())
    return digest.hexdigest()
