"""The eleven claims of the paper, each with a verdict computed from runs and results: a function for each claim.

A claim held if every interval that it needs is above zero, did not hold if a difference with an interval has the wrong
sign, and is not measurable here if something is missing, or if the signs are right but an interval contains zero. Where
no interval is wholly below zero, the text of a claim that did not hold says so: the wrong sign may be chance. A claim
needs the tasks, texts or tables that it names; of several sizes of a task's training set, the largest counts.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from elmokit.metrics.interval import Interval, paired_t
from elmokit.tasks.task_runs import unusual_settings
from paper import figure1, gamma, table2, table3, table4, table7
from paper.comparisons import NOT_CONVERGED
from paper.families import families, gains_by_seed, largest_families, read_task_runs
from paper.printed import TABLE_2, TABLE_7
from paper.results import read_results
from paper.scales import TASK_DATA
from paper.system_results import difference, gain_name, read_system_results, share_gain
from paper.table5 import papers_row
from paper.task_gains import task_gains

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from elmokit.files.json_fields import Fields
    from paper.comparisons import Arm
    from paper.families import Family
    from paper.system_results import SystemResult
    from paper.task_gains import TaskGain

    Outcome = Literal["held", "did not hold", "not measurable here"]

HELD: Outcome = "held"
DID_NOT_HOLD: Outcome = "did not hold"
NOT_MEASURABLE: Outcome = "not measurable here"
MAYBE_CHANCE = "no interval is wholly below zero"
NOT_COUNTED = "not counted"


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


def judged(findings: Sequence[Finding], *, uncounted: Sequence[Finding] = ()) -> tuple[Outcome, str]:
    """The outcome of differences that should all be positive, and their text.

    uncounted: what is at the end of the text and does not count.
    """
    said = [*map(str, findings)]
    intervals = [finding.interval for finding in findings if finding.interval is not None]
    if any(interval.estimate <= 0 for interval in intervals):
        outcome = DID_NOT_HOLD
        said += [] if any(interval.high < 0 for interval in intervals) else [MAYBE_CHANCE]
    elif len(intervals) < max(1, len(findings)) or any(interval.low <= 0 for interval in intervals):
        outcome = NOT_MEASURABLE
    else:
        outcome = HELD
    if uncounted:
        said.append(f"{NOT_COUNTED}: {'; '.join(map(str, uncounted))}")
    return outcome, "; ".join(said) or "no runs"


def helps_all_tasks(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 1: the gain on the test set of each of the six tasks."""
    gains = task_gains(evidence.runs, evidence.results)
    return judged([_test_gain(task, gains.get(task)) for task in TASK_DATA])


