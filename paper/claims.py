"""The eleven claims of the paper (claims.toml), each with a verdict by rule.md, computed from the results."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from elmokit.runs.results_table import Result
from paper.experiments import CURVE_TASKS, DATASETS, MODEL, SHIPPED, SIX_TASKS
from paper.results import FOLDER, Results
from paper.statistics import (
    BASELINE,
    CONFIDENCE,
    Difference,
    Pair,
    best_pair,
    curve,
    gain_over_items,
    layer_gain,
    over_seeds,
    perplexity_fall,
    pooled,
    share,
)
from paper.tables import GAMMA, HALF_MILLION, layer_gains, printed

Outcome = Literal["held", "contradicted", "mixed", "undecided", "not measured"]
AFTER_RULE = "2026-11-28"
"""Date of the first runs of commit 9290dcb, which were read after the rule was written. Older runs have older dates."""


@dataclass(frozen=True)
class Finding:
    """A difference that is positive if a claim is right; None if it was not measured."""

    what: str
    difference: Difference | None
    was_improving: bool = False
    """Whether a run was still improving. Then the difference may only show faster learning, and decides nothing."""
    is_after_rule: bool = False
    """Whether all of its runs were read after the rule was written."""

    @property
    def has_error(self) -> bool:
        return self.difference is not None and self.difference.error > 0

    @property
    def counts(self) -> bool:
        return self.has_error and not self.was_improving

    def bounds(self, level: float = CONFIDENCE) -> tuple[float, float]:
        """The bounds of the interval. The difference must have an error."""
        interval = self.difference.interval(level) if self.difference else None
        assert interval is not None, "a claim is decided by what has an error"
        return interval.low, interval.high

    def __str__(self) -> str:
        reason = " (still improving)" if self.was_improving else ""
        if self.difference and not self.has_error:
            reason = " (no error)"
        return f"{self.what} {self.difference or 'not measured'}{reason}"


@dataclass(frozen=True)
class Comparison:
    """The same difference in several tasks, or of several models."""

    what: str
    findings: Sequence[Finding]
    is_pooled: bool = True
    """Whether to take a mean over the findings; they must be independent of each other."""

    @cached_property
    def pooled(self) -> Finding | None:
        """The random-effects mean; None if a finding does not count."""
        differences = [one.difference for one in self.findings if one.counts and one.difference]
        is_complete = self.is_pooled and len(differences) == len(self.findings)
        mean = pooled(differences) if is_complete else None
        is_after_rule = all(one.is_after_rule for one in self.findings)
        what = f"{self.what}, mean of {len(differences)} tasks"
        return mean and Finding(what, mean, is_after_rule=is_after_rule)

    @property
    def deciding_mean(self) -> Finding | None:
        """The mean, if its runs were read after the rule was written."""
        return self.pooled if self.pooled and self.pooled.is_after_rule else None

    @property
    def weakest(self) -> Finding:
        """The finding that decides: the mean or the least certain finding, whichever has the higher lower bound."""
        lowest = min(self.findings, key=lambda one: one.bounds()[0] if one.counts else -math.inf)
        mean = self.deciding_mean
        return mean if mean and (not lowest.counts or mean.bounds()[0] > lowest.bounds()[0]) else lowest

    @property
    def holds(self) -> bool:
        return self.weakest.counts and self.weakest.bounds()[0] > 0


Found = tuple[list[Comparison], list[str]]
"""The comparisons that decide a claim, and notes to show next to it."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper."""

    text: str
    how: str
    """How it is measured."""
    next: str
    """What would decide it, while it is open."""


@dataclass(frozen=True)
class Verdict:
    """A claim, the comparisons that judge it, and the finding that decides."""

    claim: Claim
    outcome: Outcome
    deciding: Finding | None
    comparisons: Sequence[Comparison]
    uncounted: Sequence[str]

    @property
    def said(self) -> str:
        """The outcome, and whether a mean of several tasks decides."""
        is_mean = self.deciding is not None and any(self.deciding == each.deciding_mean for each in self.comparisons)
        return f"{self.outcome} on average over the tasks" if is_mean else self.outcome

    @property
    def reason(self) -> str:
        """The finding that decides, or why there is none; without measurements, the next thing to do."""
        if self.outcome == "not measured" or self.deciding is None:
            return self.claim.next
        if self.deciding.counts:
            return str(self.deciding)
        improving = [one.was_improving for each in self.comparisons for one in each.findings]
        return f"nothing: in {sum(improving)} of {len(improving)} differences, runs were still improving"

    @property
    def detectable(self) -> float | None:
        """The smallest effect that the deciding difference could have shown; None if no difference decides."""
        if self.deciding is None or self.deciding.difference is None or not self.deciding.counts:
            return None
        return self.deciding.difference.detectable


