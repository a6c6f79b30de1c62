"""Figure 1 and section 5.4: how the gain of ELMo depends on the number of training examples, and on updates.

The subsets are nested, and both arms of a seed have the same ones. With the scale's recipe both arms have equal numbers
of updates; with `cpu-converged`, where a task has it, each trains until the development set stops improving.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from elmokit.metrics.statistic import Statistic
from elmokit.tasks.all_tasks import find_task
from paper.families import dev_score, families, gain_text, read_task_runs
from paper.printed import FIGURE_1, SAMPLE_EFFICIENCY
from paper.reproduction import OurTable, Reproduction, distinct_rows
from paper.scales import CONVERGED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.tasks.task_runs import EpochScore, TaskRun
    from paper.comparisons import Arm
    from paper.planned_runs import PlannedRun, Setup
    from paper.reproduction import OurRow

TASKS = ("named-entities", "semantic-roles", "entailment")
SHARES = (0.001, 0.01, 0.1, 1.0)
VARY = ("training.train_share",)


@dataclass(frozen=True)
class Point:
    """One size of the training set."""

    share: float
    num_examples: int
    baseline: Arm
    elmo: Arm


@dataclass(frozen=True)
class SampleCurve:
    """A task's scores by the size of its training set."""

    row: str
    """The paper's name of the task."""
    metric: str
    measured_on: str
    training: str
    """How long runs train: `8 epochs`, or `until the development set stops improving`."""
    is_converged: bool
    """Whether it is the latter."""
    points: tuple[Point, ...]
    """In order of size."""


@dataclass(frozen=True)
class Overtaking:
    """When the runs with ELMo reach the best score of those without, in updates; see `overtaken_at`."""

    baseline: Statistic
    elmo: Statistic | None
    """None if a run with ELMo never does."""

    @property
    def fewer(self) -> float | None:
        """Percent of the baseline's updates that ELMo saves."""
        return None if self.elmo is None else 100 * (1 - self.elmo.mean / self.baseline.mean)


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs of each share, without ELMo and with it, in equal numbers of epochs and, where possible, converged."""
    runs: list[PlannedRun] = []
    shares = [share for share in SHARES if share <= setup.scale.largest_share]
    for task in TASKS:
        recipes = (None, CONVERGED) if CONVERGED in find_task(task).recipes else (None,)
        for recipe in recipes:
            for share in shares:
                for arm in (("elmo=none",), ()):
                    settings = (*arm, f"train_share={share}", "max_train_examples=0")
                    runs += setup.runs(task, *settings, recipe=recipe)
    return runs


def sample_curves(paths: Sequence[Path]) -> list[SampleCurve]:
    """The curves of all families with at least two sizes, each with and without ELMo.

    Of several that are described in the same words, such as those of two scales, the one with most sizes counts.
    """
    found: dict[tuple[str, str, str], SampleCurve] = {}
    for family in families(read_task_runs(paths), VARY):
        points = [
            Point(values[0], arm.runs[0].num_used, family.baselines[values], arm)
            for values, arm in sorted(family.arms.items())
            if values in family.baselines
        ]
        if len(points) > 1:
            words = family.measured_on(num_examples=False)
            training = points[0].elmo.runs[0].record.config.training
            is_converged = training.patience < training.max_epochs
            how_long = "until the development set stops improving" if is_converged else f"{training.max_epochs} epochs"
            curve = SampleCurve(family.row, family.metric, words, how_long, is_converged, tuple(points))
            known = found.setdefault((family.row, words, how_long), curve)
            if len(curve.points) > len(known.points):
                found[family.row, words, how_long] = curve
    return list(found.values())


def overtaken_at(point: Point) -> Overtaking | None:
    """Updates until the baseline's best score, and until ELMo has it, over the seeds that both arms have."""
    others = {run.seed: run for run in point.elmo.runs}
    pairs = [(run, others[run.seed]) for run in point.baseline.runs if run.seed in others and run.curve]
    if not pairs:
        return None
    best = [_best(run) for run, _ in pairs]
    reached = [_first(other, at_least=one.score) for one, (_, other) in zip(best, pairs, strict=True)]
    steps = [step for step in reached if step is not None]
    elmo = Statistic(tuple(map(float, steps))) if len(steps) == len(reached) else None
    return Overtaking(Statistic(tuple(float(one.step) for one in best)), elmo)


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """None: the paper prints no values of the figure."""
    return []


