"""Sigmoid for inference only, with bits that depend neither on the number of threads nor on what else is computed.

Torch cuts its input into equal chunks, one per thread. What is left of a chunk after its last whole SIMD vector is
computed by other code, which rounds differently; so here the chunks end where vectors end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

GRAIN = 32_768  # the fewest numbers that torch gives to a thread (at::internal::GRAIN_SIZE)
LANES = 32  # the numbers that torch computes together: two SIMD vectors of AVX-512, or four of AVX2


def sigmoid(values: Float[Tensor, "N K"], *, out: Float[Tensor, "N K"]) -> Float[Tensor, "N K"]:
    """Write the sigmoid of contiguous values to `out`, which is contiguous and may be the same tensor.

    The result of a row depends only on that row, bit for bit, if K is a multiple of `LANES`.
    """
    size = values.numel()
    even = _evenly_cut(size, num_threads=torch.get_num_threads()) if values.device.type == "cpu" else size
    if even == size:
        return torch.sigmoid(values, out=out)
    given, result = values.view(-1), out.view(-1)
    torch.sigmoid(given[:even], out=result[:even])
    torch.sigmoid(given[even:], out=result[even:])  # too little for a second thread
    return out


def _evenly_cut(size: int, *, num_threads: int) -> int:
    """The most of `size` numbers that torch cuts into chunks of whole `LANES`."""
    while rest := size % (LANES * max(1, min(num_threads, -(-size // GRAIN)))):
        size -= rest  # which may now be too little for the last thread
    return size