def verdicts(results: Results) -> list[Verdict]:
    """The verdicts on the eleven claims, in their order."""
    return [judged(claim, *judge(results)) for claim, judge in zip(read_claims(), JUDGES, strict=True)]


def read_claims() -> list[Claim]:
    """The claims in the order of the paper's sections."""
    texts = tomllib.loads((FOLDER / "claims.toml").read_text(encoding="utf-8"))
    return [Claim(**own) for own in texts["claims"]]


def judged(claim: Claim, comparisons: Sequence[Comparison], uncounted: Sequence[str] = ()) -> Verdict:
    """The verdict on differences that should all be positive."""
    findings = [one for each in comparisons for one in each.findings]
    able = [one for one in findings if one.counts] + [each.deciding_mean for each in comparisons if each.deciding_mean]
    level = 1 - (1 - CONFIDENCE) / max(1, len(able))
    below = [one for one in able if one.bounds(level)[1] < 0]
    missing = [one for one in findings if not one.has_error]
    unsure = [each.weakest for each in comparisons if not each.holds]
    outcome: Outcome = "held"
    deciding = min((each.weakest for each in comparisons if each.holds), key=lambda one: one.bounds()[0], default=None)
    if below:
        outcome = "mixed" if any(one.bounds(level)[0] > 0 for one in able) else "contradicted"
        deciding = min(below, key=lambda one: one.bounds()[0])
    elif missing or not findings:
        outcome, deciding = "not measured", missing[0] if missing else None
    elif unsure:
        outcome, deciding = "undecided", min(unsure, key=lambda one: one.bounds()[1] if one.has_error else math.inf)
    return Verdict(claim, outcome, deciding, comparisons, uncounted)


def headline(results: Results, task: str, arm: str, model: str, recipe: str = "cpu-converged") -> Pair | None:
    """The pair that represents a task, on its test set."""
    return best_pair(*(results, "table1", arm), model=model, task=task, recipe=recipe, split=DATASETS[task].test_set)


def helps_all_tasks(results: Results) -> Found:
    """Table 1: the gain on the test set of each of the six tasks."""
    found = {model: [headline(results, task, "+ ELMo", model) for task in SIX_TASKS] for model in (SHIPPED, MODEL)}
    model = SHIPPED if all(found[SHIPPED]) else MODEL
    findings = [
        _finding(f"{model}, {DATASETS[task].row}", pair) for task, pair in zip(SIX_TASKS, found[model], strict=True)
    ]
    return [Comparison(f"{model}, + ELMo over {BASELINE}", findings)], []


Contrast = Mapping[str, tuple[str, str]]
"""By data set, two arms. The first should be better."""


def about_arms(
    results: Results, *, table: str, contrasts: Mapping[str, Contrast], shown: Contrast | None = None
) -> Found:
    """A claim about arms of a table, on development sets."""

    def findings(contrast: Contrast, model: str) -> list[Finding]:
        recipe = "cpu-converged" if model == SHIPPED else "cpu"
        return [
            _finding(
                f"{model}, {DATASETS[task].row}, {better} over {worse}",
                best_pair(results, table, better, worse, model=model, task=task, recipe=recipe, split="dev"),
            )
            for task, (better, worse) in contrast.items()
        ]

    of_shipped = [findings(contrast, SHIPPED) for contrast in contrasts.values()]
    is_complete = all(one.difference for of_contrast in of_shipped for one in of_contrast)
    model = SHIPPED if is_complete else MODEL
    found = of_shipped if is_complete else [findings(contrast, MODEL) for contrast in contrasts.values()]
    counted = [Comparison(f"{model}, {what}", of_one) for what, of_one in zip(contrasts, found, strict=True)]
    return counted, [str(one) for one in findings(shown or {}, MODEL)]


