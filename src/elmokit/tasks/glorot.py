"""Glorot-uniform weights (Glorot and Bengio, 2010), with which the dense layers of several tasks start."""

from __future__ import annotations

from torch import nn


def glorot(layer: nn.Linear) -> nn.Linear:
    """Give a layer Glorot-uniform weights and, if it has biases, biases of zero; returns the layer."""
    for name, parameter in layer.named_parameters():
        if name == "weight":
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
    return layer
