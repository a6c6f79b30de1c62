"""How the runs of table 1 got better: the development score after each epoch, without ELMo and with it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paper.scales import TASK_DATA
from paper.table1 import largest_comparisons

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paper.comparisons import Arm

Curve = tuple[tuple[float, float], ...]
"""Updates and score, after each epoch."""


@dataclass(frozen=True)
class LearningCurve:
    """The two arms of a task."""

    row: str
    """The paper's name of the task."""
    metric: str
    measured_on: str
    """Number of training examples and of seeds, in words."""
    baseline: Curve
    elmo: Curve


def learning_curves(paths: Sequence[Path]) -> list[LearningCurve]:
    """Those of the comparison of each task that table 1's claim is about: means over the seeds that both arms have."""
    found: list[LearningCurve] = []
    for task, comparison in largest_comparisons(paths).items():
        paired = comparison.paired(comparison.test_sets[0])
        num_seeds = len(paired.elmo.runs)
        words = f"{paired.elmo.runs[0].num_used:,} examples, {num_seeds} seed{'' if num_seeds == 1 else 's'}"
        curves = mean_curve(paired.baseline), mean_curve(paired.elmo)
        if all(curves):
            found.append(LearningCurve(TASK_DATA[task].row, comparison.metric, words, *curves))
    return found


def mean_curve(arm: Arm) -> Curve:
    """Means over the runs after each epoch that all of them have."""
    epochs = zip(*(run.curve for run in arm.runs), strict=False)
    return tuple(
        (statistics.fmean(one.step for one in epoch), statistics.fmean(one.score for one in epoch)) for epoch in epochs
    )
