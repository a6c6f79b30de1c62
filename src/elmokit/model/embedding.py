"""ElmoEmbedding: the module that a task model holds; a biLM, frozen by default, and scalar mixes of its layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.layers.scalar_mix import ScalarMix, TopLayer, normalise_layers
from elmokit.model.bundled import DEFAULT_MODEL
from elmokit.model.elmo import load_bilm
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, batch_character_ids, character_ids

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jaxtyping import Bool, Float, Int

    from elmokit.model.bilm import BiLM


@dataclass(frozen=True)
class ElmoVectors:
    """Each mix's vectors (B,T,2D), after dropout and zero at padding, and the mask (B,T); without boundaries."""

    mixes: list[Float[Tensor, "B T E"]]
    mask: Bool[Tensor, "B T"]


class ElmoEmbedding(nn.Module):
    """Sentences -> `num_mixes` learned mixes of the biLM's layers (Peters et al., 2018, section 3.2 and 3.3).

    num_mixes: 2 for a model that uses ELMo at its input and at its output.
    dropout_rate: after each mix.
    layer_norm: normalise each layer over the batch before the mixes, as the reference does (`normalise_layers`).
    top_layer_only: gamma times the top layer, instead of a mix of all.
    requires_grad: train the biLM too. Otherwise it stays out of autograd and in eval mode.
    """

    boundaries: Int[Tensor, "2 C"]

    def __init__(
        self,
        bilm: BiLM,
        *,
        num_mixes: int = 1,
        dropout_rate: float = 0.5,
        layer_norm: bool = False,
        top_layer_only: bool = False,
        requires_grad: bool = False,
    ) -> None:
        super().__init__()
        if num_mixes < 1:
            raise ValueError(f"num_mixes is {num_mixes}; expected at least 1")
        self.bilm = bilm.requires_grad_(requires_grad)
        self.trains_bilm = requires_grad
        self.layer_norm = layer_norm
        self.dropout = nn.Dropout(dropout_rate)
        self.mixes = nn.ModuleList(
            TopLayer() if top_layer_only else ScalarMix(num_layers=bilm.config.num_layers + 1) for _ in range(num_mixes)
        )
        boundaries = character_ids(
            [BEGIN_SENTENCE, END_SENTENCE], max_characters_per_token=bilm.config.max_characters_per_token
        )
        self.register_buffer("boundaries", torch.from_numpy(boundaries).long(), persistent=False)
        self.train(self.training)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path = DEFAULT_MODEL,
        weights: str | Path | None = None,
        *,
        num_mixes: int = 1,
        dropout_rate: float = 0.5,
        layer_norm: bool = False,
        top_layer_only: bool = False,
        requires_grad: bool = False,
    ) -> ElmoEmbedding:
        """The model is found as `Elmo.from_pretrained` finds it; the rest are the constructor's arguments."""
        bilm, _ = load_bilm(name_or_path, weights)
        return cls(
            bilm,
            num_mixes=num_mixes,
            dropout_rate=dropout_rate,
            layer_norm=layer_norm,
            top_layer_only=top_layer_only,
            requires_grad=requires_grad,
        )

    @property
    def output_dim(self) -> int:
        """Width 2D of the vectors."""
        return self.bilm.config.output_dim

    def train(self, mode: bool = True) -> ElmoEmbedding:
        super().train(mode)
        self.bilm.train(mode and self.trains_bilm)
        return self

    def forward(self, sentences: Int[Tensor, "B T C"] | Sequence[Sequence[str]]) -> ElmoVectors:
        """Sentences as lists of tokens, or as character ids; without sentence boundaries, which are added here.

        Rows of zeros behind a sentence's end are padding. Distinct tokens of a batch are encoded once.
        """
        if not isinstance(sentences, Tensor):
            limit = self.bilm.config.max_characters_per_token
            sentences = torch.from_numpy(batch_character_ids(sentences, max_characters_per_token=limit))
        sentences = sentences.to(self.boundaries.device)
        mask = (sentences > 0).any(dim=2)
        with torch.set_grad_enabled(self.trains_bilm and torch.is_grad_enabled()):
            layers = self._layers(sentences, mask)
        if self.layer_norm:
            layers = normalise_layers(layers, mask)
        return ElmoVectors(mixes=[self.dropout(mix(layers)) for mix in self.mixes], mask=mask)

    def penalty(self) -> Float[Tensor, ""]:
        """`||w||^2` summed over the mixes; the paper adds lambda (0.001 to 1) times this to the loss."""
        return torch.stack([mix.penalty() for mix in self.mixes]).sum()  # type: ignore[operator]

    def _layers(self, ids: Int[Tensor, "B T C"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "L B T E"]:
        bounded = self._with_boundaries(ids, mask)
        real = (bounded > 0).any(dim=2)
        distinct, which = cast("tuple[Tensor, Tensor]", bounded[real].unique(dim=0, return_inverse=True))
        encoded = self.bilm.encode_tokens(distinct)
        tokens = encoded.new_zeros(*real.shape, encoded.shape[1])
        tokens[real] = encoded[which]
        layers = self.bilm.contextualise(tokens, real.sum(dim=1).cpu()).layers
        return layers[:, :, 1:-1] * mask[:, :, None]  # ends of shorter sentences stand where the mask has padding

    def _with_boundaries(self, ids: Int[Tensor, "B T C"], mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B U C"]:
        if (~mask[:, :-1] & mask[:, 1:]).any():
            row = int((~mask[:, :-1] & mask[:, 1:]).any(dim=1).nonzero()[0])
            raise ValueError(f"sentence {row} has padding (a row of zeros) before a token; padding goes behind its end")
        bounded = functional.pad(ids.long(), (0, 0, 1, 1))
        bounded[:, 0] = self.boundaries[0]
        bounded[torch.arange(len(ids), device=ids.device), mask.sum(dim=1) + 1] = self.boundaries[1]
        return bounded
