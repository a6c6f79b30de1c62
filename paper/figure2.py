"""Figure 2: the weights of the layers that the mixes of the tasks have learnt, at the input and at the output."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from elmokit.tasks.all_tasks import TASKS
from elmokit.tasks.task_runs import unusual_settings
from paper.families import is_usual, read_task_runs
from paper.printed import FIGURE_2
from paper.reproduction import OurTable, Reproduction
from paper.scales import TASK_DATA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.tasks.task_runs import TaskRun
    from paper.planned_runs import PlannedRun, Setup
    from paper.reproduction import OurRow

PLACES = ("input", "output")


@dataclass(frozen=True)
class LearntWeights:
    """The mix of a task at one place."""

    task: str
    row: str
    """The paper's name of the task."""
    place: str
    """input or output."""
    measured_on: str
    """Data, model and number of runs, in words."""
    weights: tuple[float, ...]
    """Means over the runs of the weights after the softmax, lowest layer first."""
    spread: float
    """Largest distance of a run's weight from the mean."""


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs with ELMo at both places; the paper has the output for SNLI and SQuAD alone."""
    return [run for task in TASK_DATA for run in setup.runs(task, "elmo=both")]


def learnt_weights(paths: Sequence[Path]) -> list[LearntWeights]:
    """The mixes of each task, from the group of its runs that `largest_group` names."""
    runs = [run for run in read_task_runs(paths) if mixes_layers(run) and is_of_the_paper(run)]
    found: list[LearntWeights] = []
    for place in PLACES:
        for task in TASKS:
            of_task = [run for run in runs if run.record.task == task and _weights(run, place)]
            if of_task:
                found.append(_learnt(task, place, largest_group(of_task)))
    return found


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """None: the paper prints no numbers of it."""
    return []


def details(paths: Sequence[Path]) -> list[OurTable]:
    """The weights as a table, which the figure shows in shades."""
    found = learnt_weights(paths)
    width = max((len(one.weights) for one in found), default=0)
    rows = {
        f"{one.row}, {one.place}: {one.measured_on}": tuple(
            f"{weight:.2f}" for weight in one.weights + (float("nan"),) * (width - len(one.weights))
        )
        for one in found
    }
    columns = ("token layer", *(f"LSTM layer {number}" for number in range(1, width)))
    return [OurTable("Weights after the softmax", "Means over the seeds.", columns, rows)]


def mixes_layers(run: TaskRun) -> bool:
    """Whether the run mixes the layers of a pretrained biLM as the task's recipe does, wherever the mix goes."""
    elmo = run.record.config.inputs.elmo
    if elmo is None or elmo.layers != "mix" or not is_usual(run, but=("position",)):
        return False
    return not unusual_settings(run, but=("inputs.elmo.position",))


def is_of_the_paper(run: TaskRun) -> bool:
    """Whether a run is on the data set that stands for the paper's."""
    return run.record.task in TASK_DATA and run.data == PurePath(TASK_DATA[run.record.task].folder).name


def _weights(run: TaskRun, place: str) -> tuple[float, ...]:
    if run.result is None or place not in run.result.mixes:
        return ()
    return run.result.mixes[place].weights


def largest_group(runs: Sequence[TaskRun]) -> list[TaskRun]:
    """Runs that differ in their seed alone: those with most training examples, then the last model, then most seeds."""
    groups: dict[str, dict[int, TaskRun]] = {}
    for run in runs:
        key = json.dumps([run.data, run.settings, run.elmo_settings], sort_keys=True)
        groups.setdefault(key, {}).setdefault(run.seed, run)
    models = [run.model for run in runs]
    chosen = max(groups.values(), key=lambda group: _size(list(group.values()), models))
    return [chosen[seed] for seed in sorted(chosen)]


def _size(group: Sequence[TaskRun], models: Sequence[str]) -> tuple[int, int, int]:
    """Training examples, how late the model comes among those of all runs, and seeds."""
    last = len(models) - 1 - models[::-1].index(group[0].model)
    return group[0].num_used, last, len(group)


def _learnt(task: str, place: str, runs: Sequence[TaskRun]) -> LearntWeights:
    all_weights = [_weights(run, place) for run in runs]
    means = tuple(statistics.fmean(of_layer) for of_layer in zip(*all_weights, strict=True))
    spread = max(abs(weight - mean) for one in all_weights for weight, mean in zip(one, means, strict=True))
    counted = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    position = runs[0].elmo_settings["position"]
    where = "" if position == place else f" at {position}"
    words = f"{runs[0].data}, {runs[0].num_used:,} training examples, {runs[0].model}{where}, {counted}"
    return LearntWeights(task, TASK_DATA[task].row, place, words, means, spread)


REPRODUCTION = Reproduction(
    name="figure2",
    paper=FIGURE_2,
    reads="runs of `elmokit train` on the data sets of the tables, with a mix that is learnt as in a recipe",
    measure=our_rows,
    details=details,
    plan=plan,
)
