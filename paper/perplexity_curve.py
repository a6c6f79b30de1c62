"""What a better biLM brings: the gain of ELMo by the perplexity of the biLM, with `mini-en` as it was and as it is."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.formats.names import DEFAULT_MODEL
from elmokit.metrics.statistics import Interval, paired_t
from paper.models import CURVE_RESULTS
from paper.plan import CONVERGED, DATASETS, EARLIER, ELMO, Arm, PlannedRun, Setup
from paper.printed import PERPLEXITY
from paper.reproduction import OurTable, Reproduction, no_rows
from paper.results import read_results
from paper.runs import ArmRuns, Evidence, gain_text, gains_by_seed
from paper.table1 import PAIRS

TASKS = ("semantic-roles", "named-entities")
BASELINE = PAIRS[0].none
ARMS = {name: Arm(name, recipe=CONVERGED, vectors=name) for name in EARLIER} | {
    DEFAULT_MODEL: Arm(ELMO.name, recipe=CONVERGED)
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
    """On the test set, in points, over seeds."""


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
    return [run for task in TASKS for arm in (BASELINE, *ARMS.values()) for run in setup.runs(task, arm, tests=True)]


def gain_curves(evidence: Evidence) -> list[GainCurve]:
    """The curves with at least two biLMs whose perplexity was measured and that have two seeds."""
    measured = {one.text("model"): one.number("mean") for one in read_results(evidence.results, CURVE_RESULTS)}
    curves: list[GainCurve] = []
    for task in TASKS:
        baseline = evidence.arm(task, BASELINE)
        found = ((model, evidence.arm(task, arm)) for model, arm in ARMS.items() if model in measured)
        points: list[GainPoint] = []
        for model, elmo in found:
            gains = gains_by_seed(baseline, elmo, test_set=DATASETS[task].test_set) if baseline and elmo else {}
            if elmo is not None and (gain := paired_t(list(gains.values())) if gains else None) is not None:
                points.append(GainPoint(model, measured[model], elmo, gain))
        if baseline is not None and len(points) > 1:
            curves.append(GainCurve(task, baseline, tuple(points)))
    return curves


def details(evidence: Evidence) -> list[OurTable]:
    """A row for each task and biLM."""
    rows: dict[str, tuple[str, ...]] = {}
    for curve in gain_curves(evidence):
        row, test_set = DATASETS[curve.task].row, DATASETS[curve.task].test_set
        rows[f"{row}, no ELMo"] = ("", str(curve.baseline.score(test_set)), "", "")
        last: ArmRuns | None = None
        for point in curve.points:
            score = str(point.elmo.score(test_set))
            step = gain_text(last, point.elmo, test_set=test_set) or ""
            rows[f"{row}, {point.model}"] = (f"{point.perplexity:.1f}", score, str(point.gain), step)
            last = point.elmo
    columns = ("perplexity", "score", "gain over no ELMo", "over the biLM above")
    about = (
        "Perplexity of the held-out English text, mean of both directions; score on the test set in percent; gains in "
        "points, paired by seed, with their 95 % intervals (Student's t). Runs end when they get no better. All biLMs "
        "have the same sizes; text, number of tokens and optimiser differ."
    )
    return [OurTable("Gain by perplexity", about, columns, rows)]


READS = "runs of `elmokit train` with earlier weights of the biLM"
REPRODUCTION = Reproduction("perplexity", PERPLEXITY, no_rows, details, plan=plan, reads=READS)
