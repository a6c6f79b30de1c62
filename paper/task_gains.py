"""What ELMo adds on the test sets of the six tasks: of each task the one comparison that stands for it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.metrics.interval import Interval, paired_t
from paper.families import gains_by_seed
from paper.item_records import interval_of, item_records, names_of
from paper.scales import TASK_DATA
from paper.table1 import counterpart, largest_comparisons

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paper.comparisons import Comparison


@dataclass(frozen=True)
class TaskGain:
    """A comparison on a test set, with the interval of its gain."""

    row: str
    """The paper's name of the task."""
    paired: Comparison
    """With the seeds of which both arms have a score."""
    test_set: str
    points: float
    """The gain; the mean over the seeds."""
    interval: Interval | None
    """None for a single seed."""
    over: str
    """What the interval is over: `test items`, where it was measured of several seeds, or `seeds`."""


def task_gains(runs: Sequence[Path], results: Sequence[Path]) -> dict[str, TaskGain]:
    """By task, those of `largest_comparisons`; of several test sets the first that the paper has counts.

    runs: paths with runs of tasks. results: paths with results.jsonl.
    """
    chosen = largest_comparisons(runs) if runs else {}
    records = item_records(results)
    gains: dict[str, TaskGain] = {}
    for task, comparison in chosen.items():
        test_set = next(name for name in comparison.test_sets if name is not None and counterpart(comparison, name))
        paired = comparison.paired(test_set)
        of_seeds = list(gains_by_seed(paired.baseline, paired.elmo, paired.metric, test_set=test_set).values())
        record = records.get(names_of(paired, test_set)) if len(of_seeds) > 1 else None
        interval, over = (paired_t(of_seeds), "seeds") if record is None else (interval_of(record), "test items")
        row = TASK_DATA[task].row
        gains[task] = TaskGain(row, paired, test_set, statistics.fmean(of_seeds), interval, over)
    return gains
