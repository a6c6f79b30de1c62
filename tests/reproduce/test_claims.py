"""Verdicts on the claims: from runs and results written by hand, with each outcome."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.metrics.interval import Interval
from elmokit.reproduce import claims
from elmokit.reproduce.claims import CLAIMS, Evidence, Finding, judged, verdicts
from elmokit.reproduce.results import append_result
from logged_task_runs import make_run


def test_without_evidence_nothing_is_measurable():
    found = verdicts(Evidence([], []))
    assert len(found) == len(CLAIMS) == 11
    assert {verdict.outcome for verdict in found} == {"not measurable here"}


@pytest.mark.parametrize(
    ("intervals", "outcome"),
    [
        ([Interval(1, 0.5, 1.5)], "held"),
        ([Interval(1, 0.5, 1.5), Interval(1, -0.5, 2.5)], "not measurable here"),
        ([Interval(1, 0.5, 1.5), Interval(-0.1, -0.5, 0.3)], "did not hold"),
        ([Interval(1, 0.5, 1.5), None], "not measurable here"),
    ],
)
def test_a_claim_needs_all_of_its_intervals_above_zero(intervals: list[Interval | None], outcome: str):
    assert judged([Finding("NER:", interval) for interval in intervals])[0] == outcome


def test_a_single_seed_decides_nothing():
    outcome, text = judged([Finding("NER:", None, -1.0)])
    assert (outcome, text) == ("not measurable here", "NER: -1.00 (one seed)")


def arms(folder: Path, scores: dict[str, tuple[float, ...]], **settings: tuple[str, ...]) -> Evidence:
    for name, of_seeds in scores.items():
        for seed, dev in enumerate(of_seeds):
            make_run(folder / f"{name}-{seed}", *settings[name], f"seed={seed}", test=dev, dev=dev)
    return Evidence([folder], [folder])


def test_the_order_of_layers_and_lambdas(tmp_path: Path):
    evidence = arms(
        tmp_path,
        {"none": (80, 81, 80), "top": (84, 85, 84), "large": (85, 86, 85.1), "small": (86, 87, 86)},
        none=("elmo=none",),
        top=("elmo.layers=top",),
        large=("elmo.penalty=1",),
        small=("elmo.penalty=0.001",),
    )
    assert claims.layers_in_order(evidence) == (
        "held",
        "NER, last over none: +4.00 [4.00, 4.00]; NER, all over last: +2.00 [2.00, 2.00]",
    )
    assert claims.small_lambda(evidence)[0] == "not measurable here"  # named entities alone say nothing about it


def test_the_gain_on_a_test_set_has_the_interval_of_its_items_where_that_was_measured(tmp_path: Path):
    evidence = arms(tmp_path, {"none": (80, 81), "elmo": (84, 85)}, none=("elmo=none",), elmo=())
    outcome, text = claims.helps_all_tasks(evidence)
    assert outcome == "not measurable here" and "Coref not measured" in text
    assert "NER (14,041 examples, mini-en (01234567)): +4.00 [4.00, 4.00]" in text
    interval = {"estimate": 4.0, "low": -1.0, "high": 9.0}
    names = {"task": "named-entities", "test_set": "eng.testb", "elmo": ["elmo-0", "elmo-1"]}
    append_result(tmp_path, "table1", {**names, "interval": interval, "ensembles": {}})
    assert "mini-en (01234567)): +4.00 [-1.00, 9.00]" in claims.helps_all_tasks(evidence)[1]


def test_of_two_comparisons_of_one_size_the_last_one_counts(tmp_path: Path):
    folders = [tmp_path / "b", tmp_path / "a"]
    for folder, model, gain in zip(folders, ("old", "new"), (9, 4), strict=True):
        for seed in (0, 1):
            make_run(folder / f"elmo-{seed}", f"elmo.model={model}", f"seed={seed}", test=80 + gain)
    for seed in (0, 1):
        make_run(folders[0] / f"none-{seed}", "elmo=none", f"seed={seed}", test=80)
    assert "new (01234567)): +4.00" in claims.helps_all_tasks(Evidence(folders, []))[1]


def test_the_gain_shrinks_with_data_where_it_is_larger_on_little(tmp_path: Path):
    scores = {"none-few": (50, 52), "elmo-few": (60, 62), "none-all": (80, 81), "elmo-all": (82, 83)}
    few, everything = ("train_share=0.1",), ("train_share=1",)
    for name, of_seeds in scores.items():
        for seed, dev in enumerate(of_seeds):
            settings = (f"elmo={name[:4].replace('elmo', 'input')}", *(few if "few" in name else everything))
            make_run(tmp_path / f"{name}-{seed}", *settings, f"seed={seed}", test=dev, dev=dev)
    outcome, text = claims.gain_shrinks_with_data(Evidence([tmp_path], []))
    assert outcome == "held" and text.endswith("examples: +8.00 [8.00, 8.00]")


def test_the_gain_with_little_data_is_that_of_converged_runs_where_there_are_some(tmp_path: Path):
    for patience, gains in ((8, {0.1: 0, 1: 5}), (2, {0.1: 9, 1: 5})):
        for share, gain in gains.items():
            for seed in (0, 1):
                for arm, dev in (("none", 50), ("input", 50 + gain)):
                    settings = (f"elmo={arm}", f"train_share={share}", f"patience={patience}", f"seed={seed}")
                    make_run(tmp_path / "-".join(settings), *settings, test=1, dev=dev)
    outcome, text = claims.gain_shrinks_with_data(Evidence([tmp_path], []))
    assert outcome == "held" and text.endswith("examples: +4.00 [4.00, 4.00]")


def test_gamma_is_needed_where_the_top_layer_is_worse_without_it(tmp_path: Path):
    evidence = arms(
        tmp_path,
        {"learnt": (80, 81), "fixed": (70, 71)},
        learnt=("elmo.layers=top", "elmo.rescale=false"),
        fixed=("elmo.layers=top", "elmo.rescale=false", "elmo.train_gamma=false"),
    )
    assert claims.gamma_is_needed(evidence) == ("held", "NER, gamma learnt over 1: +10.00 [10.00, 10.00]")


def test_places_are_judged_for_the_tasks_that_the_paper_has(tmp_path: Path):
    for seed in (0, 1):
        for position, dev in (("input", 70), ("both", 75), ("output", 60)):
            run = tmp_path / f"{position}-{seed}"
            make_run(run, f"elmo={position}", f"seed={seed}", test=dev, dev=dev, task="question-answering")
    outcome, text = claims.placement(Evidence([tmp_path], []))
    assert outcome == "held" and text.startswith("SQuAD, both over input: +5.00")


def test_layers_are_compared_over_test_items(tmp_path: Path):
    for name, system, first, second in (
        ("table5", "mini-en", "0001" * 50, "0111" * 50),
        ("table5", "mini-en, random weights", "1111" * 50, "0000" * 50),
        ("table6", "mini-en", "0111" * 50, "0001" * 50),
        ("table6", "CoVe", "0001" * 50, "0001" * 50),
    ):
        rows = {"layer 1": {"ALL": 1.0}, "layer 2": {"ALL": 2.0}}
        values = {"system": system, "fingerprint": "f" * 16, "data": "words", "rows": rows}
        append_result(tmp_path, name, {**values, "hits": {"layer 1": first, "layer 2": second}})
    evidence = Evidence([], [tmp_path])
    assert claims.second_layer_for_senses(evidence)[0] == "held"
    assert claims.second_layer_for_senses(evidence)[1].startswith("mini-en (ffffffff), words: +50.00 [")
    assert claims.first_layer_for_syntax(evidence)[0] == "held"
    assert claims.better_than_cove(evidence)[0] == "held"
    assert claims.better_than_cove(evidence)[1].startswith("table6, mini-en over CoVe: +50.00")


def test_fine_tuning_has_to_lower_the_perplexity(tmp_path: Path):
    def add(after: float) -> tuple[str, str]:
        values = {"task": "sentiment", "part": "", "before": {"mean": 100.0}, "after": {"mean": after}}
        append_result(tmp_path, "table7", values)
        return claims.fine_tuning(Evidence([], [tmp_path]))

    assert add(50.0) == ("not measurable here", "perplexity of SST 100.0 to 50.0")
    assert add(120.0)[0] == "did not hold"