def about_layers(results: Results, *, table: str, better: str, worse: str, shown: Sequence[str] = ()) -> Found:
    """A claim about two layers: each of the package's biLMs by itself, on each corpus."""
    split = {"table4": "", "table5": "ALL"}.get(table, "test")
    counted: list[Finding] = []
    uncounted: list[str] = []
    for name in (table, *shown):
        for data in dict.fromkeys(row.data for row in results.select(name)):
            for model in (SHIPPED, MODEL) if name == table else ():
                rows = results.select(name, data=data, model=model, layer=better)
                gain = layer_gain(results, rows[0], better, worse) if rows else None
                counted.append(Finding(f"{model}, {data}, {better} over {worse}", gain))
            for system, _, layers, gain_text in layer_gains(results, name, data, [(better, worse)], split=split):
                if system == HALF_MILLION or system.endswith("random weights") or name in shown:
                    uncounted.append(f"{system}, {data}, {layers} {gain_text}")
    return [Comparison(f"{better} over {worse}", counted, is_pooled=False)], uncounted


def better_than_cove(results: Results) -> Found:
    """Tables 5 and 6: the biLM's best layer above the published CoVe's. Our CoVe has read too little to count.

    The development data choose the best layer; for senses they are SemEval-2007.
    """
    counted: list[Finding] = []
    uncounted: list[str] = []
    for table, what, dev in (("table5", "senses", "semeval2007"), ("table6", "parts of speech", "dev")):
        best: dict[tuple[str, str], Result] = {}
        for row in results.select(table, split=dev):
            if row.layer.startswith("layer"):
                key = row.data, row.model
                best[key] = max(best.get(key, row), row, key=lambda row: row.value)
        coves = [row for row in best.values() if row.model.startswith("cove, ")]
        bilms = [row for row in best.values() if row.model in (SHIPPED, MODEL)]
        for cove, bilm in ((cove, bilm) for cove in coves for bilm in bilms if cove.data == bilm.data):
            gain = gain_over_items(results.probe_items(cove), results.probe_items(bilm), share)
            compared = f"{bilm.model}, {bilm.layer} over {cove.model}, {cove.layer}"
            finding = Finding(f"{what}, {cove.data}, {compared}", gain)
            if gain and PUBLISHED_COVE in cove.model:
                counted.append(finding)
            elif gain:
                uncounted.append(str(finding))
        if not any(one.what.startswith(what) for one in counted):
            counted.append(Finding(f"{what}, the published CoVe", None))
    return [Comparison("biLM over CoVe", counted, is_pooled=False)], uncounted


PUBLISHED_COVE = "wmtlstm-8f474287"
"""Name of the file that McCann et al. (2017) published; the name of a system that reads it contains this."""


def gain_shrinks_with_data(results: Results) -> Found:
    """Figure 1: the slope of the gain over the logarithm of the number of training examples is negative.

    The slopes without the smallest size are shown, because the baseline is often near zero there.
    """
    points = {
        model: {task: _above_chance(curve(results, task, model, "cpu-converged")) for task in CURVE_TASKS}
        for model in (SHIPPED, MODEL)
    }
    slopes = {model: {task: _slope(task, model, own) for task, own in points[model].items()} for model in points}
    counted = ("semantic-roles", "entailment")  # the curves of the paper's figure
    model = SHIPPED if all(slopes[SHIPPED][task].difference for task in counted) else MODEL
    shown = [str(slope) for task, slope in slopes[model].items() if task not in counted]
    for task in counted:
        without_smallest = dict(list(points[model][task].items())[1:])
        shown.append(str(_slope(task, model, without_smallest)))
    findings = [slopes[model][task] for task in counted]
    return [Comparison(f"{model}, gain lost per tenfold data", findings)], shown


def fine_tuning(results: Results) -> Found:
    """Table 7: perplexity falls on every text, and SNLI gains."""
    falls: list[Finding] = []
    texts = list(printed()["table7"]["rows"])
    rows = results.select("table7", metric="perplexity", layer="mean")
    found = {(row.model, row.data, row.arm): row for row in rows}
    is_complete = all((SHIPPED, text, arm) in found for text in texts for arm in ("before", "after"))
    model = SHIPPED if is_complete else MODEL
    for text in texts:
        before, after = (found.get((model, text, arm)) for arm in ("before", "after"))
        if before is None or after is None:
            falls.append(Finding(f"{model}, {text}, fall of perplexity", None))
            continue
        fall = gain_over_items(results.run_items(before), results.run_items(after), perplexity_fall)
        what = f"{model}, {text}, perplexity {before.value:.1f} to {after.value:.1f}, fall"
        falls.append(Finding(what, fall or Difference(before.value - after.value)))
    tuned = ("fine-tuned", "not fine-tuned")
    others: dict[str, tuple[str, str]] = dict.fromkeys(
        ("named-entities", "semantic-roles", "question-answering", "sentiment"), tuned
    )
    of_snli, shown = about_arms(results, table="table7", contrasts={"SNLI": {"entailment": tuned}}, shown=others)
    return [Comparison("fall of perplexity", falls, is_pooled=False), *of_snli], shown


