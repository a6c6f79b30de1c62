"""`CharEncoder` for inference only, without autograd. Its weights are packed for the kernels that multiply them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.layers.char_encoder import pool_by_length, windows
from elmokit.layers.packed.linear import Kernel, kernel_for
from elmokit.layers.packed.lstm import sigmoid

if TYPE_CHECKING:
    from jaxtyping import Float, Int

FEWEST_TOKENS = 16
"""Fewer tokens of a length are convolved with longer ones: a product of few rows takes as long as one of a few more."""


class PackedConvolution:
    """`nn.Conv1d` followed by the maximum over all positions, in float32 whatever the precision of the model.

    Its products have few columns, so they cost little time, and int8 would lose the most accuracy here.
    """

    def __init__(self, weight: Float[Tensor, "K D W"], bias: Float[Tensor, " K"]) -> None:
        self.num_filters: Final = weight.shape[0]
        self.width: Final = weight.shape[2]
        make_kernel = kernel_for("float32", weight)
        self.kernel: Final = make_kernel(weight.transpose(1, 2).reshape(self.num_filters, -1), None)
        self.bias = bias

    def __call__(self, embedded: Float[Tensor, "N C D"]) -> Float[Tensor, "N K"]:
        responses = self.kernel(windows(embedded, self.width)).view(len(embedded), -1, self.num_filters)
        return responses.amax(dim=1) + self.bias


@dataclass(frozen=True)
class PackedHighway:
    """`Highway` with a kernel for each of its two weights."""

    transform: Kernel
    gate: Kernel

    def __call__(self, inputs: Float[Tensor, "N K"]) -> Float[Tensor, "N K"]:
        gate = self.gate(inputs)
        return inputs + sigmoid(gate, out=gate) * (torch.relu(self.transform(inputs)) - inputs)


class PackedCharEncoder(nn.Module):
    """Character ids (N,C) -> token representations (N,D), with the packed weights of a `CharEncoder`.

    `padding_id` fills the row of a token after its last character. `projection` is None if the encoder does not
    project.
    """

    def __init__(
        self,
        *,
        embedding: Float[Tensor, "V D"],
        convolutions: Sequence[PackedConvolution],
        activation: Callable[[Tensor], Tensor],
        highways: Sequence[PackedHighway],
        projection: Kernel | None,
        output_dim: int,
        padding_id: int,
    ) -> None:
        super().__init__()
        self.embedding: nn.Embedding = nn.Embedding.from_pretrained(embedding)
        self.convolutions = convolutions
        self.activation = activation
        self.highways = highways
        self.projection = projection
        self.output_dim = output_dim
        self.padding_id = padding_id

    def forward(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N D"]:
        if not len(character_ids):
            return self.embedding.weight.new_zeros(0, self.output_dim)
        widest = max(convolution.width for convolution in self.convolutions)
        pooled = pool_by_length(
            character_ids,
            self._convolve,
            device=self.embedding.weight.device,
            widest=widest,
            padding_id=self.padding_id,
            fewest=FEWEST_TOKENS,
        )
        hidden = self.activation(pooled)
        for highway in self.highways:
            hidden = highway(hidden)
        return hidden if self.projection is None else self.projection(hidden)

    def _convolve(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N K"]:
        embedded = functional.embedding(character_ids, self.embedding.weight)
        return torch.cat([convolution(embedded) for convolution in self.convolutions], dim=1)
