"""The eleven claims of the paper, each with a verdict computed from runs and results: a function for each claim.

A claim held if every interval that it needs is above zero, did not hold if a difference with an interval has the wrong
sign, and is not measurable here if something is missing, or if the signs are right but an interval contains zero.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from elmokit.metrics.interval import Interval, paired_bootstrap, paired_t
from elmokit.reproduce import figure1, gamma, table1, table2, table3, table7
from elmokit.reproduce.comparisons import comparisons_among
from elmokit.reproduce.families import dev_differences, families, read_task_runs, usual_runs
from elmokit.reproduce.results import read_results
from elmokit.reproduce.scales import TASK_DATA
from elmokit.reproduce.table1 import counterpart
from elmokit.runs.logged_runs import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from elmokit.reproduce.comparisons import Arm, Comparison
    from elmokit.reproduce.families import Family
    from elmokit.system.json_fields import Fields

    Outcome = Literal["held", "did not hold", "not measurable here"]

HELD: Outcome = "held"
DID_NOT_HOLD: Outcome = "did not hold"
NOT_MEASURABLE: Outcome = "not measurable here"


@dataclass(frozen=True)
class Evidence:
    """Where the verdicts come from."""

    runs: Sequence[Path]
    """Paths with runs of tasks."""
    results: Sequence[Path]
    """Paths with results.jsonl."""


@dataclass(frozen=True)
class Finding:
    """A difference that a claim says is positive; no interval if it was not measured, or of a single seed."""

    what: str
    interval: Interval | None
    estimate: float | None = None
    """The difference, where there is no interval."""

    def __str__(self) -> str:
        if self.interval is not None:
            return f"{self.what} {self.interval}"
        return f"{self.what} not measured" if self.estimate is None else f"{self.what} {self.estimate:+.2f} (one seed)"


@dataclass(frozen=True)
class Verdict:
    """A claim, whether it held, and the numbers that say so."""

    claim: str
    outcome: Outcome
    numbers: str


def verdicts(evidence: Evidence) -> list[Verdict]:
    """The verdicts on the eleven claims, in their order."""
    return [Verdict(claim, *judge(evidence)) for claim, judge in CLAIMS.items()]


def judged(findings: Sequence[Finding], *, needs: int = 1) -> tuple[Outcome, str]:
    """The outcome of differences that should all be positive, and their text; `needs` is how many there have to be."""
    text = "; ".join(map(str, findings)) or "no runs"
    intervals = [finding.interval for finding in findings if finding.interval is not None]
    if any(interval.estimate <= 0 for interval in intervals):
        return DID_NOT_HOLD, text
    if len(intervals) < max(needs, len(findings)) or any(interval.low <= 0 for interval in intervals):
        return NOT_MEASURABLE, text
    return HELD, text


def helps_all_tasks(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 1: the gain on the test set of each of the six tasks."""
    chosen = _largest_comparisons(evidence)
    findings = [
        _test_gain(chosen[task], evidence) if task in chosen else Finding(TASK_DATA[task].row, None)
        for task in TASK_DATA
    ]
    return judged(findings, needs=len(TASK_DATA))


