"""Verdicts on the claims: from runs and results written by hand, with each outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from elmokit.metrics.statistics import Interval
from paper import claims, figure1, table2, table3
from paper.ablation import Ablation
from paper.ablations import GAMMA_TABLE
from paper.claims import CLAIMS, Finding, judged, verdicts
from paper.plan import CONVERGED, ELMO, NO_ELMO
from paper.results import append_result
from paper.runs import Evidence
from toy_planned_runs import evidence_in, write_arm


def test_without_evidence_nothing_is_measurable(tmp_path: Path):
    found = verdicts(evidence_in(tmp_path))
    assert len(found) == len(CLAIMS) == 11
    assert {verdict.outcome for verdict in found} == {"not measurable here"}


CHANCE = "no interval is wholly below zero"


@pytest.mark.parametrize(
    ("intervals", "outcome", "said"),
    [
        ([Interval(1, 0.5, 1.5)], "held", "a: +1.00 [0.50, 1.50]"),
        ([Interval(1, 0.5, 1.5), Interval(1, -0.5, 2.5)], "not measurable here", "b: +1.00 [-0.50, 2.50]"),
        ([Interval(1, 0.5, 1.5), Interval(-0.1, -0.5, 0.3)], "did not hold", CHANCE),
        ([Interval(1, 0.5, 1.5), Interval(-0.3, -0.5, -0.1)], "did not hold", "b: -0.30 [-0.50, -0.10]"),
        ([Interval(1, 0, 2)], "not measurable here", "a: +1.00 [0.00, 2.00]"),
        ([Interval(0, 0, 0)], "did not hold", CHANCE),
        ([Interval(1, 0.5, 1.5), None], "not measurable here", "b: not measured"),
    ],
)
def test_a_claim_needs_all_of_its_intervals_above_zero(intervals: list[Interval | None], outcome: str, said: str):
    findings = [Finding(f"{name}:", interval) for name, interval in zip("ab", intervals, strict=False)]
    found = judged(findings)
    assert found[0] == outcome and found[1].endswith(said)
    uncounted = [Finding("NER:", Interval(-2, -3, -1))]  # changes neither the outcome nor what may be chance
    assert judged(findings, uncounted=uncounted) == (outcome, f"{found[1]}; not counted: NER: -2.00 [-3.00, -1.00]")


def test_a_single_seed_decides_nothing():
    assert judged([Finding("NER:", None, -1.0)]) == ("not measurable here", "NER: -1.00 (one seed)")


def judge(number: int, evidence: Evidence) -> tuple[str, str]:
    """The outcome of a claim by its number, and its text."""
    verdict = verdicts(evidence)[number - 1]
    return verdict.outcome, verdict.numbers


LAYERS = {"no ELMo": 80, "last layer": 84, "lambda=1": 85, "lambda=0.001": 86}
PLACES = {"input": 70, "both": 75, "output": 60}
AT_INPUT = {"input": 70, "both": 65, "output": 60}
PAPERS_TASKS = ("semantic-roles", "entailment", "question-answering")
GAMMAS = {"top layer, gamma learnt": 80, "top layer, gamma 1": 70}


@pytest.mark.parametrize(
    ("number", "table", "scores", "outcome", "said"),
    [
        (2, table2.TABLE, dict.fromkeys(PAPERS_TASKS, LAYERS), "held", "SNLI, last layer over no ELMo: +4.00 [4.00,"),
        (3, table2.TABLE, dict.fromkeys(PAPERS_TASKS, LAYERS), "held", "SNLI, lambda=0.001 over lambda=1: +1.00"),
        (
            2,  # of a task that the paper does not have: shown, not counted
            table2.TABLE,
            {"named-entities": LAYERS},
            "not measurable here",
            "SRL not measured; SNLI not measured; SQuAD not measured; not counted: NER, last layer over no ELMo: +4.00",
        ),
        (4, table3.TABLE, {"entailment": PLACES}, "not measurable here", "SRL not measured; Coref not measured"),
        (
            4,
            table3.TABLE,
            {name: PLACES if name in PAPERS_TASKS[1:] else AT_INPUT for name in (*PAPERS_TASKS, "coreference")},
            "held",
            "Coref, input over both: +5.00",
        ),
        (
            10,
            GAMMA_TABLE,
            dict.fromkeys(PAPERS_TASKS[:2], GAMMAS),
            "held",
            "SRL, top layer, gamma learnt over top layer",
        ),
    ],
)
def test_claims_about_arms_are_judged_for_the_tasks_that_the_paper_has(
    number: int, table: Ablation, scores: Mapping[str, Mapping[str, int]], outcome: str, said: str, tmp_path: Path
):
    for task, of_task in scores.items():
        for arm in table.arms:
            score = of_task.get(arm.name)
            write_arm(tmp_path, task, arm, () if score is None else (score, score + 1, score))
    found = judge(number, evidence_in(tmp_path))
    assert found[0] == outcome and said in found[1]


def test_differences_of_runs_that_were_cut_off_say_so(tmp_path: Path):
    for arm in table3.TABLE.arms:
        write_arm(tmp_path, "sentiment", arm, (80, 81), converged=arm.name != "input")
    assert "SST-5, both over input, not converged: +0.00" in judge(4, evidence_in(tmp_path))[1]


def test_the_gain_on_a_test_set_has_the_interval_of_its_items_where_that_was_measured(tmp_path: Path):
    none, elmo = (write_arm(tmp_path, "named-entities", arm, (80, 81), test=(80, 81)) for arm in (NO_ELMO, ELMO))
    outcome, text = judge(1, evidence_in(tmp_path))
    assert outcome == "did not hold" and "Coref not measured" in text
    assert "NER (conll2003, 200 training examples, mini-en (01234567), at input, fixed epochs, 2 seeds, over" in text
    assert "over seeds): +0.00 [0.00, 0.00]" in text
    runs = {"baseline": [run.name for run in none], "elmo": [run.name for run in elmo]}
    record = {"task": "named-entities", "test_set": "eng.testb", "ensembles": {}}
    append_result(tmp_path, "table1", {**record, **runs, "interval": {"estimate": 4.0, "low": -1.0, "high": 9.0}})
    outcome, text = judge(1, evidence_in(tmp_path))
    assert outcome == "not measurable here" and "over test items): +4.00 [-1.00, 9.00]" in text


@pytest.mark.parametrize("recipe", ["", CONVERGED])
def test_the_gain_shrinks_with_data_where_it_is_larger_on_little(recipe: str, tmp_path: Path):
    def write(task: str, recipe: str, gains: dict[float, int]) -> None:
        for share, gain in gains.items():
            for arm, dev in zip(figure1.arms(share, recipe), (50, 50 + gain), strict=True):
                write_arm(tmp_path, task, arm, (dev, dev))

    write("semantic-roles", recipe, {0.1: 9, 1.0: 5})
    if recipe:  # runs of equal numbers of epochs do not count next to converged ones
        write("semantic-roles", "", {0.1: 0, 1.0: 5})
    outcome, text = judge(8, evidence_in(tmp_path))
    assert outcome == "not measurable here" and text.endswith("examples: +4.00 [4.00, 4.00]; SNLI not measured")
    write("entailment", recipe, {0.1: 9, 1.0: 5})
    assert judge(8, evidence_in(tmp_path))[0] == "held"


def test_layers_are_compared_over_test_items(tmp_path: Path):
    for name, system, first, second in (
        ("table5", "mini-en", "0001" * 50, "0111" * 50),
        ("table5", "mini-en, random weights", "1111" * 50, "0000" * 50),
        ("table5", "hf-mean, a transformer", "1111" * 50, "0000" * 50),
        ("table6", "mini-en", "0111" * 50, "0001" * 50),
        ("table6", "cove, CoVe", "0011" * 50, "0001" * 50),
    ):
        add_layers(tmp_path, name, system, first, second)
    evidence = evidence_in(tmp_path)
    outcome, text = judge(6, evidence)
    assert outcome == "held" and text.startswith("mini-en (ffffffff), words, layer 2 over layer 1: +50.00 [")
    assert judge(5, evidence)[0] == "held"
    outcome, text = claims.better_than_cove(evidence)
    assert outcome == "not measurable here" and text.startswith("senses, CoVe not measured; parts of speech, words, ")
    of_each = "mini-en (ffffffff), first LSTM layer, over cove, CoVe (ffffffff), second LSTM layer"
    assert f"{of_each}: +25.00" in text  # the best layer of each; CoVe's are counted from 0
    add_layers(tmp_path, "table5", "cove, CoVe", "0001" * 50, "0000" * 50)
    assert claims.better_than_cove(evidence)[0] == "held"


def add_layers(folder: Path, table: str, system: str, first: str, second: str) -> None:
    rows = {"layer 1": {"ALL": 1.0}, "layer 2": {"ALL": 2.0}}
    values = {"system": system, "is_bilm": system == "mini-en", "fingerprint": "f" * 16, "data": "words", "rows": rows}
    append_result(folder, table, {**values, "hits": {"layer 1": first, "layer 2": second}, "texts": {}})


def test_fine_tuning_has_to_lower_the_perplexity(tmp_path: Path):
    def add(after: float) -> tuple[str, str]:
        values = {"task": "sentiment", "part": "", "data": "sst", "before": {"mean": 100.0}, "after": {"mean": after}}
        append_result(tmp_path, "table7", values)
        return claims.fine_tuning(evidence_in(tmp_path))

    outcome, text = add(50.0)
    assert outcome == "not measurable here" and text.startswith(
        "perplexity of SST (sst) 100.0 to 50.0; SNLI not measured"
    )
    assert add(120.0)[0] == "did not hold"
