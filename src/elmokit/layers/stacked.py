"""Both directions of a biLM in each matrix product: their LSTMs, and their softmax loss with its gradients.

A product for only one direction and one step is too small to keep a GPU busy. All shapes are fixed and nothing waits
for a result, so that a CUDA graph can record a step. The computation is the same as in `projected_lstm.py` and
`sampled_softmax.py`. W is the number of directions: 2, or 1 in a forward model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from elmokit.layers.kernels import cell_backward, cell_forward, softmax_shares
from elmokit.layers.projected_lstm import FORGET_BIAS, ProjectedLSTM, ProjectedLSTMLayer
from elmokit.layers.sampled_softmax import Softmax, log_expected_count

if TYPE_CHECKING:
    from jaxtyping import Float, Int

StackedState = tuple[Tensor, Tensor]
"""Cell (W,B,H) and output (W,B,D) of a layer between steps, as in `LSTMState`."""

STACKED_ON = ("cuda",)
"""Device types on which models compute this way by default. A CPU is faster with one thread per direction."""
FAST_MULTIPLE = 64
"""Tensor cores want products with a multiple of this number of columns; others are several times as slow."""


@dataclass(frozen=True)
class StackedLayer:
    """A layer of W directions; `ProjectedLSTMLayer` describes its weights and limits."""

    weights: tuple[Float[Tensor, "W G D"], Float[Tensor, "W G D"], Float[Tensor, "W G"], Float[Tensor, "W D H"] | None]
    """Input weight, recurrent weight, bias and, if the layer projects, projection weight."""
    cell_clip: float | None
    projection_clip: float | None


def stacked_layers(lstms: Sequence[ProjectedLSTM]) -> list[StackedLayer]:
    """The layers of all directions. Gradients reach their weights."""
    stacked: list[StackedLayer] = []
    for layers in zip(*(cast("Iterable[ProjectedLSTMLayer]", lstm.layers) for lstm in lstms), strict=True):
        projections: list[Tensor] = [layer.projection_weight for layer in layers if layer.projection_weight is not None]
        weights = (
            torch.stack([layer.input_weight for layer in layers]),
            torch.stack([layer.recurrent_weight for layer in layers]),
            torch.stack([layer.bias for layer in layers]),
            torch.stack(projections) if projections else None,
        )
        stacked.append(StackedLayer(weights, layers[0].cell_clip, layers[0].projection_clip))
    return stacked


def stacked_lstm(
    layers: Sequence[StackedLayer],
    inputs: Float[Tensor, "W T B D"],
    state: Sequence[StackedState],
    *,
    use_skip_connections: bool,
    carry: Float[Tensor, "W T B"],
    input_masks: Float[Tensor, "W L T B D"] | None = None,
    product_dtype: torch.dtype,
) -> tuple[list[Float[Tensor, "W T B D"]], list[StackedState]]:
    """Outputs and last state of each layer that has a state.

    No gradient reaches the states. The other arguments are the same as for `ProjectedLSTM.forward`.
    """
    outputs: list[Tensor] = []
    last: list[StackedState] = []
    apply = cast("Callable[..., tuple[Tensor, Tensor, Tensor]]", _StackedRecurrence.apply)
    for number, (layer, initial) in enumerate(zip(layers, state, strict=False)):
        if input_masks is not None:
            inputs = inputs * input_masks[:, number]
        settings = _Settings(
            cell_clip=_limit(layer.cell_clip),
            projection_clip=_limit(None if layer.weights[3] is None else layer.projection_clip),
            dtype=product_dtype,
        )
        with torch.cuda.device_of(inputs):  # Triton launches on the current GPU
            output, *after = apply(settings, inputs, carry, *initial, *layer.weights)
        inputs = output + inputs if use_skip_connections and number > 0 else output
        outputs.append(inputs)
        last.append((after[0], after[1]))
    return outputs, last


@dataclass(frozen=True)
class _Settings:
    cell_clip: float
    projection_clip: float
    dtype: torch.dtype


class _StackedRecurrence(torch.autograd.Function):
    """All steps of one layer, and their gradient by backpropagation through time; `_Recurrence` has the formulas."""

    @staticmethod
    def forward(
        ctx: Any,
        settings: _Settings,
        inputs: Tensor,
        carry: Tensor,
        cell: Tensor,
        output: Tensor,
        input_weight: Tensor,
        recurrent_weight: Tensor,
        bias: Tensor,
        projection_weight: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        dtype, (directions, num_steps, batch_size, dim) = settings.dtype, inputs.shape
        lstm_dim = cell.shape[2]
        low_inputs = inputs.to(dtype).reshape(directions, -1, dim)
        running_bias = bias.clone()
        running_bias[:, lstm_dim : 2 * lstm_dim] += FORGET_BIAS
        from_inputs = torch.baddbmm(running_bias.to(dtype)[:, None], low_inputs, input_weight.to(dtype).mT)
        products = from_inputs.view(directions, num_steps, batch_size, -1)
        recurrent, projection = recurrent_weight.to(dtype), _to(dtype, projection_weight)

        gates = products if dtype == inputs.dtype else torch.empty_like(products, dtype=inputs.dtype)
        cells = inputs.new_empty(directions, num_steps, batch_size, lstm_dim)
        hidden = torch.empty_like(cells, dtype=dtype)
        outputs = torch.empty_like(inputs)
        previous = torch.empty_like(inputs, dtype=dtype)
        for step in range(num_steps):
            before, h = (cells[:, step - 1], outputs[:, step - 1]) if step > 0 else (cell, output)
            kept = carry[:, step]
            torch.mul(h, kept[..., None], out=previous[:, step])
            z, m = products[:, step].baddbmm_(previous[:, step], recurrent.mT), hidden[:, step]
            cell_forward(z, before, kept, gates[:, step], cells[:, step], m, clip=settings.cell_clip)
            product = m if projection is None else torch.bmm(m, projection.mT)
            outputs[:, step].copy_(product).clamp_(-settings.projection_clip, settings.projection_clip)
        ctx.settings = settings
        ctx.save_for_backward(
            *(input_weight, recurrent_weight, projection_weight, carry, cell),
            *(low_inputs, gates, cells, hidden, previous, outputs),
        )
        last_cell, last_output = cells[:, -1].clone(), outputs[:, -1].clone()
        ctx.mark_non_differentiable(last_cell, last_output)
        return outputs, last_cell, last_output

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - torch's stubs give the decorator other names
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor | None, ...]:
        settings: _Settings = ctx.settings
        dtype = settings.dtype
        input_weight, recurrent_weight, projection_weight, carry, cell = ctx.saved_tensors[:5]
        low_inputs, gates, cells, hidden, previous, outputs = ctx.saved_tensors[5:]
        directions, num_steps, _, dim = outputs.shape
        recurrent, projection = recurrent_weight.to(dtype), _to(dtype, projection_weight)
        flows = (outputs.abs() < settings.projection_clip).to(outputs.dtype)
        to_outputs = gradients[0] * flows
        low_to_outputs = to_outputs if dtype == outputs.dtype else torch.empty_like(previous)
        flows[:, :-1] *= carry[:, 1:, :, None]
        to_gates, to_cell = torch.empty_like(gates, dtype=dtype), torch.zeros_like(cell)
        for step in reversed(range(num_steps)):
            if step + 1 < num_steps:
                back = torch.bmm(to_gates[:, step + 1], recurrent).to(outputs.dtype)
                to_outputs[:, step].addcmul_(back, flows[:, step])
            low_to_outputs[:, step].copy_(to_outputs[:, step])
            to_output = low_to_outputs[:, step]
            to_hidden = to_output if projection is None else torch.bmm(to_output, projection)
            before = cells[:, step - 1] if step > 0 else cell
            current = gates[:, step], cells[:, step], before, carry[:, step]
            cell_backward(to_hidden, *current, to_cell, to_gates[:, step], clip=settings.cell_clip)

        flat = to_gates.view(directions, -1, to_gates.shape[3])
        to_inputs = torch.bmm(flat, input_weight.to(dtype)).view(outputs.shape)
        to_bias = flat.new_ones(directions, 1, flat.shape[1]) @ flat  # as a product: sum() is slow in bfloat16
        to_projection = None
        if projection is not None:
            projected = low_to_outputs.view(directions, -1, dim)
            to_projection = torch.bmm(projected.mT, hidden.view(directions, flat.shape[1], -1))
        to_weights = (
            torch.bmm(flat.mT, low_inputs),
            torch.bmm(flat.mT, previous.view(directions, -1, dim)),
            to_bias.squeeze(1),
            to_projection,
        )
        wide = (_to(outputs.dtype, gradient) for gradient in to_weights)
        return None, to_inputs.to(outputs.dtype), None, None, None, *wide


def _limit(clip: float | None) -> float:
    return math.inf if clip is None else clip


def _to(dtype: torch.dtype, tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.to(dtype)


@dataclass(frozen=True)
class SoftmaxGradients:
    """Mean loss (W,) of each direction in nats, and the gradients of their scaled sum."""

    losses: Float[Tensor, " W"]
    to_hidden: Float[Tensor, "W N D"]
    to_weight: Float[Tensor, "V D"]
    to_bias: Float[Tensor, " V"]


@torch.no_grad()
def stacked_softmax(
    hidden: Float[Tensor, "W N D"],
    softmax: Softmax,
    targets: Int[Tensor, "W N"],
    *,
    negatives: tuple[Int[Tensor, "W S"], Float[Tensor, " W"]] | None,
    scale: float,
    product_dtype: torch.dtype,
) -> SoftmaxGradients:
    """Loss of N positions per direction, and the gradients of `scale` times the sum of both directions' mean losses.

    negatives: ids and number of draws of each direction (`Negatives`); None for the softmax over all tokens. The target
        of a position is a class besides the negatives. Without negatives, it takes the place of its column.
    """
    weight, bias = softmax.weight, softmax.bias
    num_tokens, dim = weight.shape
    flat = targets.flatten()
    own = weight.index_select(0, flat).view(hidden.shape)
    true = (hidden * own).sum(dim=2) + bias.index_select(0, flat).view(targets.shape)
    rows = hidden.to(product_dtype)
    if negatives is None:
        rows, true, hits = rows.flatten(0, 1)[None], true.flatten()[None], flat[None]
        extra = -num_tokens % FAST_MULTIPLE
        others = functional.pad(weight.to(product_dtype), (0, 0, 0, extra))[None]
        offsets = functional.pad(bias, (0, extra), value=-math.inf)[None]
        ids = None
    else:
        drawn, num_draws = negatives
        ids = drawn.flatten()
        columns = torch.full((len(drawn), num_tokens), -1, dtype=torch.long, device=ids.device)
        columns.scatter_(1, drawn, torch.arange(drawn.shape[1], device=ids.device).expand_as(drawn))
        hits = columns.gather(1, targets)
        counts: dict[str, Any] = {"num_draws": num_draws[:, None], "num_tokens": num_tokens}
        true = true - log_expected_count(targets, **counts).to(true)
        others = weight.index_select(0, ids).to(product_dtype).view(*drawn.shape, dim)
        offsets = bias.index_select(0, ids).view(drawn.shape) - log_expected_count(drawn, **counts).to(bias)

    logits = torch.bmm(rows, others.mT)
    with torch.cuda.device_of(logits):  # Triton launches on the current GPU
        losses, share = softmax_shares(logits, offsets, true, hits, scale=scale / targets.shape[1])
    to_others = torch.bmm(logits.mT, rows).to(weight.dtype).flatten(0, 1)
    ones = logits.new_ones(len(logits), 1, logits.shape[1])
    to_offsets = (ones @ logits).to(bias.dtype).flatten()
    share = share.view(targets.shape)
    if ids is None:
        to_weight, to_bias = to_others[:num_tokens], to_offsets[:num_tokens]
    else:
        to_weight = torch.zeros_like(weight).index_add_(0, ids, to_others)
        to_bias = torch.zeros_like(bias).index_add_(0, ids, to_offsets)
    to_weight.index_add_(0, flat, (share[..., None] * hidden).flatten(0, 1))
    to_bias.index_add_(0, flat, share.flatten())
    to_hidden = torch.bmm(logits, others).to(hidden.dtype).view(hidden.shape) + share[..., None] * own
    return SoftmaxGradients(losses.view(targets.shape).mean(dim=1), to_hidden, to_weight, to_bias)
