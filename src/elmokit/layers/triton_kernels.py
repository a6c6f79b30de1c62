"""The functions of `kernels.py` as Triton kernels: each reads its inputs once; torch writes every intermediate result.

They compute in the type of the gates, or of the true logits, whatever the type of the products. A program works on one
row of one direction. A stride is a tensor's step from one direction to the next; rows are contiguous. `pytest -m cuda`
compares the kernels with torch.
"""
# pyright: basic, reportMissingImports=false, reportOptionalMemberAccess=false, reportIndexIssue=false

from __future__ import annotations

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # then `kernels.py` computes in torch
    triton = None


def try_out() -> None:
    """Compile and run one of the kernels on the GPU; raises whatever Triton raises."""
    ones = torch.ones(1, 1, 16, device="cuda")
    cell_forward(ones.repeat(1, 1, 4), ones, ones[..., 0], ones.repeat(1, 1, 4), ones.clone(), ones.clone(), clip=1.0)
    torch.cuda.synchronize()


def cell_forward(
    products: Tensor, before: Tensor, carry: Tensor, gates: Tensor, cell: Tensor, hidden: Tensor, *, clip: float
) -> None:
    directions, rows, dim = cell.shape
    tensors = products, before, carry, gates, cell, hidden
    strides = [tensor.stride(0) for tensor in tensors]
    block = _block(dim)
    _cell_forward[directions * rows, triton.cdiv(dim, block)](*tensors, clip, rows, dim, *strides, block)


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
    directions, rows, dim = cell.shape
    tensors = to_hidden, gates, cell, before, carry, to_cell, to_gates
    strides = [tensor.stride(0) for tensor in tensors]
    block = _block(dim)
    _cell_backward[directions * rows, triton.cdiv(dim, block)](*tensors, clip, rows, dim, *strides, block)


def softmax_shares(
    logits: Tensor, offsets: Tensor, true: Tensor, hits: Tensor, *, scale: float
) -> tuple[Tensor, Tensor]:
    groups, rows, size = logits.shape
    losses, share = torch.empty_like(true), torch.empty_like(true)
    tensors = logits, offsets.contiguous(), true.contiguous(), hits.contiguous(), losses, share
    _softmax_shares[groups * rows,](*tensors, scale, rows, size, 4096, num_warps=8)
    return losses, share


def _block(dim: int) -> int:
    return min(1024, triton.next_power_of_2(dim))


if triton is not None:

    @triton.jit
    def _tanh(x):
        return 2 * tl.sigmoid(2 * x) - 1

    @triton.jit
    def _cell_forward(
        products, before, carry, gates, cell, hidden, clip, rows, dim, sp, sb, sk, sg, sc, sh, block: tl.constexpr
    ):
        program = tl.program_id(0)
        side, row = (program // rows).to(tl.int64), program % rows
        at = tl.program_id(1) * block + tl.arange(0, block)
        inside = at < dim
        wide = gates.dtype.element_ty
        z = products + side * sp + row * 4 * dim + at
        g = gates + side * sg + row * 4 * dim + at
        keep = tl.load(carry + side * sk + row)
        i = tl.sigmoid(tl.load(z, mask=inside, other=0.0).to(wide))
        f = tl.sigmoid(tl.load(z + dim, mask=inside, other=0.0).to(wide))
        o = tl.sigmoid(tl.load(z + 2 * dim, mask=inside, other=0.0).to(wide))
        j = _tanh(tl.load(z + 3 * dim, mask=inside, other=0.0).to(wide))
        c = f * tl.load(before + side * sb + row * dim + at, mask=inside, other=0.0) * keep + i * j
        c = tl.minimum(tl.maximum(c, -clip), clip)
        tl.store(g, i, mask=inside)
        tl.store(g + dim, f, mask=inside)
        tl.store(g + 2 * dim, o, mask=inside)
        tl.store(g + 3 * dim, j, mask=inside)
        tl.store(cell + side * sc + row * dim + at, c, mask=inside)
        tl.store(hidden + side * sh + row * dim + at, o * _tanh(c), mask=inside)

    @triton.jit
    def _cell_backward(
        to_hidden,
        gates,
        cell,
        before,
        carry,
        to_cell,
        to_gates,
        clip,
        rows,
        dim,
        sh,
        sg,
        sc,
        sb,
        sk,
        st,
        so,
        block: tl.constexpr,
    ):
        program = tl.program_id(0)
        side, row = (program // rows).to(tl.int64), program % rows
        at = tl.program_id(1) * block + tl.arange(0, block)
        inside = at < dim
        g = gates + side * sg + row * 4 * dim + at
        out = to_gates + side * so + row * 4 * dim + at
        keep = tl.load(carry + side * sk + row)
        i = tl.load(g, mask=inside, other=0.0)
        f = tl.load(g + dim, mask=inside, other=0.0)
        o = tl.load(g + 2 * dim, mask=inside, other=0.0)
        j = tl.load(g + 3 * dim, mask=inside, other=0.0)
        c = tl.load(cell + side * sc + row * dim + at, mask=inside, other=0.0)
        old = tl.load(before + side * sb + row * dim + at, mask=inside, other=0.0) * keep
        dm = tl.load(to_hidden + side * sh + row * dim + at, mask=inside, other=0.0).to(gates.dtype.element_ty)
        place = to_cell + side * st + row * dim + at
        squashed = _tanh(c)
        total = tl.load(place, mask=inside, other=0.0) + dm * o * (1 - squashed * squashed)
        total = tl.where(tl.abs(c) < clip, total, 0.0)
        tl.store(out, total * j * i * (1 - i), mask=inside)
        tl.store(out + dim, total * old * f * (1 - f), mask=inside)
        tl.store(out + 2 * dim, dm * squashed * o * (1 - o), mask=inside)
        tl.store(out + 3 * dim, total * i * (1 - j * j), mask=inside)
        tl.store(place, total * f * keep, mask=inside)

    @triton.jit
    def _softmax_shares(logits, offsets, true, hits, losses, share, scale, rows, size, block: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        base = logits + row * size
        offset = offsets + row // rows * size
        own = tl.load(true + row)
        wide = true.dtype.element_ty
        hit = tl.load(hits + row)
        highest = own
        total = tl.zeros((block,), wide)
        for start in range(0, size, block):
            at = start + tl.arange(0, block)
            x = tl.load(base + at, mask=(at < size) & (at != hit), other=float("-inf")).to(wide)
            x += tl.load(offset + at, mask=at < size, other=0.0)
            new = tl.maximum(highest, tl.max(x, axis=0))
            total = total * tl.exp(highest - new) + tl.exp(x - new)
            highest = new
        whole = tl.sum(total, axis=0) + tl.exp(own - highest)
        for start in range(0, size, block):
            at = start + tl.arange(0, block)
            x = tl.load(base + at, mask=(at < size) & (at != hit), other=float("-inf")).to(wide)
            x += tl.load(offset + at, mask=at < size, other=0.0)
            tl.store(base + at, tl.exp(x - highest) / whole * scale, mask=at < size)
        tl.store(losses + row, tl.log(whole) + highest - own)
        tl.store(share + row, (tl.exp(own - highest) / whole - 1) * scale)
