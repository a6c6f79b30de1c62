"""Verdicts on the claims: from runs and results written by hand, with each outcome."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from elmokit.formats.names import DEFAULT_MODEL
from paper import claims, figure1, table2, table3
from paper.ablation import Ablation
from paper.claims import CLAIMS, Finding, judged, verdicts
from paper.differences import Difference, over_seeds
from paper.plan import CONVERGED, Setup
from paper.results import append_result
from paper.runs import Evidence, with_model
from toy_planned_runs import SETUP, evidence_in, write_arm

UP, WIDE, DOWN = (Difference(at, of_items=error) for at, error in ((1, 0.25), (1, 0.75), (-1, 0.25)))
SLIGHTLY_DOWN = Difference(-1, of_items=0.5)
"""Below zero at 95 %, but not at 97.5 %."""


@pytest.mark.parametrize(
    ("differences", "outcome", "deciding"),
    [
        ([UP], "held", "a +1.00 [0.51, 1.49]"),
        ([UP, WIDE], "undecided", "b +1.00 [-0.47, 2.47]"),
        ([UP, DOWN], "contradicted", "b -1.00 [-1.49, -0.51]"),
        ([SLIGHTLY_DOWN], "contradicted", "a -1.00 [-1.98, -0.02]"),
        ([UP, SLIGHTLY_DOWN], "undecided", "b -1.00 [-1.98, -0.02]"),
        ([WIDE, SLIGHTLY_DOWN], "undecided", "b -1.00 [-1.98, -0.02]"),
        ([UP, None], "not measured", "b not measured"),
        ([DOWN, None], "contradicted", "a -1.00 [-1.49, -0.51]"),
        ([UP, Difference(0)], "undecided", "b +0.00"),
    ],
)
def test_both_signs_are_judged_by_the_same_rule(differences: list[Difference | None], outcome: str, deciding: str):
    findings = [Finding(name, difference) for name, difference in zip("ab", differences, strict=False)]
    for uncounted in ([], [Finding("NER", DOWN)]):
        found = judged("claim", findings, uncounted)
        assert (found.outcome, str(found.deciding)) == (outcome, deciding)
    for difference in (UP, DOWN):  # of runs that had not stopped improving
        found = judged("claim", [Finding("a", difference, is_converged=False)])
        assert found.outcome == "undecided" and str(found.deciding).endswith("(not converged)")


@pytest.mark.parametrize("number", [1, 6])
def test_of_a_thousand_worlds_without_effects_at_most_one_in_twenty_is_judged(number: int):
    noise = np.random.default_rng(0).normal(size=(1000, number, 3))  # three seeds of each difference
    found = [judged("claim", [Finding("", over_seeds(list(seeds))) for seeds in world]).outcome for world in noise]
    assert sum(outcome in ("held", "contradicted") for outcome in found) <= 50 + 14  # two standard errors
    assert "contradicted" in found  # the rule can judge


def judge(number: int, evidence: Evidence) -> tuple[str, str]:
    """The outcome of a claim by its number, and its text."""
    claim, findings_of = list(CLAIMS.items())[number - 1]
    verdict = judged(claim, *findings_of(evidence))
    findings = [*map(str, verdict.findings), *(f"not counted: {finding}" for finding in verdict.uncounted)]
    return verdict.outcome, "; ".join(findings)


LAYERS = {"no ELMo": 80, "last layer": 84, "lambda=1": 85, "lambda=0.001": 86}
PLACES = {"input": 70, "both": 75, "output": 60}
AT_INPUT = {"input": 70, "both": 65, "output": 60}
PAPERS_TASKS = ("semantic-roles", "entailment", "question-answering")


@pytest.mark.parametrize(
    ("number", "table", "scores", "outcome", "said"),
    [
        (2, table2.TABLE, dict.fromkeys(PAPERS_TASKS, LAYERS), "held", "SNLI, last layer over no ELMo +4.00"),
        (
            2,  # of a task that the paper does not have: shown, not counted
            table2.TABLE,
            {"named-entities": LAYERS},
            "not measured",
            "SRL not measured; SNLI not measured; SQuAD not measured; not counted: NER, last layer over no ELMo +4.00",
        ),
        (
            4,
            table3.TABLE,
            {name: PLACES if name in PAPERS_TASKS[1:] else AT_INPUT for name in (*PAPERS_TASKS, "coreference")},
            "held",
            "Coref, input over both +5.00",
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


def test_the_gain_shrinks_with_data_where_it_is_larger_on_little(tmp_path: Path):
    newer = with_model(SETUP, DEFAULT_MODEL)

    def write(task: str, recipe: str, gains: dict[float, int], setup: Setup = SETUP) -> tuple[str, str]:
        for share, gain in gains.items():
            arms = figure1.arms(share, recipe)
            for arm, dev in list(zip(arms, (50, 50 + gain), strict=True))[setup is newer :]:  # one baseline for both
                write_arm(tmp_path, task, arm, (dev, dev), setup=setup)
        return judge(8, evidence_in(tmp_path))

    write("semantic-roles", "", {0.1: 9, 1.0: 5})
    outcome, text = write("semantic-roles", CONVERGED, {0.1: 8, 1.0: 5})  # which counts before equal numbers of epochs
    assert outcome == "not measured" and text.endswith("examples +3.00; SNLI not measured")
    assert write("entailment", "", {0.1: 9, 1.0: 5})[0] == "held"
    outcome, text = write("semantic-roles", CONVERGED, {0.1: 7, 1.0: 5}, newer)
    assert outcome == "held" and "examples +2.00; SNLI" in text  # the newer biLM first
    outcome, text = write("semantic-roles", CONVERGED, {0.01: 9})
    assert outcome == "held" and "examples +4.00; SNLI" in text  # unless it lacks a size


def test_layers_are_compared_over_bilms_and_test_items(tmp_path: Path):
    add_layers(tmp_path, "table5", "mini-en", "0001" * 50, "0111" * 50)
    for folder, system in (("elsewhere", "mini-en"), ("elsewhere", "a copy of mini-en")):
        add_layers(tmp_path / folder, "table5", system, "0001" * 50, "0111" * 50)
    assert judge(6, evidence_in(tmp_path))[0] == "not measured"  # of one biLM
    for name, system, first, second in (
        ("table5", "small-en", "0001" * 50, "0111" * 49 + "0001"),
        ("table6", "small-en", "0111" * 50, "0001" * 50),
        ("table5", "mini-en, random weights", "1111" * 50, "0000" * 50),
        ("table5", "hf-mean, a transformer", "1111" * 50, "0000" * 50),
        ("table6", "mini-en", "0111" * 50, "0001" * 50),
        ("table6", "cove, CoVe", "0011" * 50, "0001" * 50),
    ):
        add_layers(tmp_path, name, system, first, second)
    evidence = evidence_in(tmp_path)
    outcome, text = judge(6, evidence)
    assert outcome == "held" and text.startswith("words, layer 2 over layer 1, 2 biLMs +49.50 [")
    assert "not counted: mini-en (ffffffff), words, layer 2 over layer 1 +50.00 [" in text
    assert "not counted: mini-en, random weights (ffffffff), words, layer 2 over layer 1 -100.00" in text
    assert judge(5, evidence)[0] == "held"
    add_layers(tmp_path, "table6", "small-en-86", "0001" * 50, "0111" * 50)  # biLMs that differ decide nothing
    assert judge(5, evidence_in(tmp_path))[0] == "undecided"
    outcome, text = judge(7, evidence)  # ours has read too little to count
    assert outcome == "not measured" and "senses, the published CoVe not measured" in text
    of_each = "mini-en (ffffffff), first LSTM layer, over cove, CoVe (ffffffff), second LSTM layer"
    assert f"not counted: parts of speech, words, {of_each} +25.00" in text  # the best layer of each
    for table in ("table5", "table6"):
        add_layers(tmp_path, table, f"cove, {claims.PUBLISHED_COVE}", "0001" * 50, "0000" * 50)
    assert judge(7, evidence)[0] == "held"


BILMS = ("mini-en", "a copy of mini-en", "small-en", "small-en-86")


def add_layers(folder: Path, table: str, system: str, first: str, second: str) -> None:
    rows = {"layer 1": {"ALL": 1.0}, "layer 2": {"ALL": 2.0}}
    fingerprint = system if system.startswith("small") else "f" * 16
    values = {"system": system, "is_bilm": system in BILMS, "fingerprint": fingerprint, "data": "words", "rows": rows}
    append_result(folder, table, {**values, "hits": {"layer 1": first, "layer 2": second}, "texts": {}})


def test_fine_tuning_has_to_lower_the_perplexity(tmp_path: Path):
    def add(after: float) -> tuple[str, str]:
        values = {"task": "sentiment", "part": "", "data": "sst", "before": {"mean": 100.0}, "after": {"mean": after}}
        append_result(tmp_path, "table7", values)
        return judge(9, evidence_in(tmp_path))

    found = verdicts(evidence_in(tmp_path))
    assert len(found) == len(CLAIMS) == 11
    assert {verdict.outcome for verdict in found} == {"not measured"}  # without evidence
    outcome, text = add(50.0)
    assert outcome == "not measured" and "SST (sst), perplexity 100.0 to 50.0, fall +50.00" in text
    assert "SNLI not measured" in text
    assert add(120.0)[0] == "contradicted"
