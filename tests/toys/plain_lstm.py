"""bilm-tf's cell, one step after the other (docs/model.md, section 3)."""

import torch
from torch import Tensor

from elmokit.layers.projected_lstm import LSTMState, ProjectedLSTMLayer


def plain_layer(
    layer: ProjectedLSTMLayer, inputs: Tensor, state: LSTMState, sizes: list[int], carry_mask: Tensor
) -> tuple[Tensor, ...]:
    """Outputs, cell and last output of the first `sizes[t]` rows at each step `t`."""
    c, h = state.cell, state.output
    outputs: list[Tensor] = []
    for step, rows in enumerate(sizes):
        gates = inputs[step] @ layer.input_weight.T + (h * carry_mask[step]) @ layer.recurrent_weight.T + layer.bias
        i, f, o, j = gates.chunk(4, dim=1)
        cell = torch.sigmoid(f + 1.0) * (c * carry_mask[step]) + torch.sigmoid(i) * torch.tanh(j)
        if layer.cell_clip is not None:
            cell = cell.clamp(-layer.cell_clip, layer.cell_clip)
        output = torch.sigmoid(o) * torch.tanh(cell)
        if layer.projection_weight is not None:
            output = output @ layer.projection_weight.T
            if layer.projection_clip is not None:
                output = output.clamp(-layer.projection_clip, layer.projection_clip)
        alive = (torch.arange(len(c)) < rows)[:, None]
        c, h = torch.where(alive, cell, c), torch.where(alive, output, h)
        outputs.append(torch.where(alive, output, torch.zeros_like(output)))
    return torch.stack(outputs), c, h
