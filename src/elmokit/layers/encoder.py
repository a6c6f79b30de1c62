"""Recurrent encoders of the task models: bidirectional LSTM and GRU, and the highway LSTM of He et al. (2017).

Batch first. Outputs are zero behind a sentence's end, and what the padding holds changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmokit.layers.dropout import VariationalDropout
from elmokit.layers.masks import sentence_lengths

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


class BiLSTM(nn.Module):
    """One layer that reads both ways, (B,T,D) -> (B,T,2H), the forward half first. The output of one feeds the next."""

    def __init__(self, *, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As AllenNLP's ESIM, but each gate's recurrent block is orthogonal by itself, as Lee et al. (2017) have it."""
        for name, parameter in self.lstm.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(parameter)
            elif name.startswith("weight_hh"):
                _orthogonal_blocks(parameter, number=4)
            else:
                nn.init.zeros_(parameter)
            if name.startswith("bias_hh"):
                nn.init.ones_(parameter.detach().chunk(4)[1])  # the forget gate (Jozefowicz et al., 2015)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T 2H"]:
        return _read_both_ways(self.lstm, inputs, mask)


class BiGRU(nn.Module):
    """As `BiLSTM`, with GRU cells, whose reset gate acts after the recurrent product (as in cuDNN)."""

    def __init__(self, *, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gru = nn.GRU(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As Clark and Gardner's code: all weights from a normal distribution cut at two deviations, biases zero."""
        for name, parameter in self.gru.named_parameters():
            if name.startswith("weight"):
                nn.init.trunc_normal_(parameter, std=0.05, a=-0.1, b=0.1)
            else:
                nn.init.zeros_(parameter)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T 2H"]:
        return _read_both_ways(self.gru, inputs, mask)


class AlternatingHighwayLSTM(nn.Module):
    """Highway LSTM layers that read forward and backward in turn, (B,T,D) -> (B,T,H).

    Each layer reads the output of the one below and nothing else (He et al., 2017, after Zhou and Xu, 2015).
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, num_layers: int, recurrent_dropout_rate: float) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.layers = nn.ModuleList(
            HighwayLSTMLayer(
                input_dim=hidden_dim if index else input_dim,
                hidden_dim=hidden_dim,
                reads_backward=index % 2 == 1,
                recurrent_dropout_rate=recurrent_dropout_rate,
            )
            for index in range(num_layers)
        )

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        sentence_lengths(mask, of=inputs)
        if not mask.any():
            return inputs.new_zeros(*mask.shape, self.hidden_dim)
        hidden = inputs.transpose(0, 1)
        alive = mask.t()[..., None].to(inputs.dtype)
        for layer in self.layers:
            hidden = layer(hidden, alive)
        return hidden.transpose(0, 1)


class HighwayLSTMLayer(nn.Module):
    """One direction, time first: `h = r * o * tanh(c) + (1 - r) * k` with `k` linear in the input (Zhang et al., 2016).

    Row blocks of the weights are input gate, forget gate, output gate, highway gate r, candidate, and (of the input's
    alone) k, H rows each. One dropout mask a sentence is applied to every h, on its way up as well as to the next step
    (He et al.'s code, there without the scale).
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, reads_backward: bool, recurrent_dropout_rate: float) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.reads_backward = reads_backward
        self.dropout = VariationalDropout(rate=recurrent_dropout_rate)
        self.input_weight = nn.Parameter(torch.empty(6 * hidden_dim, input_dim))
        self.recurrent_weight = nn.Parameter(torch.empty(5 * hidden_dim, hidden_dim))
        self.bias = nn.Parameter(torch.empty(6 * hidden_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As He et al.'s code: every block orthonormal, biases zero but for the forget gate's 1."""
        _orthogonal_blocks(self.input_weight, number=6)
        _orthogonal_blocks(self.recurrent_weight, number=5)
        nn.init.zeros_(self.bias)
        nn.init.ones_(self.bias.detach().chunk(6)[1])

    def forward(self, inputs: Float[Tensor, "T B D"], alive: Float[Tensor, "T B 1"]) -> Float[Tensor, "T B H"]:
        """`alive` is 1 on tokens and 0 on padding, where the state is kept at zero: a backward reader starts there."""
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


def _read_both_ways(
    rnn: nn.LSTM | nn.GRU, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T 2H"]:
    lengths = sentence_lengths(mask, of=inputs)
    if not mask.any():
        return inputs.new_zeros(*mask.shape, 2 * rnn.hidden_size)
    at_least_one = lengths.clamp(min=1).cpu()  # torch packs no empty sequence; the mask takes the made-up token away
    packed = pack_padded_sequence(inputs, at_least_one, batch_first=True, enforce_sorted=False)
    outputs, _ = pad_packed_sequence(rnn(packed)[0], batch_first=True, total_length=mask.shape[1])
    return outputs * mask[..., None]


@torch.no_grad()
def _orthogonal_blocks(weight: Tensor, *, number: int) -> None:
    for block in weight.chunk(number):
        nn.init.orthogonal_(block)
