"""The eleven claims of the paper, each with a verdict computed from runs and results.

A claim held if every interval that it needs is above zero, did not hold if a difference with an interval has the wrong
sign, and is not measurable here if something is missing, or if the signs are right but an interval contains zero. Where
no interval is wholly below zero, the text of a claim that did not hold says so: the wrong sign may be chance. A claim
needs the tasks, texts or tables that it names.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from elmokit.files.json_fields import Fields
from elmokit.metrics.statistics import Interval, paired_t
from paper import ablations, figure1, table2, table3, table4, table5, table7
from paper.ablation import Ablation, Claim
from paper.bootstrap import RunNames, interval_of, item_records
from paper.plan import DATASETS, SIX_TASKS
from paper.printed import TABLE_7
from paper.results import read_results
from paper.runs import NOT_CONVERGED, ArmRuns, Evidence, Tested, gain_interval, gains_by_seed
from paper.system_results import SystemResult, difference, gain_name, read_system_results, share_gain
from paper.table1 import headlines
from paper.table6 import ENGLISH, KOREAN

Outcome = Literal["held", "did not hold", "not measurable here"]
Judge = Callable[[Evidence], tuple[Outcome, str]]
HELD: Outcome = "held"
DID_NOT_HOLD: Outcome = "did not hold"
NOT_MEASURABLE: Outcome = "not measurable here"
MAYBE_CHANCE = "no interval is wholly below zero"
NOT_COUNTED = "not counted"


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
    found, records = headlines(evidence), item_records(evidence.results)
    return judged([_test_gain(DATASETS[task].row, found.get(task), records) for task in SIX_TASKS])


def interval_and_kind(one: Tested, records: Mapping[RunNames, Fields]) -> tuple[Interval | None, str]:
    """The interval of a gain over test items, where it was measured of several seeds, or else over the seeds."""
    if len(one.elmo.runs) > 1 and one.names in records:
        return interval_of(records[one.names]), "test items"
    return gain_interval(one.none, one.elmo, test_set=one.test_set), "seeds"


def about_arms(evidence: Evidence, *, table: Ablation, claim: Claim) -> tuple[Outcome, str]:
    """A claim about arms of a table, on development sets."""
    found = {DATASETS[task].row: arms for task, (_, arms) in table.measured(evidence).items()}
    if not found:
        return NOT_MEASURABLE, "no runs"

    def findings(pairs: Mapping[str, Sequence[tuple[str, str]]]) -> list[Finding]:
        return [
            _dev_finding(f"{row}, {better} over {worse}", found[row].get(worse), found[row].get(better))
            for row, of_row in pairs.items()
            for better, worse in of_row
            if row in found
        ]

    missing = [Finding(row, None) for row in claim.pairs if row not in found]
    return judged([*findings(claim.pairs), *missing], uncounted=findings(claim.shown))


def about_layers(evidence: Evidence, *, tables: Sequence[str], better: str, worse: str) -> tuple[Outcome, str]:
    """A claim about two layers of each pretrained biLM, over the test items of tables."""
    found = [result for name in tables for result in read_system_results(evidence.results, name) if result.is_bilm]
    intervals = ((result, difference(result, worse, better)) for result in found)
    return judged(
        [
            Finding(f"{result.label}, {result.corpus}, {gain_name(worse, better)}:", interval)
            for result, interval in intervals
            if interval is not None
        ]
    )


def better_than_cove(evidence: Evidence) -> tuple[Outcome, str]:
    """Tables 5 and 6: the biLM's best layer above CoVe's best one."""
    findings: list[Finding] = []
    for name, what in ((table5.NAME, "senses"), (ENGLISH, "parts of speech")):
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
            findings.append(Finding(f"{what}, {cove.corpus}, {words}", share_gain(*hits)))
        if not pairs:
            findings.append(Finding(f"{what}, CoVe", None))
    return judged(findings)


def gain_shrinks_with_data(evidence: Evidence) -> tuple[Outcome, str]:
    """Figure 1: the gain is larger with the smallest training set than with the largest.

    Runs with equal numbers of epochs count only if none were trained until they got no better: a handful of updates
    teaches neither arm anything.
    """
    findings: list[Finding] = []
    curves = figure1.sample_curves(evidence)
    counted = [curve for curve in curves if curve.is_converged] or curves
    found = {curve.row for curve in counted}
    for curve in counted:
        few, most = curve.points[0], curve.points[-1]
        gains = [gains_by_seed(point.none, point.elmo) for point in (few, most)]
        shared = [seed for seed in gains[0] if seed in gains[1]]
        what = f"{curve.row}, gain with {few.num_examples:,} over that with {most.num_examples:,} examples:"
        findings.append(_finding(what, [gains[0][seed] - gains[1][seed] for seed in shared]))
    papers = ("SRL", "SNLI")  # the curves of figure 1
    return judged([*findings, *(Finding(row, None) for row in papers if row not in found)] if found else [])


def fine_tuning(evidence: Evidence) -> tuple[Outcome, str]:
    """Table 7: perplexity falls on every text, and SNLI gains."""
    records = read_results(evidence.results, table7.SCORES.name)
    falls = [
        f"{table7.row_of(record)} ({record.text('data')}) "
        f"{record.fields('before').number('mean'):.1f} to {record.fields('after').number('mean'):.1f}"
        for record in records
    ]
    missing = [row for row in TABLE_7.rows if row not in {table7.row_of(record) for record in records}]
    outcome, text = about_arms(evidence, table=table7.SCORES, claim=table7.FINE_TUNING)
    if outcome == HELD and missing:
        outcome = NOT_MEASURABLE
    if any(_falls_by(record) <= 0 for record in records):
        outcome = DID_NOT_HOLD
    perplexities = [*(f"perplexity of {fall}" for fall in falls), *(f"{row} not measured" for row in missing)]
    return outcome, "; ".join([*perplexities, text])


def _of_table(table: Ablation, claim: Claim) -> dict[str, Judge]:
    return {claim.text: partial(about_arms, table=table, claim=claim)}


CLAIMS: dict[str, Judge] = {
    "ELMo helps in all six tasks": helps_all_tasks,
    **_of_table(table2.TABLE, table2.LAYERS_IN_ORDER),
    **_of_table(table2.TABLE, table2.SMALL_LAMBDA),
    **_of_table(table3.TABLE, table3.PLACEMENT),
    "The first LSTM layer is better for syntax (part-of-speech tagging)": partial(
        about_layers, tables=(ENGLISH, KOREAN), better="layer 1", worse="layer 2"
    ),
    "The second LSTM layer is better for senses (word sense disambiguation)": partial(
        about_layers, tables=(table5.NAME,), better="layer 2", worse="layer 1"
    ),
    "The biLM is better than CoVe in both": better_than_cove,
    "The gain is largest with little training data": gain_shrinks_with_data,
    table7.FINE_TUNING.text: fine_tuning,
    **_of_table(ablations.GAMMA_TABLE, ablations.GAMMA_IS_NEEDED),
    "Vectors of a word in different senses differ, unlike static ones": partial(
        about_layers, tables=(table4.NAME,), better="layer 2", worse="layer 0"
    ),
}
"""The claims in the order of the paper's sections, each with the function that judges it."""


