"""A biLM with random weights, as a control: it has learnt nothing from text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from elmokit.model.bilm import BiLM
from elmokit.model.elmo import Elmo

if TYPE_CHECKING:
    from elmokit.model.config import BiLMConfig


def random_elmo(config: BiLMConfig, *, seed: int) -> Elmo:
    """A biLM with the weights that pretraining starts from; they depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Elmo(BiLM(config).requires_grad_(False))
