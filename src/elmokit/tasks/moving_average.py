"""Exponential moving average of a model's weights, which is scored and kept in place of the last ones."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from elmokit.tasks.config import TrainingConfig


class MovingAverage:
    """The exponential moving average of weights; empty, and without effect, where the config has no `average_decay`."""

    def __init__(self, parameters: Sequence[nn.Parameter], config: TrainingConfig) -> None:
        self.parameters = parameters
        self.config = config
        self.values = [value.detach().clone() for value in parameters] if config.average_decay else []

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step, counted from 0.

        With the warm-up, the decay grows with the steps, like TensorFlow's with `num_updates`.
        """
        if self.values:
            decay = self.config.average_decay
            if self.config.average_warm_up:
                decay = min(decay, (1 + step) / (10 + step))
            for average, parameter in zip(self.values, self.parameters, strict=True):
                average.lerp_(parameter, 1 - decay)

    def restore(self, values: Sequence[Tensor]) -> None:
        """Continue with the values of a checkpoint, which may be on another device."""
        self.values = [value.to(old.device) for value, old in zip(values, self.values, strict=True)]

    @contextmanager
    def in_place_of_the_weights(self) -> Generator[None]:
        """Swap the weights with their average for a while."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for parameter, average in zip(self.parameters, self.values, strict=bool(self.values)):
            kept = parameter.clone()
            parameter.copy_(average)
            average.copy_(kept)