def _finding(what: str, pair: Pair | None) -> Finding:
    return Finding(what, pair.gain, pair.was_improving, _is_after_rule([pair])) if pair else Finding(what, None)


def _is_after_rule(compared: Iterable[Pair]) -> bool:
    rows = (row for pair in compared for row in (*pair.baseline.rows, *pair.arm.rows))
    return all(row.settings.get("date", "") >= AFTER_RULE for row in rows)


def _above_chance(points: Mapping[int, Pair]) -> dict[int, Pair]:
    """The sizes at which the interval of the baseline over its seeds is above chance."""
    found: dict[int, Pair] = {}
    for size, one in points.items():
        scores = over_seeds(list(one.baseline.scores.values()))
        interval = scores.interval() if scores else None
        if interval is not None and interval.low > DATASETS[one.where.task].chance:
            found[size] = one
    return found


def _slope(task: str, model: str, points: Mapping[int, Pair]) -> Finding:
    """The gain lost with ten times the data, by seed."""
    sizes = f" ({min(points):,} to {max(points):,} examples)" if points else ""
    what = f"{model}, {DATASETS[task].row}, gain lost per tenfold data{sizes}"
    of_each = [set(one.gains) for one in points.values()]
    seeds = of_each[0].intersection(*of_each[1:]) if len(of_each) > 1 else set[int | None]()
    logs = [math.log10(size) for size in points]
    slopes = [statistics.linear_regression(logs, [one.gains[seed] for one in points.values()]).slope for seed in seeds]
    was_improving = any(one.was_improving for one in points.values())
    return Finding(what, over_seeds([-slope for slope in slopes]), was_improving, _is_after_rule(points.values()))


def _all(tasks: Iterable[str], better: str, worse: str) -> Contrast:
    return dict.fromkeys(tasks, (better, worse))


_PAPERS_TASKS = ("semantic-roles", "entailment", "question-answering")
_LAST, _MIX = ("last layer", BASELINE), ("lambda=0.001", "last layer")
_BOTH_TASKS, _INPUT_TASKS = ("entailment", "question-answering"), ("semantic-roles", "coreference")
JUDGES: tuple[Callable[[Results], Found], ...] = (
    helps_all_tasks,
    partial(
        about_arms,
        table="table2",
        contrasts={
            "last layer over none": _all(_PAPERS_TASKS, *_LAST),
            "all layers over the last": _all(_PAPERS_TASKS, *_MIX),
        },
        shown=_all(["named-entities"], *_LAST),
    ),
    partial(
        about_arms,
        table="table2",
        contrasts={"lambda=0.001 over 1": _all(_PAPERS_TASKS, "lambda=0.001", "lambda=1.0")},
        shown=_all(["named-entities"], "lambda=0.001", "lambda=1.0"),
    ),
    partial(
        about_arms,
        table="table3",
        contrasts={
            "the paper's position over the other of input and both": {
                **_all(_INPUT_TASKS, "input", "both"),
                **_all(_BOTH_TASKS, "both", "input"),
            },
            "the paper's position over the output": {
                **_all(_INPUT_TASKS, "input", "output"),
                **_all(_BOTH_TASKS, "both", "output"),
            },
        },
        shown=_all(["sentiment"], "both", "input"),
    ),
    partial(about_layers, table="table6", shown=("table6-ko",), better="layer 1", worse="layer 2"),
    partial(about_layers, table="table5", better="layer 2", worse="layer 1"),
    better_than_cove,
    gain_shrinks_with_data,
    fine_tuning,
    partial(
        about_arms,
        table="gamma",
        contrasts={"top layer, gamma learnt over 1": _all(("semantic-roles", "entailment"), *GAMMA[0])},
        shown=_all(["named-entities"], *GAMMA[0]),
    ),
    partial(about_layers, table="table4", better="layer 2", worse="layer 0"),
)
"""The functions that judge the claims, in the order of claims.toml."""
