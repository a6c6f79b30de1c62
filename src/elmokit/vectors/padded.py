"""Layers of single sentences -> a padded batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from jaxtyping import Float, Float32
    from torch import Tensor


def padded_layers(
    arrays: Sequence[Float[np.ndarray, "L _ E"]], *, num_layers: int, dim: int
) -> Float32[Tensor, "L B T E"]:
    """Batch arrays (L,T,E), one per sentence, in any precision; float32 on the CPU, zero at padding."""
    longest = max((array.shape[1] for array in arrays), default=0)
    batch = np.zeros((num_layers, len(arrays), longest, dim), np.float32)
    for number, array in enumerate(arrays):
        batch[:, number, : array.shape[1]] = array
    return torch.from_numpy(batch)
