"""The eleven claims of the paper, each with a verdict computed from runs and results (`judged` has the rule)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from elmokit.metrics.statistics import CONFIDENCE, Interval
from paper import ablations, figure1, table2, table3, table4, table5, table7
from paper.ablation import Ablation, Claim, Pairs
from paper.bootstrap import item_records
from paper.differences import Difference, over_items, over_models, over_seeds
from paper.plan import DATASETS, SIX_TASKS
from paper.printed import TABLE_7
from paper.results import read_results
from paper.runs import NOT_CONVERGED, Evidence, gains_by_seed
from paper.systems import RANDOM_WEIGHTS, SystemResult, difference, gain_name, read_system_results, share_gain
from paper.table1 import difference_on_test, headlines
from paper.table6 import ENGLISH, KOREAN

Outcome = Literal["held", "contradicted", "undecided", "not measured"]
Findings = tuple[Sequence["Finding"], Sequence["Finding"]]
"""Differences that a claim says are positive, and others that are shown and do not count."""
Judge = Callable[[Evidence], Findings]
PUBLISHED_COVE = "wmtlstm-8f474287"
"""The file that McCann et al. (2017) published, in the name of a system that reads it."""


@dataclass(frozen=True)
class Finding:
    """A difference that a claim says is positive; None if it was not measured, or of a single seed."""

    what: str
    difference: Difference | None
    is_converged: bool = True
    """Whether its runs had stopped improving; if not, it may show faster learning alone, and decides nothing."""

    def __str__(self) -> str:
        unconverged = "" if self.is_converged or not self.difference else f" ({NOT_CONVERGED})"
        return f"{self.what} {self.difference or 'not measured'}{unconverged}"

    @property
    def interval(self) -> Interval:
        """The 95 % interval of one that was measured."""
        assert self.difference is not None, "a claim is decided by what was measured"
        return self.difference.interval()


@dataclass(frozen=True)
class Verdict:
    """A claim, what its findings say, and the one that decides."""

    claim: str
    outcome: Outcome
    deciding: Finding | None
    """Held: the difference that is nearest to zero; else the one that speaks most against it. None without runs."""
    findings: Sequence[Finding]
    uncounted: Sequence[Finding]


def verdicts(evidence: Evidence) -> list[Verdict]:
    """The verdicts on the eleven claims, in their order."""
    return [judged(claim, *judge(evidence)) for claim, judge in CLAIMS.items()]


def judged(claim: str, findings: Sequence[Finding], uncounted: Sequence[Finding] = ()) -> Verdict:
    """The verdict on differences that should all be positive, by a rule that treats both signs alike.

    Held: the 95 % intervals of all lie above zero. Contradicted: one lies wholly below zero, its level divided by the
    number of differences. Not measured: one is missing or of a single seed. Undecided: everything else.
    """
    level = 1 - (1 - CONFIDENCE) / max(1, len(findings))
    below = [one for one in findings if one.is_converged and one.difference and one.difference.interval(level).high < 0]
    missing = [one for one in findings if one.difference is None]
    open_ones = [one for one in findings if one.difference and not (one.is_converged and one.interval.low > 0)]
    if below:
        return Verdict(claim, "contradicted", min(below, key=lambda one: one.interval.low), findings, uncounted)
    if missing or not findings:
        return Verdict(claim, "not measured", missing[0] if missing else None, findings, uncounted)
    if open_ones:
        return Verdict(claim, "undecided", min(open_ones, key=lambda one: one.interval.high), findings, uncounted)
    return Verdict(claim, "held", min(findings, key=lambda one: one.interval.low), findings, uncounted)


def helps_all_tasks(evidence: Evidence) -> Findings:
    """Table 1: the gain on the test set of each of the six tasks."""
    found, records = headlines(evidence), item_records(evidence.results)
    findings: list[Finding] = []
    for task in SIX_TASKS:
        one = found.get(task)
        gain = one and difference_on_test(one, records)
        is_converged = one is None or (one.none.is_converged and one.elmo.is_converged)
        findings.append(Finding(DATASETS[task].row, gain, is_converged))
    return findings, []


def about_arms(evidence: Evidence, *, table: Ablation, claim: Claim) -> Findings:
    """A claim about arms of a table, on development sets."""
    found = {DATASETS[task].row: arms for task, (_, arms) in table.measured(evidence).items()}

    def findings(pairs: Mapping[str, Pairs]) -> list[Finding]:
        findings: list[Finding] = []
        for row, (better, worse) in ((row, pair) for row, of_row in pairs.items() if row in found for pair in of_row):
            arms = [found[row].get(name) for name in (worse, better)]
            gain = over_seeds(list(gains_by_seed(*arms).values()))
            is_converged = all(arm.is_converged for arm in arms if arm)
            findings.append(Finding(f"{row}, {better} over {worse}", gain, is_converged))
        return findings

    missing = [Finding(row, None) for row in claim.pairs if row not in found]
    return [*findings(claim.pairs), *missing], findings(claim.shown)


def about_layers(
    evidence: Evidence, *, tables: Sequence[str], better: str, worse: str, shown: Sequence[str] = ()
) -> Findings:
    """A claim about two layers, over pretrained biLMs and test items together: one biLM could be an exception.

    Each biLM and its random weights are shown and do not count by themselves, nor do the tables in `shown`.
    """
    gains: dict[str, dict[str, Difference]] = {}  # by corpus and fingerprint: a biLM of two names counts once
    uncounted: list[Finding] = []
    for name in (*tables, *shown):
        for result in read_system_results(evidence.results, name):
            is_random = result.system.endswith(RANDOM_WEIGHTS)
            interval = difference(result, worse, better) if result.is_bilm or is_random else None
            if interval is None:
                continue
            gain = over_items(interval)
            uncounted.append(Finding(f"{result.label}, {result.corpus}, {gain_name(worse, better)}", gain))
            if result.is_bilm and name in tables:
                gains.setdefault(result.corpus, {})[result.fingerprint] = gain
    counted = [
        Finding(f"{corpus}, {gain_name(worse, better)}, {len(of_bilms)} biLMs", over_models(list(of_bilms.values())))
        for corpus, of_bilms in gains.items()
    ]
    return counted, uncounted


def better_than_cove(evidence: Evidence) -> Findings:
    """Tables 5 and 6: the biLM's best layer above that of the published CoVe; ours has read too little to count."""
    counted: list[Finding] = []
    uncounted: list[Finding] = []
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
            words = f"{bilm.label}, {_in_words(bilm, second)}, over {cove.label}, {_in_words(cove, first)}"
            hits = (map(float, each) for each in (cove.measured.hits[first], bilm.measured.hits[second]))
            findings = counted if PUBLISHED_COVE in cove.system else uncounted
            findings.append(Finding(f"{what}, {cove.corpus}, {words}", over_items(share_gain(*hits))))
        if not any(PUBLISHED_COVE in cove.system for cove, _ in pairs):
            counted.append(Finding(f"{what}, the published CoVe", None))
    return counted, uncounted


