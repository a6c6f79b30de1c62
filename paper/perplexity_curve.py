"""What a better biLM brings: the gain of ELMo by perplexity, with three weights of `mini-en` and two of `small-en`.

The tasks are trained on a tenth of their data, where ELMo's gain is larger than on all of them (figure 1).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from elmokit.formats.names import DEFAULT_MODEL, FINGERPRINT_DIGITS
from elmokit.metrics.statistics import Interval, paired_t
from paper.figure1 import TASKS, arms
from paper.models import CURVE_RESULTS
from paper.plan import CONVERGED, DATASETS, EARLIER, MODEL, PlannedRun, Setup
from paper.printed import PERPLEXITY
from paper.reproduction import OurTable, Reproduction
from paper.results import read_results
from paper.runs import ArmRuns, Evidence, fingerprint_of, gain_text, gains_by_seed, measured_on, with_model

BASELINE, TODAY = arms(0.1, CONVERGED)
BY_FINGERPRINT = (MODEL, "small-en-86", DEFAULT_MODEL)
"""The biLMs that were the package's when their runs were made."""
ARMS = {
    **{name: replace(TODAY, name=name, vectors=name) for name in EARLIER if name not in BY_FINGERPRINT},
    **dict.fromkeys(BY_FINGERPRINT, TODAY),
}
"""By the name of the biLM, worst first."""


@dataclass(frozen=True)
class GainPoint:
    """A biLM and what it brings to a task."""

    model: str
    perplexity: float
    """On held-out text, the mean of both directions."""
    elmo: ArmRuns
    gain: Interval
    """On the development set, in points, over seeds."""


@dataclass(frozen=True)
class GainCurve:
    """The gains of a task by biLM."""

    task: str
    """Name of the data set."""
    baseline: ArmRuns
    points: tuple[GainPoint, ...]
    """Worst biLM first."""


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs without ELMo, and with each biLM, until they converge."""
    arms = [(MODEL, BASELINE), *ARMS.items()]
    return [run for task in TASKS for model, arm in arms for run in setup_of(setup, model).runs(task, arm)]


def setup_of(setup: Setup, model: str) -> Setup:
    """The setup with this biLM, whichever the user names: the curve is of several. Others are made next to MODEL."""
    return with_model(setup, model if model in BY_FINGERPRINT else MODEL)


def gain_curves(evidence: Evidence) -> list[GainCurve]:
    """The curves with at least two biLMs whose perplexity was measured and that have two seeds."""
    records = read_results(evidence.results, CURVE_RESULTS)
    of_weights = {one.text("fingerprint")[:FINGERPRINT_DIGITS]: one.number("mean") for one in records}
    measured = {model: of_weights[own] for model in ARMS if (own := fingerprint_of(model)) in of_weights}
    curves: list[GainCurve] = []
    for task in TASKS:
        baseline = evidence.arm(task, BASELINE)
        points: list[GainPoint] = []
        for model in measured:
            elmo = replace(evidence, setup=setup_of(evidence.setup, model)).arm(task, ARMS[model])
            gains = gains_by_seed(baseline, elmo)
            if elmo is not None and (gain := paired_t(list(gains.values())) if gains else None) is not None:
                points.append(GainPoint(model, measured[model], elmo, gain))
        if baseline is not None and len(points) > 1:
            curves.append(GainCurve(task, baseline, tuple(points)))
    return curves


def details(evidence: Evidence) -> list[OurTable]:
    """A row for each task and biLM, and one for the mean of the tasks."""
    curves = gain_curves(evidence)
    rows: dict[str, tuple[str, ...]] = {}
    for curve in curves:
        row, worst = DATASETS[curve.task].row, curve.points[0].elmo
        rows[f"{row}: {measured_on([curve.baseline])}"] = ("", str(curve.baseline.score()), "", "")
        for point in curve.points:
            over_worst = "" if point.elmo is worst else gain_text(worst, point.elmo) or ""
            cells = (f"{point.perplexity:.1f}", str(point.elmo.score()), str(point.gain), over_worst)
            rows[f"{row}, {point.model}"] = cells
    shared = with_shared_bilms(curves)
    for point in shared[0].points[1:] if shared else ():
        if (gain := mean_gain(shared, point.model)) is not None:
            rows[f"Mean of the tasks, {point.model}"] = ("", "", "", str(gain))
    columns = ("perplexity", "score", "gain over no ELMo", "gain over the worst biLM")
    about = (
        "Perplexity of the held-out English text, mean of both directions; score on the whole development set in "
        "percent; gains in points, paired by seed, with their 95 % intervals (Student's t). Trained on a tenth of the "
        "data, until the scores get no better. `small-en` and `small-en-86` are twice as wide as `mini-en`; "
        "text, tokens read, optimiser and the machine that trained the runs differ. The mean of the tasks was added "
        "after these had been seen."
    )
    return [OurTable("Gain by perplexity", about, columns, rows)]


def with_shared_bilms(curves: Sequence[GainCurve]) -> list[GainCurve]:
    """The curves with the points of those biLMs that all of them have."""
    names = [{point.model for point in curve.points} for curve in curves]
    shared = set[str].intersection(*names) if names else set[str]()
    return [replace(curve, points=tuple(one for one in curve.points if one.model in shared)) for curve in curves]


def mean_gain(curves: Sequence[GainCurve], model: str) -> Interval | None:
    """What a biLM brings over the worst, in the mean of several tasks, over the seeds that all of them have.

    None for a single task, and without the biLM. All curves must have the same biLMs (`with_shared_bilms`).
    """
    better = [(curve.points[0], point) for curve in curves for point in curve.points[1:] if point.model == model]
    if len(better) < 2:
        return None
    gains = [gains_by_seed(worst.elmo, point.elmo) for worst, point in better]
    seeds = set[int].intersection(*map(set[int], gains))
    means = [statistics.fmean(of_task[seed] for of_task in gains) for seed in sorted(seeds)]
    return paired_t(means) if means else None


REPRODUCTION = Reproduction("perplexity", PERPLEXITY, None, details, plan=plan)