def layers_in_order(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 2: all layers above the last, the last above none."""
    findings: list[Finding] = []
    for family in table2.measured(evidence.runs) if evidence.runs else []:
        none, top, mixed = family.baselines.get(()), family.arms.get(table2.TOP), family.arms.get(table2.SMALL)
        findings.append(_dev_finding(f"{family.row}, last over none:", none, top, family))
        findings.append(_dev_finding(f"{family.row}, all over last:", top, mixed, family))
    return judged(findings)


def small_lambda(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 2: lambda = 0.001 not below 1, except for named entities, where they are equal."""
    found = table2.measured(evidence.runs) if evidence.runs else []
    findings = [
        _dev_finding(
            f"{family.row}, 0.001 over 1:", family.arms.get(table2.LARGE), family.arms.get(table2.SMALL), family
        )
        for family in found
    ]
    outcome, _ = judged([one for one in findings if not one.what.startswith("NER")])
    return outcome, "; ".join(map(str, findings)) or "no runs"


def placement(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 3: both places best for SNLI and SQuAD, the input for SRL."""
    best = {"SNLI": "both", "SQuAD": "both", "SRL": "input"}
    counted: list[Finding] = []
    others: list[Finding] = []
    for family in table3.measured(evidence.runs) if evidence.runs else []:
        winner = best.get(family.row, "both")
        for position in table3.POSITIONS:
            if position != winner:
                arms = family.arms.get((position,)), family.arms.get((winner,))
                finding = _dev_finding(f"{family.row}, {winner} over {position}:", *arms, family)
                (counted if family.row in best else others).append(finding)
    outcome, _ = judged(counted)
    return outcome, "; ".join(map(str, [*counted, *others])) or "no runs"


def first_layer_for_syntax(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 6: the first LSTM layer above the second in part-of-speech tagging."""
    return judged(_layer_findings(evidence, "table6", better="layer 1", worse="layer 2"))


def second_layer_for_senses(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 5: the second LSTM layer above the first in word sense disambiguation."""
    return judged(_layer_findings(evidence, "table5", better="layer 2", worse="layer 1"))


def better_than_cove(evidence: Evidence) -> tuple[Outcome, str]:
    """Tables 5 and 6: the biLM's best layer above CoVe's."""
    findings: list[Finding] = []
    for name, layer in (("table5", "layer 2"), ("table6", "layer 1")):
        records = read_results(evidence.results, name)
        for cove in (record for record in records if "cove" in record.text("system").lower()):
            for bilm in records:
                if _is_bilm(bilm) and bilm.text("data") == cove.text("data"):
                    interval = _hits_interval((cove, _top_row(cove)), (bilm, layer))
                    findings.append(Finding(f"{name}, {bilm.text('system')} over {cove.text('system')}:", interval))
    outcome, text = judged(findings)
    return outcome, text if findings else "no vectors of CoVe have been measured"


def gain_shrinks_with_data(evidence: Evidence) -> tuple[Outcome, str]:
    """Figure 1: the gain is larger with the smallest training set than with the largest.

    Runs with equal numbers of epochs count only if none were trained until they got no better: a handful of updates
    teaches neither arm anything.
    """
    findings: list[Finding] = []
    curves = figure1.sample_curves(evidence.runs) if evidence.runs else []
    for curve in [curve for curve in curves if curve.is_converged] or curves:
        few, most = curve.points[0], curve.points[-1]
        gains = [_gain_by_seed(point.baseline, point.elmo, curve.metric) for point in (few, most)]
        shared = [seed for seed in gains[0] if seed in gains[1]]
        what = f"{curve.row}, gain with {few.num_examples:,} over that with {most.num_examples:,} examples:"
        findings.append(_finding(what, [gains[0][seed] - gains[1][seed] for seed in shared]))
    return judged(findings)


def fine_tuning(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 7: perplexity falls on every text, and SNLI gains."""
    records = read_results(evidence.results, table7.NAME)
    falls = [
        f"{table7.row_of(record)} "
        f"{record.fields('before').number('mean'):.1f} to {record.fields('after').number('mean'):.1f}"
        for record in records
    ]
    gains = [
        _dev_finding(f"{family.row}, score:", as_it_is, tuned, family)
        for family in (families(read_task_runs(evidence.runs), table7.VARY) if evidence.runs else [])
        for as_it_is, tuned in table7.tuned_pairs(family)
    ]
    rises = [record for record in records if _falls_by(record) <= 0]
    outcome, _ = judged([gain for gain in gains if gain.what.startswith("SNLI")])
    if rises:
        outcome = DID_NOT_HOLD
    return outcome, "; ".join([*(f"perplexity of {fall}" for fall in falls), *map(str, gains)]) or "no results"


def gamma_is_needed(evidence: Evidence) -> tuple[Outcome, str]:
    """Appendix A.2: without gamma, the last layer alone is worse."""
    learnt, fixed = ("top", True, False), ("top", False, False)
    findings = [
        _dev_finding(f"{family.row}, gamma learnt over 1:", family.arms.get(fixed), family.arms.get(learnt), family)
        for family in (gamma.ABLATION.measured(evidence.runs) if evidence.runs else [])
    ]
    return judged(findings)


def tells_senses_apart(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 4: the nearest other occurrence of a word has the same sense more often than static vectors tell."""
    return judged(_layer_findings(evidence, "table4", better="layer 2", worse="layer 0"))


CLAIMS: dict[str, Callable[[Evidence], tuple[Outcome, str]]] = {
    "ELMo helps in all six tasks": helps_all_tasks,
    "All layers are better than the last alone, and the last is better than none": layers_in_order,
    "A small lambda is not worse than a large one; named entities do not care": small_lambda,
    "ELMo at input and output is best for SNLI and SQuAD, at the input alone for SRL": placement,
    "The first LSTM layer is better for syntax (part-of-speech tagging)": first_layer_for_syntax,
    "The second LSTM layer is better for senses (word sense disambiguation)": second_layer_for_senses,
    "The biLM is better than CoVe in both": better_than_cove,
    "The gain is largest with little training data": gain_shrinks_with_data,
    "One epoch of fine-tuning lowers the biLM's perplexity, and SNLI gains": fine_tuning,
    "The scale gamma is needed": gamma_is_needed,
    "Vectors of a word in different senses differ, unlike static ones": tells_senses_apart,
}
"""The claims in the order of the paper's sections, each with the function that judges it."""


def _largest_comparisons(evidence: Evidence) -> dict[str, Comparison]:
    """For each task with a row in the paper's table 1, the comparison with most training examples and seeds.

    Of equals it is the one whose runs come last among those given, which has the newer model.
    """
    logged = usual_runs(read_runs(evidence.runs)) if evidence.runs else []
    place = {run.where: number for number, run in enumerate(logged)}
    found = comparisons_among(logged).comparisons
    chosen: dict[str, Comparison] = {}
    for one in sorted(
        found, key=lambda one: (one.elmo.runs[0].num_used, len(one.elmo.runs), place[one.elmo.runs[0].where])
    ):
        if any(counterpart(one, test_set) for test_set in one.test_sets):
            chosen[one.task] = one
    return chosen


def _test_gain(comparison: Comparison, evidence: Evidence) -> Finding:
    """The gain on the test set: over its items where they were measured, over the seeds otherwise."""
    run, test_set = comparison.elmo.runs[0], comparison.test_sets[0]
    what = f"{TASK_DATA[comparison.task].row} ({run.num_used:,} examples, {run.model}):"
    for fields in read_results(evidence.results, table1.NAME):
        if fields.texts("elmo") == [run.name for run in comparison.elmo.runs] and fields.text("test_set") == test_set:
            interval = fields.fields("interval")
            bounds = (interval.number(name, least=-math.inf) for name in ("estimate", "low", "high"))
            return Finding(what, Interval(*bounds))
    scores = [_by_seed(arm, comparison.metric, test_set) for arm in (comparison.baseline, comparison.elmo)]
    return _finding(what, [scores[1][seed] - scores[0][seed] for seed in scores[0] if seed in scores[1]])


def _by_seed(arm: Arm, metric: str, test_set: str | None) -> dict[int, float]:
    """The score of each run on a test file, or on the development set, by its seed."""
    scores: dict[int, float] = {}
    for run in arm.runs:
        assert run.result is not None, "arms are of ended runs"
        of_run = run.result.dev if test_set is None else run.result.test.get(test_set, {})
        if metric in of_run:
            scores[run.seed] = of_run[metric]
    return scores


def _gain_by_seed(baseline: Arm, elmo: Arm, metric: str) -> dict[int, float]:
    before, after = (_by_seed(arm, metric, None) for arm in (baseline, elmo))
    return {seed: after[seed] - before[seed] for seed in before if seed in after}


def _finding(what: str, differences: Sequence[float]) -> Finding:
    """The mean difference over seeds."""
    if not differences:
        return Finding(what, None)
    return Finding(what, paired_t(differences), statistics.fmean(differences))


def _dev_finding(what: str, first: Arm | None, second: Arm | None, family: Family) -> Finding:
    """The gain of the second arm over the first on the development set."""
    if first is None or second is None:
        return Finding(what, None)
    return _finding(what, dev_differences(first, second, family.metric))


def _layer_findings(evidence: Evidence, name: str, *, better: str, worse: str) -> list[Finding]:
    """How one row of each pretrained biLM compares with another over the test items of a table."""
    return [
        Finding(
            f"{record.text('system')} ({record.text('fingerprint')[:8]}), {record.text('data').partition(':')[0]}:",
            _hits_interval((record, worse), (record, better)),
        )
        for record in read_results(evidence.results, name)
        if _is_bilm(record) and {better, worse} <= set(record.fields("hits").names)
    ]


def _is_bilm(record: Fields) -> bool:
    """Whether a record is of a pretrained biLM: it has LSTM layers, and its weights are not random."""
    return "layer 1" in record.fields("rows") and not any(
        word in record.text("system").lower() for word in ("random", "cove")
    )


def _top_row(record: Fields) -> str:
    """The last row that is a single layer."""
    return max(name for name in record.fields("rows").names if name.startswith("layer "))


def _hits_interval(first: tuple[Fields, str], second: tuple[Fields, str]) -> Interval:
    """The gain of the second row over the first, in points, by paired bootstrap over the test items."""
    left, right = ([(float(hit), 1.0) for hit in record.fields("hits").text(row)] for record, row in (first, second))
    return paired_bootstrap([left], [right], score=lambda sums: 100 * sums[0] / sums[1])


def _falls_by(record: Fields) -> float:
    return record.fields("before").number("mean") - record.fields("after").number("mean")
