"""How far a task's run has come: one frozen record, replaced after every epoch and kept in the checkpoint."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elmokit.tasks.config import TrainingConfig


@dataclass(frozen=True)
class Clock:
    """Wall-clock and CPU seconds from an arbitrary start; only differences are meaningful."""

    seconds: float
    processor_seconds: float

    @classmethod
    def now(cls) -> Clock:
        """Read both clocks."""
        return cls(time.monotonic(), time.process_time())


@dataclass(frozen=True)
class TaskProgress:
    """How far a run has come, and how well it went."""

    epoch: int = 0
    """Number of finished epochs."""
    step: int = 0
    """Number of optimiser steps so far."""
    rate_factor: float = 1.0
    """Factor on the learning rate, from halving it."""
    epochs_since_halving: int = 0
    """Epochs without a better score since the best one or the last halving."""
    best_epoch: int = 0
    """Number of the epoch with the best score, counted from 1."""
    best_score: float | None = None
    """Best score on the development set; None before the first epoch."""
    seconds: float = 0.0
    """Wall-clock seconds of training and evaluating."""
    processor_seconds: float = 0.0
    """CPU seconds of the same, of all threads; they exclude other programs."""

    def after(self, score: float, *, config: TrainingConfig, step: int, began: Clock) -> TaskProgress:
        """The progress after one more epoch, which began at `began` and reached that score on the development set."""
        now = Clock.now()
        done = replace(
            self,
            epoch=self.epoch + 1,
            step=step,
            seconds=self.seconds + now.seconds - began.seconds,
            processor_seconds=self.processor_seconds + now.processor_seconds - began.processor_seconds,
        )
        if self.best_score is None or score > self.best_score:
            return replace(done, best_epoch=done.epoch, best_score=score, epochs_since_halving=0)
        waited = self.epochs_since_halving + 1
        if config.halve_after and waited >= config.halve_after:
            return replace(done, epochs_since_halving=0, rate_factor=self.rate_factor / 2)
        return replace(done, epochs_since_halving=waited)

    def converged(self, config: TrainingConfig) -> bool:
        """Whether the score has not improved for `patience` epochs, after at least `min_steps` steps."""
        return self.epoch - self.best_epoch >= config.patience and self.step >= config.min_steps

    def finished(self, config: TrainingConfig) -> bool:
        """Whether the last epoch is done, or the run has converged."""
        return self.epoch >= config.max_epochs or self.converged(config)