def _test_gain(row: str, one: Tested | None, records: Mapping[RunNames, Fields]) -> Finding:
    if one is None:
        return Finding(row, None)
    interval, over = interval_and_kind(one, records)
    return Finding(f"{row} ({one.measured_on}, over {over}):", interval, one.gain)


def _finding(what: str, differences: Sequence[float]) -> Finding:
    """The mean difference over seeds."""
    if not differences:
        return Finding(what, None)
    return Finding(what, paired_t(differences), statistics.fmean(differences))


def _dev_finding(what: str, worse: ArmRuns | None, better: ArmRuns | None) -> Finding:
    """The gain of one arm over another on the development set."""
    if worse is None or better is None:
        return Finding(what, None)
    unconverged = "" if worse.is_converged and better.is_converged else f", {NOT_CONVERGED}"
    return _finding(f"{what}{unconverged}:", list(gains_by_seed(worse, better).values()))


def _layers(result: SystemResult) -> list[str]:
    """The rows of a result that are single layers and have hits."""
    return [name for name in result.measured.hits if name.startswith("layer ")]


def _best_layer(result: SystemResult) -> str:
    """The layer that has most test items right."""
    return max(_layers(result), key=lambda name: result.measured.hits[name].count("1"))


def _in_words(result: SystemResult, row: str) -> str:
    """A layer by its place among the LSTM layers, since CoVe has no token layer before them: `first LSTM layer`."""
    paper = table5.papers_row(result, row)
    return row if paper is None else paper.rpartition(", ")[2].replace("layer", "LSTM layer")


def _falls_by(record: Fields) -> float:
    return record.fields("before").number("mean") - record.fields("after").number("mean")
