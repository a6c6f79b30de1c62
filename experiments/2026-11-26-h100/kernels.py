"""What a step does element by element: Triton kernels on a GPU, the same in torch elsewhere (and to check them)."""

from __future__ import annotations

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None


class Kernels:
    """Functions that write into their outputs; views (2,B,*) may have any stride between the directions."""

    def __init__(self, use_triton: bool) -> None:
        self.use_triton = use_triton and triton is not None

    def cell_forward(
        self, gates: Tensor, before: Tensor, mask: Tensor, cell: Tensor, hidden: Tensor, clip: float
    ) -> None:
        """Squash the gates (2,B,4H) in place; cell = clip(f c mask + i j), hidden = o tanh(cell)."""
        if self.use_triton:
            _, rows, dim = cell.shape
            block = min(1024, triton.next_power_of_2(dim))
            _cell_forward[(2 * rows, triton.cdiv(dim, block))](
                gates, before, mask, cell, hidden, clip, rows, dim,
                gates.stride(0), before.stride(0), mask.stride(0), cell.stride(0), hidden.stride(0), block,
            )  # fmt: skip
            return
        i, f, o, j = gates.chunk(4, dim=2)
        for gate in (i, f, o):
            gate.sigmoid_()
        j.tanh_()
        cell.copy_((f * before * mask[:, :, None] + i * j).clamp_(-clip, clip))
        hidden.copy_(o * cell.tanh())

    def cell_backward(
        self,
        to_hidden: Tensor,
        gates: Tensor,
        cell: Tensor,
        before: Tensor,
        mask: Tensor,
        to_cell: Tensor,
        to_gates: Tensor,
        clip: float,
    ) -> None:
        """The gradient before the gates are squashed; `to_cell` becomes that of the cell before the step."""
        if self.use_triton:
            _, rows, dim = cell.shape
            block = min(1024, triton.next_power_of_2(dim))
            _cell_backward[(2 * rows, triton.cdiv(dim, block))](
                to_hidden, gates, cell, before, mask, to_cell, to_gates, clip, rows, dim,
                to_hidden.stride(0), gates.stride(0), cell.stride(0), before.stride(0), mask.stride(0),
                to_cell.stride(0), to_gates.stride(0), block,
            )  # fmt: skip
            return
        i, f, o, j = gates.chunk(4, dim=2)
        squashed = cell.tanh()
        old = before * mask[:, :, None]
        total = (to_cell + to_hidden * o * (1 - squashed**2)) * (cell.abs() < clip)
        sigmoids = total * j * i * (1 - i), total * old * f * (1 - f), to_hidden * squashed * o * (1 - o)
        to_gates.copy_(torch.cat((*sigmoids, total * i * (1 - j**2)), dim=2))
        to_cell.copy_(total * f * mask[:, :, None])

    def shares(
        self, logits: Tensor, offsets: Tensor, true: Tensor, hits: Tensor, scale: float
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy of each row of logits + offsets, less the column that it hits, and of its own true logit.

        Replaces the logits by their gradients x scale; returns the losses and the gradients of the true logits x scale.
        """
        if self.use_triton:
            losses, share = torch.empty_like(true), torch.empty_like(true)
            _shares[(len(logits),)](
                logits, offsets, true, hits, losses, share, scale, logits.shape[1], logits.stride(0), 4096, num_warps=8
            )
            return losses, share
        values = logits.to(true.dtype) + offsets
        columns = torch.arange(values.shape[1], device=values.device)
        values = values.masked_fill(columns == hits[:, None], float("-inf"))
        total = torch.logaddexp(values.logsumexp(dim=1), true)
        logits.copy_((values - total[:, None]).exp() * scale)
        return total - true, ((true - total).exp() - 1) * scale


if triton is not None:

    @triton.jit
    def _tanh(x):
        return 2 * tl.sigmoid(2 * x) - 1

    @triton.jit
    def _cell_forward(gates, before, mask, cell, hidden, clip, rows, dim, sg, sb, sm, sc, sh, block: tl.constexpr):
        program = tl.program_id(0)
        side, row = (program // rows).to(tl.int64), program % rows
        at = tl.program_id(1) * block + tl.arange(0, block)
        inside = at < dim
        g = gates + side * sg + row * 4 * dim + at
        keep = tl.load(mask + side * sm + row)
        i = tl.sigmoid(tl.load(g, mask=inside, other=0.0))
        f = tl.sigmoid(tl.load(g + dim, mask=inside, other=0.0))
        o = tl.sigmoid(tl.load(g + 2 * dim, mask=inside, other=0.0))
        j = _tanh(tl.load(g + 3 * dim, mask=inside, other=0.0))
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
        mask,
        to_cell,
        to_gates,
        clip,
        rows,
        dim,
        sh,
        sg,
        sc,
        sb,
        sm,
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
        keep = tl.load(mask + side * sm + row)
        i = tl.load(g, mask=inside, other=0.0)
        f = tl.load(g + dim, mask=inside, other=0.0)
        o = tl.load(g + 2 * dim, mask=inside, other=0.0)
        j = tl.load(g + 3 * dim, mask=inside, other=0.0)
        c = tl.load(cell + side * sc + row * dim + at, mask=inside, other=0.0)
        old = tl.load(before + side * sb + row * dim + at, mask=inside, other=0.0) * keep
        dm = tl.load(to_hidden + side * sh + row * dim + at, mask=inside, other=0.0)
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
    def _shares(logits, offsets, true, hits, losses, share, scale, num: tl.constexpr, stride, block: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        base = logits + row * stride
        own = tl.load(true + row)
        hit = tl.load(hits + row)
        highest = own
        total = tl.zeros((block,), tl.float32)
        for start in range(0, num, block):
            at = start + tl.arange(0, block)
            inside = (at < num) & (at != hit)
            x = tl.load(base + at, mask=inside, other=float("-inf")).to(tl.float32)
            x += tl.load(offsets + at, mask=at < num, other=0.0)
            new = tl.maximum(highest, tl.max(x, axis=0))
            total = total * tl.exp(highest - new) + tl.exp(x - new)
            highest = new
        whole = tl.sum(total, axis=0) + tl.exp(own - highest)
        for start in range(0, num, block):
            at = start + tl.arange(0, block)
            inside = (at < num) & (at != hit)
            x = tl.load(base + at, mask=inside, other=float("-inf")).to(tl.float32)
            x += tl.load(offsets + at, mask=at < num, other=0.0)
            tl.store(base + at, tl.exp(x - highest) / whole * scale, mask=at < num)
        tl.store(losses + row, tl.log(whole) + highest - own)
        tl.store(share + row, (tl.exp(own - highest) / whole - 1) * scale)
