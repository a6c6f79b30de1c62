"""An Elmo as frozen layers that are computed whenever they are asked for; `vectors/cache.py` keeps them on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from elmokit.model.bilm import BiLM
from elmokit.model.elmo import Elmo
from elmokit.vectors.padded import padded_layers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jaxtyping import Float
    from torch import Tensor

    from elmokit.model.config import BiLMConfig


class ElmoLayers:
    """Sentences -> layer activations (L,B,T,2D) of a biLM."""

    def __init__(self, elmo: Elmo) -> None:
        self.elmo = elmo
        self.num_layers = elmo.config.num_layers + 1
        self.dim = elmo.config.output_dim

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Nothing has to be prepared."""

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]:
        """Layers in float32 on the CPU, zero at padding."""
        encoded = self.elmo.encode(sentences, layers="all", show_progress_bar=False)
        return padded_layers(encoded, num_layers=self.num_layers, dim=self.dim)

    def fingerprint(self) -> str:
        """Fingerprint of the biLM."""
        return self.elmo.fingerprint()


def random_elmo(config: BiLMConfig, *, seed: int) -> Elmo:
    """A biLM with the weights that pretraining starts from: a control, which has learnt nothing from text."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Elmo(BiLM(config).requires_grad_(False))
