"""Figure 2: the weights of the layers that the mixes of the tasks have learnt, at the input and at the output."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elmokit.tasks.all_tasks import TASKS
from paper.plan import CONVERGED, DATASETS, Arm, PlannedRun, Setup
from paper.printed import FIGURE_2
from paper.reproduction import OurTable, Reproduction
from paper.runs import ArmRuns, Evidence, measured_on

PLACES = ("input", "output")
ARMS = (Arm("converged", recipe=CONVERGED), Arm("both", ("elmo=both",)))
"""At each place, the first one that has a mix there counts. The paper has the output for SNLI and SQuAD alone."""


@dataclass(frozen=True)
class LearntMix:
    """The mix of a task at one place."""

    row: str
    """The paper's name of the task."""
    place: str
    """input or output."""
    arm: ArmRuns
    weights: tuple[float, ...]
    """Means over the runs of the weights after the softmax, lowest layer first."""
    gamma: float
    """Mean over the runs of the scale."""


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs with ELMo until they converge, and with ELMo at both places."""
    return [run for task in TASKS for arm in ARMS for run in setup.runs(task, arm)]


def learnt_mixes(evidence: Evidence, tasks: Iterable[str] = TASKS, arms: Sequence[Arm] = ARMS) -> list[LearntMix]:
    """The mixes of each task, at the input and then at the output."""
    found = (_learnt(evidence, task, place, arms) for place in PLACES for task in tasks)
    return [one for one in found if one is not None]


def details(evidence: Evidence) -> list[OurTable]:
    """The weights as a table, which the figure shows in shades."""
    found = learnt_mixes(evidence)
    width = max((len(one.weights) for one in found), default=0)
    rows: dict[str, tuple[str, ...]] = {}
    for one in found:
        elmo = one.arm.runs[0].record.config.inputs.elmo
        assert elmo is not None, "a mix is ELMo's"
        name = f"{one.row}, {one.place}: {measured_on([one.arm], f'ELMo at {elmo.position}')}"
        rows[name] = tuple(f"{weight:.2f}" for weight in one.weights)
    columns = ("token layer", *(f"LSTM layer {number}" for number in range(1, width)))
    return [OurTable("Weights after the softmax", "Means over the seeds.", columns, rows)]


def _learnt(evidence: Evidence, task: str, place: str, arms: Sequence[Arm]) -> LearntMix | None:
    for arm in arms:
        found = evidence.arm(task, arm)
        runs = found.runs if found else ()
        mixes = [run.result.mixes[place] for run in runs if run.result and place in run.result.mixes]
        if found is not None and mixes:
            means = tuple(statistics.fmean(layer) for layer in zip(*(mix.shares for mix in mixes), strict=True))
            return LearntMix(DATASETS[task].row, place, found, means, statistics.fmean(mix.gamma for mix in mixes))
    return None


REPRODUCTION = Reproduction("figure2", FIGURE_2, None, details, plan=plan)
