"""Recurrent encoders of the task models: bidirectional LSTM and GRU, and the LSTMs of He et al. and Lee et al. (2017).

The batch is the first dimension. Outputs are zero after the end of a sentence, whatever the padding contains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


class BiLSTM(nn.Module):
    """One bidirectional LSTM layer, (B,T,D) -> (B,T,2H), the forward half first."""

    def __init__(self, *, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forward_lstm: Final = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        self.backward_lstm: Final = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        # as AllenNLP's ESIM, but with a separate orthogonal matrix per gate, as Lee et al. (2017)
        for name, parameter in self.named_parameters():
            if "weight_ih" in name:
                nn.init.xavier_uniform_(parameter)
            elif "weight_hh" in name:
                _orthogonal_blocks(parameter, number=4)
            else:
                nn.init.zeros_(parameter)
            if "bias_hh" in name:
                nn.init.ones_(parameter.detach().chunk(4)[1])  # the forget gate (Jozefowicz et al., 2015)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        return _read_both_ways(self.forward_lstm, self.backward_lstm, inputs, mask)


class BiGRU(nn.Module):
    """One bidirectional GRU layer, (B,T,D) -> (B,T,2H); the reset gate acts after the recurrent product (cuDNN)."""

    def __init__(self, *, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.forward_gru: Final = nn.GRU(input_dim, hidden_dim, batch_first=True)
        self.backward_gru: Final = nn.GRU(input_dim, hidden_dim, batch_first=True)
        # as Clark and Gardner's code: weights normal, truncated at two standard deviations; biases zero
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.trunc_normal_(parameter, std=0.05, a=-0.1, b=0.1)
            else:
                nn.init.zeros_(parameter)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        return _read_both_ways(self.forward_gru, self.backward_gru, inputs, mask)


class AlternatingHighwayLSTM(nn.Module):
    """Highway LSTM layers with alternating directions, (B,T,D) -> (B,T,H), the first one forward.

    The input of each layer is the output of the layer below (He et al., 2017, after Zhou and Xu, 2015).
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, num_layers: int, recurrent_dropout_rate: float) -> None:
        super().__init__()
        self.layers: Final = nn.ModuleList(
            HighwayLSTMLayer(
                input_dim=hidden_dim if index else input_dim,
                hidden_dim=hidden_dim,
                reads_backward=index % 2 == 1,
                recurrent_dropout_rate=recurrent_dropout_rate,
            )
            for index in range(num_layers)
        )

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        hidden = inputs.transpose(0, 1)
        alive = mask.t()[..., None].to(inputs.dtype)
        for layer in self.layers:
            hidden = layer(hidden, alive)
        return hidden.transpose(0, 1)


