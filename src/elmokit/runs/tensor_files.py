"""Tensors of torch in safetensors files: what runs keep of their weights and optimisers, without pickle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from elmokit.system.safetensors import read_arrays, read_layout, write_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor


@dataclass(frozen=True)
class TensorFile:
    """What a file holds: its tensors, on the CPU, and the metadata of its header."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors of any device, contiguous or not, whole or not at all.

    Raises OSError, which names `path`, if the disk is full.
    """
    write_arrays(path, {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}, metadata=metadata)


def read_tensors(path: Path) -> TensorFile:
    """All tensors of a file, in memory of their own, at most as much as the file has bytes.

    Raises FileNotFoundError, and FormatError, a ValueError that names the file, if it is damaged.
    """
    layout = read_layout(path)
    arrays = read_arrays(path, layout)
    return TensorFile({name: torch.from_numpy(array) for name, array in arrays.items()}, layout.metadata)
