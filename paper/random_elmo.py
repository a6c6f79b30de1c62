"""A biLM with random weights, as a control: it has learnt nothing from text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.elmo.elmo import Elmo
from elmokit.layers.devices import seeded
from elmokit.model.bilm import BiLM

if TYPE_CHECKING:
    from elmokit.model.config import BiLMConfig


def random_elmo(config: BiLMConfig, *, seed: int) -> Elmo:
    """A biLM with the weights that pretraining starts from; they depend on the seed alone."""
    with seeded(seed):
        return Elmo(BiLM(config).requires_grad_(False))
