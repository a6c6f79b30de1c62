"""Training until the development score stops improving, for comparisons in which neither arm must be cut short."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elmokit.tasks.config import TrainingConfig


def until_converged(training: TrainingConfig) -> TrainingConfig:
    """A recipe's training without its schedule, ended by patience; all numbers are ours.

    The rate is constant, then halved after each two epochs without a better score; five such epochs end the run. An
    epoch has at least 100 steps and a run 1,000, so that a small training set is not left after a handful of updates.
    `max_epochs` is a bound that a run should not meet; its log says if it did. The development scores are those of
    examples spread evenly over the set.
    """
    return replace(
        training,
        max_epochs=100,
        patience=5,
        min_steps=1_000,
        min_epoch_steps=100,
        halve_after=2,
        decay=1.0,
        spread_dev=True,
    )