def layers_in_order(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 2: all layers above the last, the last above none, in the tasks that the paper's table has."""

    def findings(family: Family) -> list[Finding]:
        none, top, mixed = family.baselines.get(()), family.arms.get(table2.TOP), family.arms.get(table2.SMALL)
        return [
            _dev_finding(f"{family.row}, last over none", none, top, family),
            _dev_finding(f"{family.row}, all over last", top, mixed, family),
        ]

    return _judged_by_task(_largest(table2.measured, evidence), findings, needs=tuple(TABLE_2.rows))


def small_lambda(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 2: lambda = 0.001 above 1 in the tasks that the paper's table has; named entities are shown only."""

    def findings(family: Family) -> list[Finding]:
        arms = family.arms.get(table2.LARGE), family.arms.get(table2.SMALL)
        return [_dev_finding(f"{family.row}, 0.001 over 1", *arms, family)]

    return _judged_by_task(_largest(table2.measured, evidence), findings, needs=tuple(TABLE_2.rows))


def placement(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 3: both places best for SNLI and SQuAD, the input for SRL and coreference."""
    best = {"SNLI": "both", "SQuAD": "both", "SRL": "input", "Coref": "input"}

    def findings(family: Family) -> list[Finding]:
        winner = best.get(family.row, "both")
        return [
            _dev_finding(
                f"{family.row}, {winner} over {position}",
                family.arms.get((position,)),
                family.arms.get((winner,)),
                family,
            )
            for position in table3.POSITIONS
            if position != winner
        ]

    return _judged_by_task(_largest(table3.measured, evidence), findings, needs=tuple(best))


def first_layer_for_syntax(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 6: the first LSTM layer above the second in part-of-speech tagging."""
    return judged(_layer_findings(evidence, "table6", better="layer 1", worse="layer 2"))


def second_layer_for_senses(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 5: the second LSTM layer above the first in word sense disambiguation."""
    return judged(_layer_findings(evidence, "table5", better="layer 2", worse="layer 1"))


def better_than_cove(evidence: Evidence) -> tuple[Outcome, str]:
    """Tables 5 and 6: the biLM's best layer above CoVe's best one."""
    findings: list[Finding] = []
    for name, what in (("table5", "senses"), ("table6", "parts of speech")):
        results = [result for result in read_system_results(evidence.results, name) if _layers(result)]
        pairs = [
            (cove, bilm)
            for cove in results
            for bilm in results
            if "cove" in cove.system.lower() and bilm.is_bilm and bilm.data == cove.data
        ]
        for cove, bilm in pairs:
            first, second = map(_best_layer, (cove, bilm))
            words = f"{bilm.label}, {_in_words(bilm, second)}, over {cove.label}, {_in_words(cove, first)}:"
            hits = (map(float, each) for each in (cove.measured.hits[first], bilm.measured.hits[second]))
            findings.append(Finding(f"{what}, {cove.data.partition(':')[0]}, {words}", share_gain(*hits)))
        if not pairs:
            findings.append(Finding(f"{what}, CoVe", None))
    return judged(findings)


def gain_shrinks_with_data(evidence: Evidence) -> tuple[Outcome, str]:
    """Figure 1: the gain is larger with the smallest training set than with the largest.

    Runs with equal numbers of epochs count only if none were trained until they got no better: a handful of updates
    teaches neither arm anything.
    """
    findings: list[Finding] = []
    curves = figure1.sample_curves(evidence.runs) if evidence.runs else []
    counted = [curve for curve in curves if curve.is_converged] or curves
    found = {curve.row for curve in counted}
    for curve in counted:
        few, most = curve.points[0], curve.points[-1]
        gains = [gains_by_seed(point.baseline, point.elmo, curve.metric) for point in (few, most)]
        shared = [seed for seed in gains[0] if seed in gains[1]]
        what = f"{curve.row}, gain with {few.num_examples:,} over that with {most.num_examples:,} examples:"
        findings.append(_finding(what, [gains[0][seed] - gains[1][seed] for seed in shared]))
    papers = ("SRL", "SNLI")  # the curves of figure 1
    return judged([*findings, *(Finding(row, None) for row in papers if row not in found)] if found else [])


def fine_tuning(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 7: perplexity falls on every text, and SNLI gains."""
    records = read_results(evidence.results, table7.NAME)
    falls = [
        f"{table7.row_of(record)} ({record.text('data')}) "
        f"{record.fields('before').number('mean'):.1f} to {record.fields('after').number('mean'):.1f}"
        for record in records
    ]
    missing = [row for row in TABLE_7.rows if row not in {table7.row_of(record) for record in records}]

    def gains(family: Family) -> list[Finding]:
        pairs = table7.tuned_pairs(family)
        return [_dev_finding(f"{family.row}, score", as_it_is, tuned, family) for as_it_is, tuned in pairs]

    outcome, text = _judged_by_task(_largest(_tuned_families, evidence), gains, needs=("SNLI",))
    if outcome == HELD and missing:
        outcome = NOT_MEASURABLE
    if any(_falls_by(record) <= 0 for record in records):
        outcome = DID_NOT_HOLD
    perplexities = [*(f"perplexity of {fall}" for fall in falls), *(f"{row} not measured" for row in missing)]
    return outcome, "; ".join([*perplexities, text])


def gamma_is_needed(evidence: Evidence) -> tuple[Outcome, str]:
    """Appendix A.2: without gamma, the last layer alone is worse."""
    learnt, fixed = ("top", True, False), ("top", False, False)

    def findings(family: Family) -> list[Finding]:
        arms = family.arms.get(fixed), family.arms.get(learnt)
        return [_dev_finding(f"{family.row}, gamma learnt over 1", *arms, family)]

    return _judged_by_task(_largest(gamma.ABLATION.measured, evidence), findings, needs=("SRL", "SNLI"))


def tells_senses_apart(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 4: the nearest other occurrence of a word has the same sense more often than static vectors tell."""
    return judged(_layer_findings(evidence, table4.NAME, better="layer 2", worse="layer 0"))


CLAIMS: dict[str, Callable[[Evidence], tuple[Outcome, str]]] = {
    "ELMo helps in all six tasks": helps_all_tasks,
    "All layers are better than the last alone, and the last is better than none": layers_in_order,
    "A small lambda is better than a large one, except for named entities": small_lambda,
    "ELMo at input and output is best for SNLI and SQuAD, at the input alone for SRL and coreference": placement,
    "The first LSTM layer is better for syntax (part-of-speech tagging)": first_layer_for_syntax,
    "The second LSTM layer is better for senses (word sense disambiguation)": second_layer_for_senses,
    "The biLM is better than CoVe in both": better_than_cove,
    "The gain is largest with little training data": gain_shrinks_with_data,
    "One epoch of fine-tuning lowers the biLM's perplexity, and SNLI gains": fine_tuning,
    "The scale gamma is needed": gamma_is_needed,
    "Vectors of a word in different senses differ, unlike static ones": tells_senses_apart,
}
"""The claims in the order of the paper's sections, each with the function that judges it."""


def _test_gain(task: str, gain: TaskGain | None) -> Finding:
    row = TASK_DATA[task].row
    if gain is None:
        return Finding(row, None)
    run = gain.paired.elmo.runs[0]
    unconverged = () if gain.paired.is_converged else (NOT_CONVERGED,)
    named = ", ".join((f"{run.num_used:,} examples", run.model, *unusual_settings(run), *unconverged))
    return Finding(f"{row} ({named}, over {gain.over}):", gain.interval, gain.points)


def _largest(measured: Callable[[Sequence[Path]], list[Family]], evidence: Evidence) -> list[Family]:
    """The families of a table, for each task the one with most training examples."""
    return largest_families(measured(evidence.runs)) if evidence.runs else []


def _judged_by_task(
    found: Sequence[Family], findings: Callable[[Family], list[Finding]], *, needs: Sequence[str]
) -> tuple[Outcome, str]:
    """The outcome of the families' findings; `needs` has the rows of the tasks that count, and have to be there."""
    if not found:
        return NOT_MEASURABLE, "no runs"
    counted = [one for family in found if family.row in needs for one in findings(family)]
    missing = [Finding(row, None) for row in needs if row not in {family.row for family in found}]
    uncounted = [one for family in found if family.row not in needs for one in findings(family)]
    return judged([*counted, *missing], uncounted=uncounted)


def _tuned_families(paths: Sequence[Path]) -> list[Family]:
    """Those with a biLM as it is and a fine-tuned one."""
    return [family for family in families(read_task_runs(paths), table7.VARY) if table7.tuned_pairs(family)]


def _finding(what: str, differences: Sequence[float]) -> Finding:
    """The mean difference over seeds."""
    if not differences:
        return Finding(what, None)
    return Finding(what, paired_t(differences), statistics.fmean(differences))


def _dev_finding(what: str, first: Arm | None, second: Arm | None, family: Family) -> Finding:
    """The gain of the second arm over the first on the development set."""
    if first is None or second is None:
        return Finding(what, None)
    unconverged = "" if first.is_converged and second.is_converged else f", {NOT_CONVERGED}"
    return _finding(f"{what}{unconverged}:", list(gains_by_seed(first, second, family.metric).values()))


def _layer_findings(evidence: Evidence, name: str, *, better: str, worse: str) -> list[Finding]:
    """How one row of each pretrained biLM compares with another over the test items of a table."""
    return [
        Finding(f"{result.label}, {result.data.partition(':')[0]}, {gain_name(worse, better)}:", interval)
        for result in read_system_results(evidence.results, name)
        if result.is_bilm and (interval := difference(result, worse, better)) is not None
    ]


def _layers(result: SystemResult) -> list[str]:
    """The rows of a result that are single layers and have hits."""
    return [name for name in result.measured.hits if name.startswith("layer ")]


def _best_layer(result: SystemResult) -> str:
    """The layer that has most test items right."""
    return max(_layers(result), key=lambda name: result.measured.hits[name].count("1"))


def _in_words(result: SystemResult, row: str) -> str:
    """A layer by its place among the LSTM layers, since CoVe has no token layer before them: `first LSTM layer`."""
    paper = papers_row(result, row)
    return row if paper is None else paper.rpartition(", ")[2].replace("layer", "LSTM layer")


def _falls_by(record: Fields) -> float:
    return record.fields("before").number("mean") - record.fields("after").number("mean")
