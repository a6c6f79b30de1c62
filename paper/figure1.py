"""Figure 1 and section 5.4: how the gain of ELMo depends on the number of training examples, and on updates.

The subsets are nested, and both arms of a seed have the same ones. With the scale's recipe both arms have equal numbers
of updates; with `cpu-converged` each trains until the development set stops improving.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter

from elmokit.formats.names import DEFAULT_MODEL
from paper.plan import CONVERGED, DATASETS, ELMO, MODEL, NO_ELMO, Arm, PlannedRun, Setup
from paper.printed import FIGURE_1
from paper.reproduction import Cell, OurTable, Reproduction
from paper.runs import ArmRuns, Evidence, gain_text, measured_on, setups_by_model

TASKS = ("named-entities", "semantic-roles", "entailment")
SHARES = (0.001, 0.01, 0.1, 1.0)
SOURCES = ((DEFAULT_MODEL, CONVERGED), (MODEL, CONVERGED), (MODEL, ""))
"""BiLM, if the user names none, and recipe of each curve of a task."""


@dataclass(frozen=True)
class Point:
    """One size of the training set."""

    share: float
    none: ArmRuns
    elmo: ArmRuns

    @property
    def num_examples(self) -> int:
        return self.elmo.runs[0].num_used


@dataclass(frozen=True)
class SampleCurve:
    """A task's scores by the size of its training set."""

    row: str
    """The paper's name of the task."""
    model: str
    """The biLM, with its fingerprint."""
    training: str
    """How long runs train: `8 epochs`, or `until the development set stops improving`."""
    points: tuple[Point, ...]
    """In order of size."""


def arms(share: float, recipe: str) -> tuple[Arm, Arm]:
    """Without ELMo and with it."""
    settings = (f"train_share={share}",)
    return Arm(NO_ELMO.name, (*NO_ELMO.settings, *settings), recipe), Arm(ELMO.name, settings, recipe)


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs of each share, without ELMo and with it."""
    each = ((own, arm) for own, recipe in _sources(setup) for share in SHARES for arm in arms(share, recipe))
    return [run for own, arm in each for task in TASKS for run in own.runs(task, arm)]


def _sources(setup: Setup) -> list[tuple[Setup, str]]:
    """Setup and recipe of each curve of a task."""
    setups = setups_by_model(setup, dict(SOURCES))
    return [(setups[model], recipe) for model, recipe in SOURCES if model in setups]


def sample_curves(evidence: Evidence) -> list[SampleCurve]:
    """The curves with at least two sizes."""
    curves: list[SampleCurve] = []
    for task in TASKS:
        for setup, recipe in _sources(evidence.setup):
            own = replace(evidence, setup=setup)
            found = ((share, *(own.arm(task, arm) for arm in arms(share, recipe))) for share in SHARES)
            points = tuple(Point(share, none, elmo) for share, none, elmo in found if none and elmo)
            if len(points) > 1:
                training = points[0].elmo.runs[0].record.config.training
                is_converged = training.patience < training.max_epochs
                words = "until the development set stops improving" if is_converged else f"{training.max_epochs} epochs"
                curves.append(SampleCurve(DATASETS[task].row, points[0].elmo.runs[0].model, words, points))
    return curves


def headlines(evidence: Evidence) -> list[SampleCurve]:
    """The curve that stands for each task: the first of those with the most sizes."""
    curves = sample_curves(evidence)
    rows = dict.fromkeys(curve.row for curve in curves)
    return [max((one for one in curves if one.row == row), key=lambda one: len(one.points)) for row in rows]


def overtaken_at(point: Point) -> tuple[float, float | None] | None:
    """Updates until the best score without ELMo, and until ELMo has it (None if a run never does).

    Means over the seeds that both arms have; None without any.
    """
    others = {run.seed: run for run in point.elmo.runs}
    pairs = [(run, others[run.seed]) for run in point.none.runs if run.seed in others and run.curve]
    if not pairs:
        return None
    best = [max(run.curve, key=itemgetter(1)) for run, _ in pairs]
    reached = [
        [step for step, score in other.curve if score >= highest]
        for (_, highest), (_, other) in zip(best, pairs, strict=True)
    ]
    elmo = statistics.fmean(steps[0] for steps in reached) if all(reached) else None
    return statistics.fmean(step for step, _ in best), elmo


def details(evidence: Evidence) -> list[OurTable]:
    """The scores by size, ELMo against none with ten times the data, and the updates to the best score without it."""
    scores: dict[str, tuple[Cell, ...]] = {}
    updates: dict[str, tuple[Cell, ...]] = {}
    tenfold: dict[str, tuple[Cell, ...]] = {}
    for curve in sample_curves(evidence):
        for point in curve.points:
            words = f"{100 * point.share:g} %", curve.training
            name = f"{curve.row}: {measured_on([point.none, point.elmo], *words)}"
            scores[name] = (point.none.score(), point.elmo.score(), gain_text(point.none, point.elmo))
            if (when := overtaken_at(point)) is not None:
                none, elmo = when
                reached = ("never", None) if elmo is None else (f"{elmo:,.0f}", f"{100 * (1 - elmo / none):.0f} %")
                updates[name] = (f"{none:,.0f}", *reached)
        for few, more in pairwise(curve.points):
            if math.isclose(more.share, 10 * few.share):
                sizes = f"{few.num_examples:,} ({100 * few.share:g} %) against {more.num_examples:,}"
                cells = (few.elmo.score(), more.none.score(), gain_text(more.none, few.elmo))
                tenfold[f"{curve.row}, {sizes}, {curve.model}, {curve.training}"] = cells
    return [
        OurTable(
            "Scores by the size of the training set",
            "On the whole development set, in percent; the gain is paired by seed, with its 95 % interval.",
            ("no ELMo", "+ ELMo", "gain"),
            scores,
        ),
        OurTable(
            "ELMo with a tenth of the data",
            "With ELMo, and without it on ten times the examples, which include the others; the difference is that of "
            "ELMo over none, paired by seed, with its 95 % interval.",
            ("+ ELMo", "no ELMo, tenfold", "difference"),
            tenfold,
        ),
        OurTable(
            "Updates until the baseline's best score",
            "Updates at the end of the epoch in which a run has that score on its development examples.",
            ("no ELMo", "+ ELMo", "fewer updates"),
            updates,
        ),
    ]


REPRODUCTION = Reproduction("figure1", FIGURE_1, None, details, plan=plan)
