"""Layers that training does not change, such as a cache of activations or a file of vectors: interface and batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

if TYPE_CHECKING:
    from jaxtyping import Float, Float32
    from torch import Tensor


class VectorSource(Protocol):
    """Sentences -> layers (L,B,T,E) in float32 on the CPU, zero at padding, always the same for the same sentence.

    `vectors/` has two implementations: cached activations of a frozen biLM, and vectors from another system.
    """

    num_layers: int
    """Number L of layers, including the token representation."""
    dim: int
    """Width E of a layer."""

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Prepare sentences that will be needed. Raises ValueError for sentences that have no vectors."""
        ...

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]: ...

    def fingerprint(self) -> str:
        """A hash that is equal for sources that give equal vectors."""
        ...


def padded_layers(
    arrays: Sequence[Float[np.ndarray, "L _ E"]], *, num_layers: int, dim: int
) -> Float32[Tensor, "L B T E"]:
    """Batch arrays (L,T,E), one per sentence, in any precision; float32 on the CPU, zero at padding."""
    longest = max((array.shape[1] for array in arrays), default=0)
    batch = np.zeros((num_layers, len(arrays), longest, dim), np.float32)
    for number, array in enumerate(arrays):
        batch[:, number, : array.shape[1]] = array
    return torch.from_numpy(batch)
