"""`ProjectedLSTM` for inference only: no autograd, packed weights, gates in place, only rows that still have a token.

tanh is computed as `2 sigmoid(2x) - 1`, which is three times as fast in torch. Therefore cells are kept at twice their
value, and the factors of two are part of the weights. This does not change a single bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from elmokit.layers.packed.linear import for_rows
from elmokit.layers.stacked import StackedLayer, stacked_lstm

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from elmokit.layers.packed.linear import Kernel

ROWS_AT_ONCE = 128  # rows per input product: enough for a fast product, few enough to stay in the cache
ROWS_OF_GPU = 2048  # the same for a GPU: 270 MB of gates for `original`
GRAIN = 32_768  # the fewest numbers that torch gives to a thread (at::internal::GRAIN_SIZE)
LANES = 32  # the numbers that torch computes together: two SIMD vectors of AVX-512, or four of AVX2


@dataclass(frozen=True)
class PackedState:
    """State of a layer: `double_cell` (B,H), twice the cell, and `output` (B,D) before the skip connection."""

    double_cell: Float[Tensor, "B H"]
    output: Float[Tensor, "B D"]

    def rows(self, order: Int[Tensor, " B"]) -> PackedState:
        return PackedState(self.double_cell[order], self.output[order])


@dataclass(frozen=True, kw_only=True)
class PackedLSTMLayer:
    """One layer, with kernels for the weights of `ProjectedLSTMLayer`."""

    from_input: Kernel
    """Includes the bias with `FORGET_BIAS`. The rows of the candidate (the last quarter) are doubled."""
    from_output: Kernel
    """The rows of the candidate are doubled here as well."""
    project: Kernel | None
    """Has a doubled weight; None if the layer does not project."""
    projection_dim: int
    cell_clip: float | None
    projection_clip: float | None
    """Also None if the layer does not project."""

    def __call__(
        self,
        inputs: Float[Tensor, "U D"],
        which: Int[Tensor, " N"] | None,
        chunks: Sequence[_Chunk],
        state: PackedState,
    ) -> Float[Tensor, "N D"]:
        """Outputs of all steps, concatenated. The number of rows never grows from step to step.

        Row n reads `inputs[n]`, or `inputs[which[n]]` if inputs are given without repetition. The last state
        overwrites `state`.
        """
        output = state.output
        num_rows = chunks[0].rows_of_steps[0] if chunks else 0
        last, buffers = output[:num_rows], _Buffers(state.double_cell[:num_rows])
        outputs = output.new_empty(chunks[-1].end if chunks else 0, self.projection_dim)
        distinct = None if which is None else self.from_input(inputs)
        for start, end, rows_of_steps in chunks:
            if which is None or distinct is None:
                products = self.from_input(inputs[start:end])
            else:
                products = distinct.index_select(0, which[start:end])
            steps = zip(
                rows_of_steps,
                products.split_with_sizes(rows_of_steps),
                outputs[start:end].split_with_sizes(rows_of_steps),
                strict=True,
            )
            for rows, run in groupby(steps, key=itemgetter(0)):
                if rows < num_rows:
                    output[rows:num_rows] = last[rows:]
                    last, buffers, num_rows = last[:rows], _Buffers(state.double_cell[:rows]), rows
                last = self._run(run, last, buffers)
        output[:num_rows] = last
        return outputs

    def _run(self, steps: Iterable[tuple[int, Tensor, Tensor]], last: Tensor, buffers: _Buffers) -> Tensor:
        """Write the outputs (B,D) of steps with the same number of rows, and return the last output.

        steps: the number of rows, the input's product, and the place for the output. `last` is the output before them.
        """
        from_output = for_rows(self.from_output, len(last))
        project = None if self.project is None else for_rows(self.project, len(last))
        apply_sigmoid = _sigmoid_for(buffers.gates, buffers.cell)
        for _, product, output in steps:
            apply_sigmoid(from_output(last, product), out=buffers.gates)
            buffers.cell.mul_(buffers.f).addcmul_(buffers.i, buffers.j.sub_(buffers.middle), value=4)
            if self.cell_clip is not None:
                buffers.cell.clamp_(-2 * self.cell_clip, 2 * self.cell_clip)
            half = apply_sigmoid(buffers.cell, out=buffers.half).sub_(buffers.middle).mul_(buffers.o)
            result = half.mul_(2) if project is None else project(half)
            if self.projection_clip is None:
                output.copy_(result)
            else:
                torch.clamp(result, -self.projection_clip, self.projection_clip, out=output)
            last = output
        return last


class _Buffers:
    """Buffers for steps with the same number of rows. `cell` belongs to the state; the steps overwrite the others.

    They are made once for each number of rows, because making views costs more than the arithmetic of a few rows.
    """

    def __init__(self, cell: Float[Tensor, "B H"]) -> None:
        self.cell = cell
        self.half = torch.empty_like(cell)
        self.gates = cell.new_empty(len(cell), 4 * cell.shape[1])
        self.i, self.f, self.o, self.j = self.gates.chunk(4, dim=1)
        self.middle = cell.new_full((), 0.5)  # of a sigmoid; torch would make a tensor of a plain number each time


@dataclass
class PackedLSTM:
    """A stack of layers in one direction; every layer except the first may add its input (skip connection)."""

    layers: Sequence[PackedLSTMLayer]
    use_skip_connections: bool

    def __call__(
        self,
        vectors: Float[Tensor, "U D"],
        which: Int[Tensor, " N"],
        batch_sizes: Sequence[int],
        state: Sequence[PackedState],
    ) -> list[Float[Tensor, "N D"]]:
        """Outputs of the first `len(state)` layers; row n reads `vectors[which[n]]`. `state` is overwritten."""
        outputs: list[Tensor] = []
        chunks = _chunks(batch_sizes)
        for layer, layer_state in zip(self.layers, state, strict=False):
            if not outputs:
                outputs.append(layer(vectors, which, chunks, layer_state))
            else:
                output = layer(outputs[-1], None, chunks, layer_state)
                outputs.append(output.add_(outputs[-1]) if self.use_skip_connections else output)
        return outputs


@dataclass(frozen=True)
class StackedLSTM:
    """W directions in each product, for a GPU. Does what `PackedLSTM` does, by training code (`layers/stacked.py`)."""

    layers: Sequence[StackedLayer]
    """Their weights, except the bias, have the type of the products."""
    use_skip_connections: bool

    def read(
        self,
        vectors: Float[Tensor, "U D"],
        which: Int[Tensor, "W N"],
        batch_sizes: Sequence[int],
        state: Sequence[Sequence[PackedState]],
    ) -> list[list[Float[Tensor, "N D"]]]:
        """For each direction, the outputs of as many layers as it has states. Overwrites the states."""
        by_layer = list(zip(*state, strict=True))
        running = [
            (torch.stack([one.double_cell for one in layer]) / 2, torch.stack([one.output for one in layer]))
            for layer in by_layer
        ]
        outputs = [vectors.new_empty(*which.shape, vectors.shape[1]) for _ in by_layer]
        start = 0
        for rows, num_steps in _even_chunks(batch_sizes):
            here = slice(start, start + rows * num_steps)
            shape = (len(which), num_steps, rows)
            found, last = stacked_lstm(
                self.layers,
                vectors.index_select(0, which[:, here].flatten()).view(*shape, -1),
                [(cell[:, :rows], output[:, :rows]) for cell, output in running],
                use_skip_connections=self.use_skip_connections,
                carry=vectors.new_ones(shape),
                product_dtype=self.layers[0].weights[0].dtype,
            )
            for whole, part in zip(outputs, found, strict=True):
                whole[:, here] = part.flatten(1, 2)
            for own, new in zip(chain(*running), chain(*last), strict=True):
                own[:, :rows] = new
            start = here.stop
        for layer, (cell, output) in zip(by_layer, running, strict=True):
            for number, one in enumerate(layer):
                torch.mul(cell[number], 2, out=one.double_cell)
                one.output.copy_(output[number])
        return [[layer[number] for layer in outputs] for number in range(len(which))]

    def direction(self, number: int) -> StackedLSTM:
        """The stack of one direction, in the same memory."""
        own = slice(number, number + 1)
        layers: list[StackedLayer] = []
        for layer in self.layers:
            *weights, projection = layer.weights
            weights = (*(weight[own] for weight in weights), None if projection is None else projection[own])
            layers.append(replace(layer, weights=weights))
        return replace(self, layers=layers)

    def __call__(
        self,
        vectors: Float[Tensor, "U D"],
        which: Int[Tensor, " N"],
        batch_sizes: Sequence[int],
        state: Sequence[PackedState],
    ) -> list[Float[Tensor, "N D"]]:
        """As `PackedLSTM`, for a stack of one direction."""
        return self.read(vectors, which[None], batch_sizes, [state])[0]


def _even_chunks(batch_sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Number of rows, and number of successive steps with that many: for a GPU, at most `ROWS_OF_GPU` together."""
    for rows, same in groupby(batch_sizes):
        num_steps, most = len(list(same)), max(1, ROWS_OF_GPU // rows)
        while num_steps > 0:
            yield rows, min(num_steps, most)
            num_steps -= most


class _Chunk(NamedTuple):
    """Consecutive steps of at most `ROWS_AT_ONCE` rows, or a single step."""

    start: int
    end: int
    """The row after the last."""
    rows_of_steps: list[int]


def _chunks(batch_sizes: Sequence[int]) -> list[_Chunk]:
    """All steps, with these numbers of rows, in chunks."""
    chunks: list[_Chunk] = []
    start = end = 0
    steps: list[int] = []
    for rows in batch_sizes:
        if steps and end - start + rows > ROWS_AT_ONCE:
            chunks.append(_Chunk(start, end, steps))
            start, steps = end, []
        end += rows
        steps.append(rows)
    return [*chunks, _Chunk(start, end, steps)] if steps else chunks


def sigmoid(values: Float[Tensor, "N K"], *, out: Float[Tensor, "N K"]) -> Float[Tensor, "N K"]:
    """Write the sigmoid of contiguous values to `out`, which is contiguous and may be the same tensor.

    The result of a row depends only on that row, bit for bit, if K is a multiple of `LANES`. Torch cuts its input into
    equal chunks, one per thread. Other code, which rounds differently, computes the rest of a chunk after its last
    whole SIMD vector. So here the chunks end where vectors end.
    """
    size = values.numel()
    if _sigmoid_for(values) is not sigmoid:
        return torch.sigmoid(values, out=out)
    even = _evenly_cut(size, num_threads=torch.get_num_threads())
    given, result = values.view(-1), out.view(-1)
    torch.sigmoid(given[:even], out=result[:even])
    torch.sigmoid(given[even:], out=result[even:])  # too little for a second thread
    return out


def _sigmoid_for(*values: Tensor) -> Callable[..., Tensor]:
    """`torch.sigmoid` if it does the same as `sigmoid` for tensors of these sizes, else `sigmoid`."""
    num_threads = torch.get_num_threads()
    is_even = [not v.is_cpu or _evenly_cut(v.numel(), num_threads=num_threads) == v.numel() for v in values]
    return torch.sigmoid if all(is_even) else sigmoid


@cache
def _evenly_cut(size: int, *, num_threads: int) -> int:
    """The largest part of `size` numbers that torch cuts into chunks of whole `LANES`."""
    while rest := size % (LANES * max(1, min(num_threads, -(-size // GRAIN)))):
        size -= rest  # which may now be too little for the last thread
    return size
