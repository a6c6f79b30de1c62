"""Element-wise computations of a stacked step: in torch, or on a GPU with Triton as one kernel each.

Tensors of cells are (W,B,H), one step of W directions; each may be a slice of (W,T,B,H). Matrix products may have a
narrower type than the gates and cells.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor


def cell_forward(
    products: Tensor, before: Tensor, carry: Tensor, gates: Tensor, cell: Tensor, hidden: Tensor, *, clip: float
) -> None:
    """Fill `gates` (W,B,4H) from the products, then `cell`, and `hidden`, which is the input of the projection.

    i, f, o = sigmoid, j = tanh of the products; `cell = clip(f * before * carry + i * j)`, `hidden = o * tanh(cell)`.
    """
    if triton := _triton_kernels(gates):
        triton.cell_forward(products, before, carry, gates, cell, hidden, clip=clip)
        return
    size = cell.shape[-1]
    gates.copy_(products)
    gates[..., : 3 * size].sigmoid_()
    gates[..., 3 * size :].tanh_()
    i, f, o, j = gates.chunk(4, dim=-1)
    cell.copy_((f * before * carry[..., None] + i * j).clamp_(-clip, clip))
    hidden.copy_(o * cell.tanh())


def cell_backward(
    to_hidden: Tensor,
    gates: Tensor,
    cell: Tensor,
    before: Tensor,
    carry: Tensor,
    to_cell: Tensor,
    to_gates: Tensor,
    *,
    clip: float,
) -> None:
    """Fill `to_gates`, the products' gradient. Turn `to_cell`, the cell's gradient, into the previous cell's."""
    if triton := _triton_kernels(gates):
        triton.cell_backward(to_hidden, gates, cell, before, carry, to_cell, to_gates, clip=clip)
        return
    i, f, o, j = gates.chunk(4, dim=-1)
    carry, squashed = carry[..., None], cell.tanh()
    to_hidden = to_hidden.to(cell.dtype)
    total = (to_cell + to_hidden * o * (1 - squashed.square())) * (cell.abs() < clip)
    sigmoids = total * j * i * (1 - i), total * before * carry * f * (1 - f), to_hidden * squashed * o * (1 - o)
    to_gates.copy_(torch.cat((*sigmoids, total * i * (1 - j.square())), dim=-1))
    to_cell.copy_(total * f * carry)


def softmax_shares(
    logits: Tensor, offsets: Tensor, true: Tensor, hits: Tensor, *, scale: float
) -> tuple[Tensor, Tensor]:
    """Losses (G,N) of logits (G,N,S) + offsets (G,S), and the gradient of `scale` x their sum for the true logits.

    Overwrites the logits with the gradient of `scale` x the sum of the losses. The true logit (G,N) is a class besides
    the S others. The column in `hits` (G,N) is left out, because it is also the target; -1 leaves out none.
    """
    if triton := _triton_kernels(logits):
        return triton.softmax_shares(logits, offsets, true, hits, scale=scale)
    values = logits.to(true.dtype) + offsets[:, None]
    columns = torch.arange(values.shape[2], device=values.device)
    values.masked_fill_(columns == hits[..., None], -math.inf)
    total = torch.logaddexp(values.logsumexp(dim=2), true)
    logits.copy_((values - total[..., None]).exp_() * scale)
    return total - true, torch.expm1(true - total) * scale


def _triton_kernels(tensor: Tensor) -> Any:
    return _working_triton_kernels() if tensor.is_cuda else None


@cache
def _working_triton_kernels() -> Any:
    """The module of Triton kernels, imported for the first GPU tensor.

    None if Triton is missing, as on Windows, or cannot compile: it needs a C compiler and Python's headers.
    """
    module = import_module("elmokit.layers.triton_kernels")
    if module.triton is None:
        return None
    try:
        module.try_out()
    except Exception as error:  # from Triton, from a program that it runs, or from the operating system
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(
            f"Triton does not work here, so the GPU is slower; it needs a C compiler and Python's headers ({reason})",
            stacklevel=2,
        )
        return None
    return module
