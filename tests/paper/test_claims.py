"""Verdicts on the claims: from runs and results written by hand, with each outcome."""

from pathlib import Path

import pytest

from paper import claims
from paper.claims import CLAIMS, Finding, judged
from paper.differences import Difference
from paper.results import append_result
from paper.runs import Evidence
from toy_planned_runs import evidence_in

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


def judge(number: int, evidence: Evidence) -> tuple[str, str]:
    """The outcome of a claim by its number, and its text."""
    claim, findings_of = list(CLAIMS.items())[number - 1]
    verdict = judged(claim, *findings_of(evidence))
    findings = [*map(str, verdict.findings), *(f"not counted: {finding}" for finding in verdict.uncounted)]
    return verdict.outcome, "; ".join(findings)


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