def gain_shrinks_with_data(evidence: Evidence) -> Findings:
    """Figure 1: the gain is larger with the smallest training set than with the largest."""
    findings: dict[str, Finding] = {}
    for curve in figure1.headlines(evidence):
        few, most = curve.points[0], curve.points[-1]
        gains = [gains_by_seed(point.none, point.elmo) for point in (few, most)]
        shrinks = over_seeds([gains[0][seed] - gains[1][seed] for seed in gains[0] if seed in gains[1]])
        what = f"{curve.row}, gain with {few.num_examples:,} over that with {most.num_examples:,} examples"
        arms = (arm for point in (few, most) for arm in (point.none, point.elmo))
        findings[curve.row] = Finding(what, shrinks, all(arm.is_converged for arm in arms))
    counted = [findings.pop(row, Finding(row, None)) for row in ("SRL", "SNLI")]  # the curves of the paper's figure
    return counted, list(findings.values())


def fine_tuning(evidence: Evidence) -> Findings:
    """Table 7: perplexity falls on every text, and SNLI gains."""
    records = {table7.row_of(record): record for record in read_results(evidence.results, table7.SCORES.name)}
    falls = [Finding(f"{row}, perplexity", None) for row in TABLE_7.rows if row not in records]
    for row, record in records.items():
        before, after = (record.fields(when).number("mean") for when in ("before", "after"))
        what = f"{row} ({record.text('data')}), perplexity {before:.1f} to {after:.1f}, fall"
        falls.append(Finding(what, Difference(before - after)))
    counted, shown = about_arms(evidence, table=table7.SCORES, claim=table7.FINE_TUNING)
    return [*falls, *counted], shown


def _of_table(table: Ablation, claim: Claim) -> dict[str, Judge]:
    return {claim.text: partial(about_arms, table=table, claim=claim)}


CLAIMS: dict[str, Judge] = {
    "ELMo helps in all six tasks": helps_all_tasks,
    **_of_table(table2.TABLE, table2.LAYERS_IN_ORDER),
    **_of_table(table2.TABLE, table2.SMALL_LAMBDA),
    **_of_table(table3.TABLE, table3.PLACEMENT),
    "The first LSTM layer is better for syntax (part-of-speech tagging)": partial(
        about_layers, tables=(ENGLISH,), shown=(KOREAN,), better="layer 1", worse="layer 2"
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