def details(paths: Sequence[Path]) -> list[OurTable]:
    """The scores by size, ELMo against none with ten times the data, and the updates to the baseline's best score."""
    curves = sample_curves(paths)
    scores: list[tuple[str, tuple[str | None, ...]]] = []
    updates: list[tuple[str, tuple[str | None, ...]]] = []
    tenfold: list[tuple[str, tuple[str | None, ...]]] = []
    for curve in curves:
        for point in curve.points:
            size = f"{point.num_examples:,} examples ({100 * point.share:g} %)"
            name = f"{curve.row}, {size}: {curve.measured_on}, {curve.training}"
            arms = [dev_score(arm, curve.metric) for arm in (point.baseline, point.elmo)]
            scores.append((name, (*map(str, arms), gain_text(point.baseline, point.elmo, curve.metric))))
            if (when := overtaken_at(point)) is not None:
                fewer = None if when.fewer is None else f"{when.fewer:.0f} %"
                cells = (f"{when.baseline.mean:,.0f}", f"{when.elmo.mean:,.0f}" if when.elmo else "never", fewer)
                updates.append((name, cells))
        tenfold += [_with_a_tenth(curve, *pair) for pair in pairwise(curve.points) if _is_tenfold(*pair)]
    cells = [SAMPLE_EFFICIENCY.cell("SRL", column).text for column in SAMPLE_EFFICIENCY.columns]
    printed = f"The paper, SRL: epoch {cells[0]} without ELMo, epoch {cells[1]} with it, {cells[2]} % fewer updates."
    return [
        OurTable(
            "Scores by the size of the training set",
            "On the whole development set, in percent; the gain is paired by seed, with its 95 % interval.",
            ("no ELMo", "+ ELMo", "gain"),
            distinct_rows(scores),
        ),
        OurTable(
            "ELMo with a tenth of the data",
            "With ELMo, and without it on ten times the examples, which include the others; the difference is that of "
            "ELMo over none, paired by seed, with its 95 % interval.",
            ("+ ELMo", "no ELMo, tenfold", "difference"),
            distinct_rows(tenfold),
        ),
        OurTable(
            "Updates until the baseline's best score",
            f"Updates at the end of the epoch in which a run has that score on its development examples. {printed}",
            ("no ELMo", "+ ELMo", "fewer updates"),
            distinct_rows(updates),
        ),
    ]


def _is_tenfold(fewer: Point, more: Point) -> bool:
    return math.isclose(more.share, 10 * fewer.share)


def _with_a_tenth(curve: SampleCurve, fewer: Point, more: Point) -> tuple[str, tuple[str | None, ...]]:
    sizes = f"{fewer.num_examples:,} ({100 * fewer.share:g} %) against {more.num_examples:,} ({100 * more.share:g} %)"
    arms = (fewer.elmo, more.baseline)
    scores = [str(dev_score(arm, curve.metric)) for arm in arms]
    difference = gain_text(more.baseline, fewer.elmo, curve.metric)
    return f"{curve.row}, {sizes}: {curve.measured_on}, {curve.training}", (*scores, difference)


def _best(run: TaskRun) -> EpochScore:
    return max(run.curve, key=lambda epoch: epoch.score)


def _first(run: TaskRun, *, at_least: float) -> int | None:
    return next((epoch.step for epoch in run.curve if epoch.score >= at_least), None)


REPRODUCTION = Reproduction(
    name="figure1",
    paper=FIGURE_1,
    reads="runs of `elmokit train` on shares of the training set",
    measure=our_rows,
    details=details,
    plan=plan,
)
