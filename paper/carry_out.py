"""From the names of tables to what they are measured from: runs are planned, trained, cheapest first, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.elmo import Elmo
from elmokit.formats.model_name import FINGERPRINT_DIGITS
from elmokit.tasks.all_tasks import find_task
from paper.all_reproductions import find_reproduction
from paper.item_intervals import measure_test_items
from paper.planned_runs import Setup, cheapest_first
from paper.scales import find_scale
from paper.train_planned import is_finished, not_finished_elsewhere, train_planned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paper.planned_runs import PlannedRun


@dataclass(frozen=True)
class Training:
    """How the runs that tables need are trained."""

    data_dir: Path
    """The folder with the data, as CONTRIBUTING.md describes it."""
    runs_dir: Path
    """The folder of the runs: finished ones are not run again, interrupted ones are resumed."""
    scale: str = "cpu"
    model: str = "mini-en"
    seeds: int | None = None
    """Number of seeds, from 0; None stands for the number of the scale."""
    jobs: int = 1
    """Processes that train at the same time."""
    cache: Path | None = None
    """Folder of the activations of frozen biLMs, as for `train`."""
    device: str | None = None
    tasks: tuple[str, ...] = ()
    """The tasks that are trained, by any of their names; empty for all that the tables need."""
    finished: tuple[Path, ...] = ()
    """Logs of runs that were trained elsewhere, such as a runs.jsonl: those that they have are not trained again."""

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"{self.jobs} jobs; expected at least 1")
        object.__setattr__(self, "tasks", tuple(find_task(task).name for task in self.tasks))
        if self.seeds is not None and self.seeds < 1:
            raise ValueError(f"{self.seeds} seeds; expected at least 1")


def plan_runs(names: Sequence[str], training: Training) -> list[PlannedRun]:
    """The runs that these tables and figures need, each once, the cheapest first.

    Raises ValueError for an unknown scale or name, and for a task of which they need no runs, and FileNotFoundError for
    a model that is not there.
    """
    scale = find_scale(training.scale)
    setup = Setup(
        scale=scale,
        data_dir=training.data_dir,
        model=training.model,
        fingerprint=Elmo.from_pretrained(training.model).fingerprint()[:FINGERPRINT_DIGITS],
        seeds=tuple(range(scale.seeds if training.seeds is None else training.seeds)),
    )
    plans = [reproduction.plan for reproduction in map(find_reproduction, names) if reproduction.plan is not None]
    runs = cheapest_first(run for plan in plans for run in plan(setup))
    needed = dict.fromkeys(run.task for run in runs)
    unneeded = [task for task in training.tasks if task not in needed]
    if needed and unneeded:
        raise ValueError(
            f"no run of {', '.join(unneeded)} is needed for {', '.join(names)}; the runs are of {', '.join(needed)}"
        )
    return [run for run in runs if run.task in training.tasks] if training.tasks else runs


def missing_runs(runs: Sequence[PlannedRun], training: Training) -> list[PlannedRun]:
    """Those that are finished neither here nor elsewhere. Raises ValueError for runs of other settings."""
    here = not_finished_elsewhere(runs, training.finished)
    return [run for run in here if not is_finished(run, training.runs_dir)]


def train_for(names: Sequence[str], training: Training) -> list[Path]:
    """Train what these tables and figures need, and return what to measure them from: folders, and logs of elsewhere.

    Intervals over test items and ensembles need weights, so they are measured of what was trained here.
    """
    runs = not_finished_elsewhere(plan_runs(names, training), training.finished)
    if not runs:
        return list(training.finished)
    train_planned(runs, training.runs_dir, jobs=training.jobs, cache=training.cache, device=training.device)
    if any(run.scores_tests for run in runs):
        measure_test_items(training.runs_dir)
    return [training.runs_dir, *training.finished]
