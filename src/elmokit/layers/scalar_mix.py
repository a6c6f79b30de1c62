"""Scalar mix: one vector per token out of the biLM's layers (Peters et al., 2018, equation 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


class ScalarMix(nn.Module):
    """Learned weighted sum of layer activations, `gamma * sum_j softmax(weights)_j * layers[j]`, in their dtype."""

    def __init__(self, *, num_layers: int) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"a scalar mix over {num_layers} layers; expected at least one layer")
        self.weights: nn.Parameter = nn.Parameter(torch.zeros(num_layers))  # softmax(0) starts as the plain average
        self.gamma: nn.Parameter = nn.Parameter(torch.ones(()))

    def forward(self, layers: Float[Tensor, "L B T D"]) -> Float[Tensor, "B T D"]:
        if len(layers) != len(self.weights):
            raise ValueError(f"scalar mix over {len(self.weights)} layers was given {len(layers)}")
        return self.gamma * torch.einsum("l,lbtd->btd", self.shares.to(layers.dtype), layers)

    @property
    def shares(self) -> Float[Tensor, " L"]:
        """The share of each layer in the sum; they add up to 1. `weights` are their logarithms, up to a constant."""
        return self.weights.softmax(dim=0)

    def penalty(self) -> Float[Tensor, ""]:
        """`||weights||^2`, to be multiplied by the lambda of the paper; gamma is not penalised."""
        return self.weights.square().sum()


class SingleLayer(nn.Module):
    """The last of the given layers, scaled: `gamma * layers[-1]`. The top layer of the paper's ablations and TagLM."""

    def __init__(self) -> None:
        super().__init__()
        self.gamma: nn.Parameter = nn.Parameter(torch.ones(()))

    def forward(self, layers: Float[Tensor, "L B T D"]) -> Float[Tensor, "B T D"]:
        return self.gamma * layers[-1]

    def penalty(self) -> Float[Tensor, ""]:
        """Zero: this mix has no weights to penalise."""
        return torch.zeros_like(self.gamma)


def normalise_layers(layers: Float[Tensor, "L B T D"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "L B T D"]:
    """Layers scaled to mean 0 and variance 1, with zeros at padding: the layer norm of bilm-tf, applied before a mix.

    There is one mean and one variance per layer, over all real tokens and all features of the batch. Nothing is
    learned. This is not the usual layer norm of each token: a sentence's vectors depend on its batch. The mask
    should leave out the sentence boundaries, as bilm-tf does (AllenNLP includes them).
    """
    wide = layers.to(torch.promote_types(layers.dtype, torch.float32))  # float16 counts no further than 65,504
    real = mask[..., None].to(wide.dtype)
    count = (real.sum() * wide.shape[-1]).clamp(min=1)
    mean = (wide * real).sum(dim=(1, 2, 3), keepdim=True) / count
    centred = (wide - mean) * real
    variance = centred.square().sum(dim=(1, 2, 3), keepdim=True) / count
    return (centred * torch.rsqrt(variance + 1e-12)).to(layers.dtype)
