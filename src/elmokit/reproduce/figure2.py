"""Figure 2: the weights of the layers that the mixes of the tasks have learnt, at the input and at the output."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from elmokit.reproduce.families import read_task_runs
from elmokit.reproduce.paper import FIGURE_2
from elmokit.reproduce.reproduction import OurTable, Reproduction
from elmokit.reproduce.scales import TASK_DATA
from elmokit.tasks.all_tasks import TASKS, task_recipe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.reproduce.planned_runs import PlannedRun, Setup
    from elmokit.reproduce.reproduction import OurRow
    from elmokit.reproduce.task_runs import TaskRun

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
    """The mixes of each task, from those of its runs that use most data and have the recipe's lambda."""
    runs = [run for run in read_task_runs(paths) if mixes_layers(run) and is_of_the_paper(run)]
    found: list[LearntWeights] = []
    for place in PLACES:
        for task in TASKS:
            of_task = [run for run in runs if run.record.task == task and _weights(run, place)]
            if of_task:
                found.append(_learnt(task, place, newest_of_most_data(of_task)))
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
    """Whether the run mixes the layers of a frozen, pretrained biLM with the lambda of its recipe."""
    elmo = run.record.config.inputs.elmo
    usual = task_recipe(run.record.task).inputs.elmo
    if elmo is None or usual is None or elmo.layers != "mix":
        return False
    of_pretrained = not elmo.model.rpartition("/")[2].startswith("random")
    return of_pretrained and elmo.penalty == usual.penalty and elmo.rescale == usual.rescale and elmo.train_gamma


def is_of_the_paper(run: TaskRun) -> bool:
    """Whether a run is on the data set that stands for the paper's."""
    return run.record.task in TASK_DATA and run.data == PurePath(TASK_DATA[run.record.task].folder).name


def _weights(run: TaskRun, place: str) -> tuple[float, ...]:
    if run.result is None or place not in run.result.mixes:
        return ()
    return run.result.mixes[place].weights


def newest_of_most_data(runs: Sequence[TaskRun]) -> list[TaskRun]:
    """The runs that use most data; among equals, those of the newest model, which comes last."""
    most = max(run.num_used for run in runs)
    largest = [run for run in runs if run.num_used == most]
    return [run for run in largest if run.model == largest[-1].model]


def _learnt(task: str, place: str, runs: Sequence[TaskRun]) -> LearntWeights:
    all_weights = [_weights(run, place) for run in runs]
    means = tuple(statistics.fmean(of_layer) for of_layer in zip(*all_weights, strict=True))
    spread = max(abs(weight - mean) for one in all_weights for weight, mean in zip(one, means, strict=True))
    counted = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    words = f"{runs[0].data}, {runs[0].num_used:,} training examples, {runs[0].model}, {counted}"
    return LearntWeights(task, TASK_DATA[task].row, place, words, means, spread)


REPRODUCTION = Reproduction(
    name="figure2",
    paper=FIGURE_2,
    reads="runs of `elmokit train` with a learnt mix",
    measure=our_rows,
    details=details,
    plan=plan,
)
