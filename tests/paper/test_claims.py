"""Verdicts on the claims: from runs and results written by hand, with each outcome."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.metrics.interval import Interval
from logged_task_runs import make_run
from paper import claims
from paper.claims import CLAIMS, Evidence, Finding, judged, verdicts
from paper.results import append_result


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
        ([Interval(1, 0, 2)], "not measurable here"),
        ([Interval(0, 0, 0)], "did not hold"),
        ([Interval(1, 0.5, 1.5), None], "not measurable here"),
    ],
)
def test_a_claim_needs_all_of_its_intervals_above_zero(intervals: list[Interval | None], outcome: str):
    assert judged([Finding("NER:", interval) for interval in intervals])[0] == outcome


@pytest.mark.parametrize(("interval", "said"), [(Interval(-0.1, -0.5, 0.3), True), (Interval(-0.3, -0.5, -0.1), False)])
def test_a_wrong_sign_that_may_be_chance_is_said(interval: Interval, said: bool):
    outcome, text = judged([Finding("NER:", Interval(1, 0.5, 1.5)), Finding("SRL:", interval)])
    assert outcome == "did not hold" and text.endswith("; no interval is wholly below zero") == said


def test_what_may_be_chance_is_said_of_the_differences_that_count():
    uncounted = [Finding("NER:", Interval(-2, -3, -1))]
    outcome, text = judged([Finding("SRL:", Interval(-0.1, -0.5, 0.3))], uncounted=uncounted)
    chance = "no interval is wholly below zero"
    assert outcome == "did not hold"
    assert text == f"SRL: -0.10 [-0.50, 0.30]; {chance}; not counted: NER: -2.00 [-3.00, -1.00]"


def test_a_single_seed_decides_nothing():
    outcome, text = judged([Finding("NER:", None, -1.0)])
    assert (outcome, text) == ("not measurable here", "NER: -1.00 (one seed)")


PAPERS = ("semantic-roles", "entailment", "question-answering")
"""The tasks of tables 2 and 3."""


def arms(
    folder: Path,
    scores: dict[str, tuple[float, ...]],
    *,
    tasks: tuple[str, ...] = ("named-entities",),
    **settings: tuple[str, ...],
) -> Evidence:
    for task in tasks:
        for name, of_seeds in scores.items():
            for seed, dev in enumerate(of_seeds):
                run = folder / f"{task}-{name}-{seed}"
                make_run(run, *settings[name], f"seed={seed}", test=dev, dev=dev, task=task)
    return Evidence([folder], [folder])


def layers_and_lambdas(folder: Path, *tasks: str) -> Evidence:
    scores = {"none": (80, 81, 80), "top": (84, 85, 84), "large": (85, 86, 85), "small": (86, 87, 86)}
    return arms(
        folder,
        scores,
        tasks=tasks,
        none=("elmo=none",),
        top=("elmo.layers=top",),
        large=("elmo.penalty=1",),
        small=("elmo.penalty=0.001",),
    )


def test_the_order_of_layers_and_lambdas(tmp_path: Path):
    evidence = layers_and_lambdas(tmp_path, *PAPERS)
    outcome, text = claims.layers_in_order(evidence)
    assert outcome == "held" and "SNLI, last over none: +4.00 [4.00, 4.00]; SNLI, all over last: +2.00" in text
    assert claims.small_lambda(evidence)[0] == "held"


def test_differences_of_runs_that_were_cut_off_say_so(tmp_path: Path):
    for seed in range(2):
        for elmo, converged in (("none", True), ("input", False), ("both", True)):
            run = tmp_path / f"{elmo}-{seed}"
            make_run(run, f"elmo={elmo}", f"seed={seed}", test=80, dev=80 + seed, converged=converged)
    evidence = Evidence([tmp_path], [])
    assert "NER, both over input, not converged: +0.00" in claims.placement(evidence)[1]
    assert "mini-en (01234567), not converged, over seeds)" in claims.helps_all_tasks(evidence)[1]


def test_a_task_that_the_paper_does_not_have_is_shown_and_does_not_count(tmp_path: Path):
    evidence = layers_and_lambdas(tmp_path, "named-entities")
    shown = "NER, last over none: +4.00 [4.00, 4.00]; NER, all over last: +2.00 [2.00, 2.00]"
    missing = "SQuAD not measured; SNLI not measured; SRL not measured"
    assert claims.layers_in_order(evidence) == ("not measurable here", f"{missing}; not counted: {shown}")
    assert claims.small_lambda(evidence)[0] == "not measurable here"


def test_of_several_sizes_of_a_task_the_largest_counts(tmp_path: Path):
    layers_and_lambdas(tmp_path, *PAPERS)
    few = arms(
        tmp_path / "few",
        {"none": (50, 51), "top": (40, 41)},
        tasks=PAPERS[:1],
        none=("elmo=none",),
        top=("elmo.layers=top",),
    )
    for run in few.runs[0].glob("*/config.json"):
        run.write_text(run.read_text().replace("14041", "40"))
    assert claims.layers_in_order(Evidence([tmp_path, *few.runs], []))[0] == "held"


def test_the_gain_on_a_test_set_has_the_interval_of_its_items_where_that_was_measured(tmp_path: Path):
    evidence = arms(tmp_path, {"none": (80, 81), "elmo": (84, 85)}, none=("elmo=none",), elmo=())
    outcome, text = claims.helps_all_tasks(evidence)
    assert outcome == "not measurable here" and "Coref not measured" in text
    assert "NER (14,041 examples, mini-en (01234567), over seeds): +4.00 [4.00, 4.00]" in text
    interval = {"estimate": 4.0, "low": -1.0, "high": 9.0}
    runs = {
        arm: [f"named-entities-{name}-{seed}" for seed in (0, 1)]
        for arm, name in (("baseline", "none"), ("elmo", "elmo"))
    }
    names = {"task": "named-entities", "data": "conll2003", "test_set": "eng.testb", "model": "mini-en (01234567)"}
    append_result(tmp_path, "table1", {**names, **runs, "interval": interval, "ensembles": {}})
    assert "mini-en (01234567), over test items): +4.00 [-1.00, 9.00]" in claims.helps_all_tasks(evidence)[1]
    newer = {**names, **runs, "baseline": runs["baseline"][:1]}  # of other runs than the table has
    append_result(tmp_path, "table1", {**newer, "interval": interval, "ensembles": {}})
    assert "mini-en (01234567), over seeds): +4.00 [4.00, 4.00]" in claims.helps_all_tasks(evidence)[1]


def test_the_gain_of_another_recipe_names_it(tmp_path: Path):
    make_run(tmp_path / "none", "elmo=none", task="entailment", test=70)
    make_run(tmp_path / "elmo", "elmo=output", "elmo.dropout_rate=0.5", task="entailment", test=75)
    text = claims.helps_all_tasks(Evidence([tmp_path], []))[1]
    assert "SNLI (14,041 examples, mini-en (01234567), recipe cpu-output, over seeds)" in text


def test_of_two_comparisons_of_one_size_the_last_one_counts(tmp_path: Path):
    folders = [tmp_path / "b", tmp_path / "a"]
    for folder, model, gain in zip(folders, ("old", "new"), (9, 4), strict=True):
        for seed in (0, 1):
            make_run(folder / f"elmo-{seed}", f"elmo.model={model}", f"seed={seed}", test=80 + gain)
    for seed in (0, 1):
        make_run(folders[0] / f"none-{seed}", "elmo=none", f"seed={seed}", test=80)
    assert "new (01234567), over seeds): +4.00" in claims.helps_all_tasks(Evidence(folders, []))[1]


def test_the_gain_shrinks_with_data_where_it_is_larger_on_little(tmp_path: Path):
    scores = {"none-few": (50, 52), "elmo-few": (60, 62), "none-all": (80, 81), "elmo-all": (82, 83)}
    share = {"few": "train_share=0.1", "all": "train_share=1"}
    settings = {name: (f"elmo={name[:4].replace('elmo', 'input')}", share[name[5:]]) for name in scores}
    evidence = arms(tmp_path, scores, tasks=PAPERS[:1], **settings)
    outcome, text = claims.gain_shrinks_with_data(evidence)
    assert outcome == "not measurable here" and text.endswith("examples: +8.00 [8.00, 8.00]; SNLI not measured")
    evidence = arms(tmp_path, scores, tasks=PAPERS[1:2], **settings)
    assert claims.gain_shrinks_with_data(evidence)[0] == "held"


def test_the_gain_with_little_data_is_that_of_converged_runs_where_there_are_some(tmp_path: Path):
    def make_curve(task: str, patience: int, gains: dict[float, int]) -> None:
        for share, gain in gains.items():
            for seed in (0, 1):
                for arm, dev in (("none", 50), ("input", 50 + gain)):
                    settings = (f"elmo={arm}", f"train_share={share}", f"patience={patience}", f"seed={seed}")
                    make_run(tmp_path / "-".join((task, *settings)), *settings, test=1, dev=dev, task=task)

    first, second = PAPERS[:2]
    for task in (first, second):
        make_curve(task, 8, {0.1: 0, 1: 5})
    make_curve(first, 2, {0.1: 9, 1: 5})
    outcome, text = claims.gain_shrinks_with_data(Evidence([tmp_path], []))
    assert outcome == "not measurable here" and text.endswith("examples: +4.00 [4.00, 4.00]; SNLI not measured")
    make_curve(second, 2, {0.1: 9, 1: 5})
    outcome, text = claims.gain_shrinks_with_data(Evidence([tmp_path], []))
    assert outcome == "held" and text.endswith("examples: +4.00 [4.00, 4.00]")


def test_gamma_is_needed_where_the_top_layer_is_worse_without_it(tmp_path: Path):
    evidence = arms(
        tmp_path,
        {"learnt": (80, 81), "fixed": (70, 71)},
        tasks=PAPERS[:2],
        learnt=("elmo.layers=top", "elmo.rescale=false"),
        fixed=("elmo.layers=top", "elmo.rescale=false", "elmo.train_gamma=false"),
    )
    outcome, text = claims.gamma_is_needed(evidence)
    assert outcome == "held" and text.startswith("SRL, gamma learnt over 1: +10.00 [10.00, 10.00]; SNLI")


def test_places_are_judged_for_the_tasks_that_the_paper_has(tmp_path: Path):
    settings = {position: (f"elmo={position}",) for position in ("input", "both", "output")}
    both = arms(tmp_path, {"input": (70, 70), "both": (75, 75), "output": (60, 60)}, tasks=PAPERS[1:], **settings)
    outcome, text = claims.placement(both)
    assert outcome == "not measurable here" and "SQuAD, both over input: +5.00" in text
    assert "SRL not measured; Coref not measured" in text
    scores = {"input": (70, 70), "both": (65, 65), "output": (60, 60)}
    evidence = arms(tmp_path, scores, tasks=("semantic-roles", "coreference"), **settings)
    outcome, text = claims.placement(evidence)
    assert outcome == "held" and "Coref, input over both: +5.00" in text


def test_layers_are_compared_over_test_items(tmp_path: Path):
    for name, system, first, second in (
        ("table5", "mini-en", "0001" * 50, "0111" * 50),
        ("table5", "mini-en, random weights", "1111" * 50, "0000" * 50),
        ("table5", "hf-mean, a transformer", "1111" * 50, "0000" * 50),
        ("table6", "mini-en", "0111" * 50, "0001" * 50),
        ("table6", "cove, CoVe", "0011" * 50, "0001" * 50),
    ):
        add_layers(tmp_path, name, system, first, second)
    evidence = Evidence([], [tmp_path])
    assert claims.second_layer_for_senses(evidence)[0] == "held"
    assert claims.second_layer_for_senses(evidence)[1].startswith(
        "mini-en (ffffffff), words, layer 2 over layer 1: +50.00 ["
    )
    assert claims.first_layer_for_syntax(evidence)[0] == "held"
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
        return claims.fine_tuning(Evidence([], [tmp_path]))

    outcome, text = add(50.0)
    assert outcome == "not measurable here" and text.startswith(
        "perplexity of SST (sst) 100.0 to 50.0; SNLI not measured"
    )
    assert add(120.0)[0] == "did not hold"