class HighwayLSTMLayer(nn.Module):
    """One direction, time first: `h = r * o * tanh(c) + (1 - r) * k` with `k` linear in the input (Zhang et al., 2016).

    The row blocks of the weights, H rows each, are input gate, forget gate, output gate, highway gate r, candidate and
    (of the input weight only) k. One dropout mask per sentence is applied to every h, both as output and as input of
    the next step, as in He et al.'s code (which does not rescale).
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, reads_backward: bool, recurrent_dropout_rate: float) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.reads_backward = reads_backward
        self.dropout: Final = VariationalDropout(rate=recurrent_dropout_rate)
        self.input_weight: Final = nn.Parameter(torch.empty(6 * hidden_dim, input_dim))
        self.recurrent_weight: Final = nn.Parameter(torch.empty(5 * hidden_dim, hidden_dim))
        self.bias: Final = nn.Parameter(torch.zeros(6 * hidden_dim))
        # as He et al.'s code: every block orthonormal, biases zero except 1 for the forget gate
        _orthogonal_blocks(self.input_weight, number=6)
        _orthogonal_blocks(self.recurrent_weight, number=5)
        nn.init.ones_(self.bias.detach().chunk(6)[1])

    def forward(self, inputs: Float[Tensor, "T B D"], alive: Float[Tensor, "T B 1"]) -> Float[Tensor, "T B H"]:
        """Outputs of all steps. `alive` is 1 on tokens and 0 on padding.

        The state is zero on padding, so a backward layer starts each sentence from zero.
        """
        num_steps, batch_size, _ = inputs.shape
        width = self.hidden_dim
        products = functional.linear(inputs, self.input_weight, self.bias)
        to_gates, linear = (part.unbind() for part in torch.split(products, [5 * width, width], dim=2))
        keep = (alive * self.dropout(inputs.new_ones(batch_size, 1, width))[:, 0]).unbind()

        cell = hidden = inputs.new_zeros(batch_size, width)
        outputs = [hidden] * num_steps
        for step in reversed(range(num_steps)) if self.reads_backward else range(num_steps):
            sums = torch.addmm(to_gates[step], hidden, self.recurrent_weight.t())
            gates, candidate = torch.split(sums, [4 * width, width], dim=1)
            into, forget, out, highway = gates.sigmoid().chunk(4, dim=1)
            cell = (forget * cell + into * candidate.tanh()) * alive[step]
            hidden = (linear[step] + highway * (out * cell.tanh() - linear[step])) * keep[step]
            outputs[step] = hidden
        return torch.stack(outputs)


class CoupledBiLSTM(nn.Module):
    """One bidirectional layer of the cells of Lee et al. (2017), (B,T,D) -> (B,T,2H)."""

    def __init__(self, *, input_dim: int, hidden_dim: int, recurrent_dropout_rate: float) -> None:
        super().__init__()
        self.directions: Final = nn.ModuleList(
            CoupledLSTMLayer(
                input_dim=input_dim,
                hidden_dim=hidden_dim,
                reads_backward=reads_backward,
                recurrent_dropout_rate=recurrent_dropout_rate,
            )
            for reads_backward in (False, True)
        )

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        alive = mask.t()[..., None].to(inputs.dtype)
        outputs = [direction(inputs.transpose(0, 1), alive) for direction in self.directions]
        return torch.cat(outputs, dim=2).transpose(0, 1)


class CoupledLSTMLayer(nn.Module):
    """One direction, time first: `c = (1 - i) * c + i * tanh(j)`, `h = o * tanh(c)`; the forget gate is `1 - i`.

    The row blocks of the weights, H rows each, are input gate, candidate and output gate. The initial state is learned.
    One dropout mask per sentence is applied to h as input of the next step, but not as output.
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, reads_backward: bool, recurrent_dropout_rate: float) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.reads_backward = reads_backward
        self.dropout: Final = VariationalDropout(rate=recurrent_dropout_rate)
        self.input_weight: Final = nn.Parameter(torch.empty(3 * hidden_dim, input_dim))
        self.recurrent_weight: Final = nn.Parameter(torch.empty(3 * hidden_dim, hidden_dim))
        self.bias: Final = nn.Parameter(torch.zeros(3 * hidden_dim))
        self.first_cell: Final = nn.Parameter(torch.empty(1, hidden_dim))
        self.first_hidden: Final = nn.Parameter(torch.empty(1, hidden_dim))
        # as Lee et al.: each block of [x, h] orthonormal, biases zero, first state Glorot-uniform
        both = torch.empty(3 * hidden_dim, input_dim + hidden_dim)
        _orthogonal_blocks(both, number=3)
        with torch.no_grad():
            self.input_weight.copy_(both[:, :input_dim])
            self.recurrent_weight.copy_(both[:, input_dim:])
        nn.init.xavier_uniform_(self.first_cell)
        nn.init.xavier_uniform_(self.first_hidden)

    def forward(self, inputs: Float[Tensor, "T B D"], alive: Float[Tensor, "T B 1"]) -> Float[Tensor, "T B H"]:
        """Outputs of all steps. `alive` is 1 on tokens and 0 on padding.

        The state on padding is the initial one, so a backward layer starts each sentence from it.
        """
        num_steps, batch_size, _ = inputs.shape
        to_gates = functional.linear(inputs, self.input_weight, self.bias).unbind()
        keep = self.dropout(inputs.new_ones(batch_size, 1, self.hidden_dim))[:, 0]
        is_token = alive.bool().unbind()

        first_cell = cell = self.first_cell.expand(batch_size, -1)
        first_hidden = hidden = self.first_hidden.expand(batch_size, -1)
        outputs = [hidden] * num_steps
        for step in reversed(range(num_steps)) if self.reads_backward else range(num_steps):
            sums = torch.addmm(to_gates[step], hidden * keep, self.recurrent_weight.t())
            into, candidate, out = sums.chunk(3, dim=1)
            cell = torch.where(is_token[step], torch.lerp(cell, candidate.tanh(), into.sigmoid()), first_cell)
            hidden = torch.where(is_token[step], out.sigmoid() * cell.tanh(), first_hidden)
            outputs[step] = hidden
        return torch.stack(outputs) * alive


class VariationalDropout(nn.Module):
    """Drops the same features at all tokens of a sentence, in training mode (Gal and Ghahramani, 2016)."""

    def __init__(self, *, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, inputs: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        if not self.training or self.rate == 0.0:
            return inputs
        batch_size, _, dim = inputs.shape
        return inputs * functional.dropout(inputs.new_ones(batch_size, 1, dim), self.rate)


def _read_both_ways(
    forward: nn.LSTM | nn.GRU, backward: nn.LSTM | nn.GRU, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T E"]:
    """Run both directions over a padded batch. In both, the padding is at the end, where it changes nothing.

    Torch's packed sequences would skip the padding, but take up to three times as long to train on a CPU: the gradient
    of every step fills a tensor of all steps with zeros.
    """
    steps = torch.arange(mask.shape[1], device=mask.device)
    turned = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - steps, steps)  # this is its own inverse
    from_left = forward(inputs)[0]
    from_right = backward(_reordered(inputs, turned))[0]
    return torch.cat([from_left, _reordered(from_right, turned)], dim=2) * mask[..., None]


def _reordered(values: Float[Tensor, "B T D"], order: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
    """Each sentence's rows in its order. Copies whole rows: `gather`, number by number, takes four times as long."""
    batch_size, num_steps = order.shape
    rows = order + num_steps * torch.arange(batch_size, device=order.device)[:, None]
    return values.flatten(0, 1).index_select(0, rows.flatten()).view_as(values)


@torch.no_grad()
def _orthogonal_blocks(weight: Tensor, *, number: int) -> None:
    for block in weight.chunk(number):
        nn.init.orthogonal_(block)
