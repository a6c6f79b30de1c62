"""Highway layer (Srivastava et al., 2015), with the transform gate that bilm-tf calls "carry"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float


class Highway(nn.Module):
    """`g * relu(transform(x)) + (1 - g) * x` with `g = sigmoid(gate(x))`, on (N,K) -> (N,K)."""

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for linear, bias in ((self.transform, 0.0), (self.gate, -2.0)):  # -2: mostly carries x at first (bilm-tf)
            nn.init.normal_(linear.weight, std=linear.in_features**-0.5)
            nn.init.constant_(linear.bias, bias)

    def forward(self, inputs: Float[Tensor, "N K"]) -> Float[Tensor, "N K"]:
        gate, transformed = torch.sigmoid(self.gate(inputs)), torch.relu(self.transform(inputs))
        return inputs + gate * (transformed - inputs)
