"""The biLM's LSTM: clipped cells, a clipped projection, skip connections (Sak et al., 2014; Peters et al., 2018).

One direction, time first. `torch.nn.LSTM(proj_size=...)` cannot clip, so the recurrence and its gradient through time
are written here. The input products of all steps are one matrix product, and so is the gradient of each weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from elmokit.layers.devices import use_one_thread_in_forks, without_autocast

if TYPE_CHECKING:
    from jaxtyping import Float, Int

# from a function's result, these compute the gradient of its input into `grad_input`; torch has no public versions
_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input
_clamp_backward = torch.ops.aten.hardtanh_backward.grad_input
FORGET_BIAS = 1.0  # TensorFlow adds this at run time; the published weights do not contain it


@dataclass(frozen=True)
class LSTMState:
    """State of one layer between steps: `cell` (B,H), and `output` (B,D) before the skip connection."""

    cell: Float[Tensor, "B H"]
    output: Float[Tensor, "B D"]

    def map(self, change: Callable[[Tensor], Tensor]) -> LSTMState:
        return LSTMState(change(self.cell), change(self.output))


class ProjectedLSTM(nn.Module):
    """A stack of projected LSTM layers in one direction; every layer except the first may add its input."""

    def __init__(
        self,
        *,
        num_layers: int,
        projection_dim: int,
        lstm_dim: int,
        cell_clip: float | None,
        projection_clip: float | None,
        use_skip_connections: bool,
    ) -> None:
        super().__init__()
        use_one_thread_in_forks()
        self.use_skip_connections = use_skip_connections
        self.layers: nn.ModuleList = nn.ModuleList(
            ProjectedLSTMLayer(
                projection_dim=projection_dim, lstm_dim=lstm_dim, cell_clip=cell_clip, projection_clip=projection_clip
            )
            for _ in range(num_layers)
        )

    def forward(
        self,
        inputs: Float[Tensor, "T B D"] | Float[Tensor, "N D"],
        state: Sequence[LSTMState] | None = None,
        *,
        index: Int[Tensor, "T B"] | None = None,
        batch_sizes: Sequence[int] | None = None,
        carry_mask: Float[Tensor, "T B 1"] | None = None,
        input_masks: Sequence[Float[Tensor, "T B D"]] | None = None,
    ) -> tuple[list[Float[Tensor, "T B D"]], list[LSTMState]]:
        """Outputs (T,B,D) and last state of every layer.

        Under `torch.autocast`, matrix products have its type; cells, gates and sums keep the type of the inputs.

        index: the row of `inputs` (then (N,D)) that each position reads. The first layer multiplies every row once,
            however often it is read.
        batch_sizes: number of leading rows that still have a token at each step; it never grows, as in torch's
            `PackedSequence`. The other rows keep their state and output zeros.
        carry_mask: 0 where a row forgets its state before the step, else 1.
        input_masks: a dropout mask for the input of each layer, already scaled. The skip connection adds the masked
            input, as in bilm-tf.
        """
        outputs: list[Tensor] = []
        last: list[LSTMState] = []
        for number, layer in enumerate(self.layers):
            if input_masks is not None:
                inputs = inputs * input_masks[number]
            initial = None if state is None else state[number]
            output, final = layer(
                inputs,
                initial,
                index=index if number == 0 else None,
                batch_sizes=batch_sizes,
                carry_mask=carry_mask,
            )
            inputs = output + inputs if self.use_skip_connections and number > 0 else output
            outputs.append(inputs)
            last.append(final)
        return outputs, last


class ProjectedLSTMLayer(nn.Module):
    """One layer. The row blocks of the weights, H rows each, are input gate, forget gate, output gate, candidate."""

    def __init__(
        self, *, projection_dim: int, lstm_dim: int, cell_clip: float | None, projection_clip: float | None
    ) -> None:
        super().__init__()
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.input_weight: nn.Parameter = nn.Parameter(torch.empty(4 * lstm_dim, projection_dim))
        self.recurrent_weight: nn.Parameter = nn.Parameter(torch.empty(4 * lstm_dim, projection_dim))
        self.bias: nn.Parameter = nn.Parameter(torch.zeros(4 * lstm_dim))
        self.projection_weight: nn.Parameter | None = None
        if lstm_dim != projection_dim:
            self.projection_weight = nn.Parameter(torch.empty(projection_dim, lstm_dim))
        # as TensorFlow does: Glorot-uniform, with input and recurrent weight counted as one matrix
        limit = (6.0 / (2 * projection_dim + 4 * lstm_dim)) ** 0.5
        nn.init.uniform_(self.input_weight, -limit, limit)
        nn.init.uniform_(self.recurrent_weight, -limit, limit)
        if self.projection_weight is not None:
            nn.init.xavier_uniform_(self.projection_weight)

    def forward(
        self,
        inputs: Float[Tensor, "T B D"] | Float[Tensor, "N D"],
        state: LSTMState | None = None,
        *,
        index: Int[Tensor, "T B"] | None = None,
        batch_sizes: Sequence[int] | None = None,
        carry_mask: Float[Tensor, "T B 1"] | None = None,
    ) -> tuple[Float[Tensor, "T B D"], LSTMState]:
        """Outputs (T,B,D), zero after the end of a row, and the state after the last step of each row."""
        num_steps, batch_size = inputs.shape[:2] if index is None else index.shape
        if state is None:
            state = LSTMState(
                cell=inputs.new_zeros(batch_size, len(self.bias) // 4),
                output=inputs.new_zeros(batch_size, inputs.shape[-1]),
            )
        rows = [batch_size] * num_steps if batch_sizes is None else list(batch_sizes)
        if len(rows) != num_steps or any(later > earlier for earlier, later in zip(rows, rows[1:], strict=False)):
            raise ValueError(f"batch_sizes are {rows}; expected {num_steps} numbers that never grow")
        settings = _Settings(
            batch_sizes=rows,
            cell_clip=self.cell_clip,
            projection_clip=self.projection_clip if self.projection_weight is not None else None,
            product_dtype=autocast_dtype(inputs) or inputs.dtype,
            save_for_backward=torch.is_grad_enabled(),
        )
        weights = (self.input_weight, self.recurrent_weight, self.bias, self.projection_weight)
        apply = cast("Callable[..., tuple[Tensor, Tensor, Tensor]]", _Recurrence.apply)
        with without_autocast(inputs.device):  # its products would have other types than the tensors they go into
            outputs, cell, output = apply(settings, inputs, index, state.cell, state.output, *weights, carry_mask)
        return outputs, LSTMState(cell, output)


@dataclass(frozen=True)
class _Settings:
    batch_sizes: list[int]
    cell_clip: float | None
    projection_clip: float | None
    product_dtype: torch.dtype
    save_for_backward: bool


class _Recurrence(torch.autograd.Function):
    """All steps of one layer, and their gradient by backpropagation through time.

    With W, R, P the input, recurrent and projection weights, and b with `FORGET_BIAS` added, a step from c, h is

        i, f, o = sigmoid(W x + R h + b), j = tanh(W x + R h + b)
        c' = clip(f c + i j),  m = o tanh(c'),  h' = clip(P m)

    and backwards, where da is the gradient of the loss with respect to a, and zero where a was clipped:

        dm = P^T dh',  do = dm tanh(c'),  dc' += dm o (1 - tanh(c')^2)
        di = dc' j,  df = dc' c,  dj = dc' i,  dc = dc' f
        dz = (di, df, do) s (1 - s) for the gates s, dj (1 - j^2) for the candidate,  dh = R^T dz

    Products are in `product_dtype` (names that begin with `low`), everything else in the type of the inputs. Only the
    first `batch_sizes[step]` rows take part in a step; before it, c and h are multiplied by the carry mask.
    """

    @staticmethod
    def forward(
        ctx: Any,
        settings: _Settings,
        inputs: Tensor,
        index: Tensor | None,
        cell: Tensor,
        output: Tensor,
        input_weight: Tensor,
        recurrent_weight: Tensor,
        bias: Tensor,
        projection_weight: Tensor | None,
        carry_mask: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        dtype = settings.product_dtype
        cell_clip, projection_clip = settings.cell_clip, settings.projection_clip
        num_steps, (batch_size, dim) = len(settings.batch_sizes), output.shape
        lstm_dim = cell.shape[1]
        low_inputs = inputs.to(dtype).reshape(-1, dim)
        running_bias = bias.clone()
        running_bias[lstm_dim : 2 * lstm_dim] += FORGET_BIAS
        from_inputs = functional.linear(low_inputs, input_weight.to(dtype), running_bias.to(dtype))
        if index is not None:
            from_inputs = functional.embedding(index, from_inputs)
        from_inputs = from_inputs.view(num_steps, batch_size, 4 * lstm_dim)
        recurrent = recurrent_weight.to(dtype).t()
        projection = None if projection_weight is None else projection_weight.to(dtype).t()

        saving = settings.save_for_backward and any(ctx.needs_input_grad)
        num_saved = num_steps if saving else 1  # without gradients every step overwrites the last
        is_mixed = dtype != inputs.dtype
        gates = inputs.new_empty(num_saved, batch_size, 4 * lstm_dim) if is_mixed else from_inputs
        cells, squashed = (inputs.new_empty(num_saved, batch_size, lstm_dim) for _ in range(2))
        hidden = low_inputs.new_zeros(num_saved, batch_size, lstm_dim)  # rows that no step writes stay zero
        previous = low_inputs.new_zeros(num_saved, batch_size, dim)
        outputs = inputs.new_zeros(num_steps, batch_size, dim)
        running_cell, running_output = cell.clone(), output.clone()

        for step, rows in enumerate(settings.batch_sizes):
            at = step if num_saved > 1 else 0
            c, h = running_cell[:rows], running_output[:rows]
            if carry_mask is not None:
                c.mul_(carry_mask[step, :rows])
                h.mul_(carry_mask[step, :rows])
            low_h, low_gate, m = previous[at, :rows], from_inputs[step, :rows], hidden[at, :rows]
            low_h.copy_(h)
            low_gate.addmm_(low_h, recurrent)
            gate = gates[at, :rows].copy_(low_gate) if is_mixed else low_gate
            gate[:, : 3 * lstm_dim].sigmoid_()
            _tanh_(gate[:, 3 * lstm_dim :])
            i, f, o, j = gate.chunk(4, dim=1)
            c.mul_(f).addcmul_(i, j)
            if cell_clip is not None:
                c.clamp_(-cell_clip, cell_clip)
            cells[at, :rows] = c
            tanh_c = _tanh_(squashed[at, :rows].copy_(c))
            torch.mul(tanh_c, o, out=m)
            h.copy_(m if projection is None else m @ projection)
            if projection_clip is not None:
                h.clamp_(-projection_clip, projection_clip)
            outputs[step, :rows] = h
        if saving:
            ctx.settings = settings
            ctx.save_for_backward(
                *(index, input_weight, recurrent_weight, projection_weight, carry_mask, cell),
                *(low_inputs, gates, cells, squashed, hidden, previous, outputs),
            )
        return outputs, running_cell, running_output

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - torch's stubs give the decorator other names
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor | None, ...]:
        grad_outputs, grad_cell, grad_output = gradients
        settings: _Settings = ctx.settings
        saved = ctx.saved_tensors  # once, because checkpoints unpack them at each access
        index, input_weight, recurrent_weight, projection_weight, carry_mask, first_cell = saved[:6]
        low_inputs, gates, cells, squashed, hidden, previous, outputs = saved[6:]
        dtype = settings.product_dtype
        cell_clip, projection_clip = settings.cell_clip, settings.projection_clip
        num_steps, batch_size, dim = outputs.shape
        lstm_dim = cells.shape[2]
        recurrent = recurrent_weight.to(dtype)
        projection = None if projection_weight is None else projection_weight.to(dtype)
        low_gates = low_inputs.new_zeros(num_steps, batch_size, 4 * lstm_dim)
        low_projected = low_inputs.new_zeros(num_steps, batch_size, dim)
        to_cell, to_output = grad_cell.clone(), grad_output.clone()
        to_gates = None if dtype == gates.dtype else gates.new_empty(batch_size, 4 * lstm_dim)
        low_output = low_inputs.new_empty(batch_size, dim)

        for step in reversed(range(num_steps)):
            rows = settings.batch_sizes[step]
            gate, tanh_c, low_dz = gates[step, :rows], squashed[step, :rows], low_gates[step, :rows]
            dz = low_dz if to_gates is None else to_gates[:rows]
            _, f, o, _ = gate.chunk(4, dim=1)
            c_before = cells[step - 1, :rows] if step > 0 else first_cell[:rows]
            if carry_mask is not None:
                c_before = c_before * carry_mask[step, :rows]
            dc, dh = to_cell[:rows], to_output[:rows]
            dh.add_(grad_outputs[step, :rows])
            if projection_clip is not None:
                _clamp_backward(dh, outputs[step, :rows], -projection_clip, projection_clip, grad_input=dh)
            low_dh = low_projected[step, :rows]
            low_dh.copy_(dh)
            dm = (low_dh if projection is None else low_dh @ projection).to(dc.dtype)
            torch.mul(dm, tanh_c, out=dz.chunk(4, dim=1)[2])
            through_tanh = torch.mul(dm, o)
            dc.add_(_tanh_backward(through_tanh, tanh_c, grad_input=through_tanh))
            if cell_clip is not None:
                _clamp_backward(dc, cells[step, :rows], -cell_clip, cell_clip, grad_input=dc)
            _into_gates(dz, gate, dc, c_before)
            dc.mul_(f)
            if to_gates is not None:
                low_dz.copy_(dz)
            dh.copy_(torch.mm(low_dz, recurrent, out=low_output[:rows]))
            if carry_mask is not None:
                dc.mul_(carry_mask[step, :rows])
                dh.mul_(carry_mask[step, :rows])

        flat = low_gates.view(-1, 4 * lstm_dim)
        flat_previous = previous.view(-1, dim)
        if index is None:
            by_input, shape = flat, (num_steps, batch_size, dim)
            to_both = torch.cat([low_inputs, flat_previous], dim=1).t() @ flat
            to_weights = (to_both[:dim], to_both[dim:])
        else:
            by_input, shape = flat.new_zeros(len(low_inputs), 4 * lstm_dim), low_inputs.shape
            by_input.index_add_(0, index.flatten(), flat)
            to_weights = (low_inputs.t() @ by_input, flat_previous.t() @ flat)
        to_bias = flat.new_ones(1, len(flat)) @ flat  # as a product, because sum() is slow in bfloat16
        to_projection = None
        if projection is not None:
            to_projection = (low_projected.view(-1, dim).t() @ hidden.view(-1, lstm_dim)).to(input_weight.dtype)
        return (
            None,
            (by_input @ input_weight.to(dtype)).to(outputs.dtype).view(shape),
            None,
            to_cell,
            to_output,
            # fused optimisers read the memory in order and ignore the strides
            *(transposed.t().contiguous().to(input_weight.dtype) for transposed in to_weights),
            to_bias.squeeze(0).to(input_weight.dtype),
            to_projection,
            None,
        )


def autocast_dtype(inputs: Tensor) -> torch.dtype | None:
    """The type that `torch.autocast` gives to matrix products of the inputs; None if it leaves them as they are."""
    device = inputs.device.type
    changes = torch.is_autocast_enabled(device) and inputs.dtype != torch.float64
    return torch.get_autocast_dtype(device) if changes else None


def _tanh_(values: Tensor) -> Tensor:
    """Hyperbolic tangent in place, as `2 sigmoid(2x) - 1`: three times as fast in torch."""
    return values.mul_(2).sigmoid_().mul_(2).sub_(1)


def _into_gates(dz: Tensor, gate: Tensor, dc: Tensor, c_before: Tensor) -> None:
    """Fill `dz` (B,G), the gradient of the gates before sigmoid and tanh. Its third quarter already contains `do`."""
    i, _, _, j = gate.chunk(4, dim=1)
    di, df, _, dj = dz.chunk(4, dim=1)
    torch.mul(dc, j, out=di)
    torch.mul(dc, c_before, out=df)
    torch.mul(dc, i, out=dj)
    sigmoids = dz[:, : 3 * dc.shape[1]]
    _sigmoid_backward(sigmoids, gate[:, : 3 * dc.shape[1]], grad_input=sigmoids)
    _tanh_backward(dj, j, grad_input=dj)
