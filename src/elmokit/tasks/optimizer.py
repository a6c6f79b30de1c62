"""The optimiser of a task's model, with the weights that decay and those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from elmokit.layers.scalar_mix import ScalarMix, SingleLayer

if TYPE_CHECKING:
    from torch import nn

    from elmokit.tasks.config import TrainingConfig


def new_optimizer(module: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimiser of the weights that are trained. Mixes do not decay, nor do biases without `decay_biases`."""
    undecayed = {
        id(value)
        for part in module.modules()
        if isinstance(part, ScalarMix | SingleLayer)
        for value in part.parameters()
    }
    if not config.decay_biases:
        undecayed |= {id(value) for value in module.parameters() if value.ndim < 2}
    trained = [value for value in module.parameters() if value.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [value for value in trained if id(value) not in undecayed], "weight_decay": config.weight_decay},
        {"params": [value for value in trained if id(value) in undecayed], "weight_decay": 0.0},
    ]
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(groups, lr=config.learning_rate, rho=0.95, eps=config.adadelta_epsilon)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.learning_rate, fused=True)
