"""Table 1 reproduced from runs: our rows under the paper's, and data that the paper does not have left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.metrics.statistic import Statistic
from elmokit.tasks.all_tasks import TASKS
from logged_task_runs import make_run, make_seeds
from paper.__main__ import main
from paper.all_reproductions import REPRODUCTIONS, find_reproduction
from paper.families import read_task_runs
from paper.learning_curves import learning_curves
from paper.planned_runs import Setup
from paper.printed import ALL_TABLES, TABLE_1
from paper.results import append_result
from paper.scales import find_scale
from paper.table1 import COUNTERPARTS, details, largest_comparisons, our_rows, plan

WHERE = "conll2003, 14,041 examples, mini-en (01234567) at input, 3 seeds"


def test_our_row_has_the_means_and_gains_of_the_runs(tmp_path: Path):
    (row,) = our_rows([make_seeds(tmp_path / "runs")])
    assert (row.row, row.measured_on) == ("NER", WHERE)
    assert [cell and str(cell) for cell in row.cells] == [None, None, "82.00 ± 2.00", "86.00 ± 1.73", "4.00", "22.22"]


def test_rows_say_that_a_run_has_not_converged(tmp_path: Path):
    for name, settings, converged in (("none", ("elmo=none",), True), ("elmo", (), False)):
        make_run(tmp_path / name, *settings, test=80, converged=converged)
    (row,) = our_rows([tmp_path])
    assert row.measured_on == "conll2003, 14,041 examples, mini-en (01234567) at input, 1 seed, not converged"


@pytest.mark.parametrize(("patience", "num_epochs", "is_converged"), [(2, 3, True), (3, 3, False)])
def test_a_run_that_has_not_recorded_it_has_converged_if_its_log_says_so(
    patience: int, num_epochs: int, is_converged: bool, tmp_path: Path
):
    run = make_run(tmp_path / "run", f"patience={patience}", test=80)
    epoch, last = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    del last["converged"]
    lines = [*({**epoch, "epoch": number} for number in range(1, num_epochs + 1)), last]
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (read,) = read_task_runs([tmp_path])
    assert read.is_converged == is_converged


def test_a_gain_has_its_intervals_over_test_items_and_over_seeds(tmp_path: Path):
    runs = make_seeds(tmp_path / "runs")
    names = {
        arm: [f"ner-{name}-{seed}" for seed in range(3)] for arm, name in (("baseline", "none"), ("elmo", "input"))
    }
    record = {"task": "named-entities", "data": "conll2003", "test_set": "eng.testb", "model": "mini-en (01234567)"}
    record |= {"interval": {"estimate": 4.0, "low": 3.0, "high": 5.0}, "ensembles": {}}
    append_result(tmp_path / "results", "table1", {**record, **names})
    append_result(tmp_path / "results", "table1", {**record, **names, "elmo": ["elsewhere-0"]})
    table = next(table for table in details([runs, tmp_path / "results"]) if table.title == "Intervals of the gains")
    assert table.rows == {
        f"NER: {WHERE}": ("+4.00 [3.00, 5.00]", "+4.00 [1.52, 6.48]"),
        "NER: eng.testb, mini-en (01234567), elsewhere-0": ("+4.00 [3.00, 5.00]", None),
    }


def test_learning_curves_are_means_over_the_seeds_that_both_arms_have(tmp_path: Path):
    make_seeds(tmp_path)
    make_run(tmp_path / "ner-none-9", "elmo=none", "seed=9", test=99, dev=99)
    (curve,) = learning_curves([tmp_path])
    assert (curve.row, curve.metric, curve.measured_on) == ("NER", "f1", "14,041 examples, 3 seeds")
    assert (curve.baseline, curve.elmo) == (((9, 83),), ((9, 87),))


def test_seeds_without_a_test_score_in_both_arms_do_not_count(tmp_path: Path):
    for seed, (without, with_elmo) in enumerate([(80.0, 85.0), (90.0, None), (None, 99.0)]):
        make_run(tmp_path / f"none-{seed}", "elmo=none", f"seed={seed}", test=without)
        make_run(tmp_path / f"elmo-{seed}", f"seed={seed}", test=with_elmo)
    (row,) = our_rows([tmp_path])
    assert row.measured_on.endswith("1 seed")
    assert [str(cell) for cell in row.cells if cell is not None] == ["80.00", "85.00", "5.00", "25.00"]


def test_of_equally_many_examples_and_seeds_the_converged_runs_count(tmp_path: Path):
    for folder, patience, gained in (("a", 3, 2.0), ("b", 9, 1.0)):
        for arm, settings, score in (("none", ("elmo=none",), 80.0), ("elmo", (), 80 + gained)):
            make_run(
                tmp_path / f"{folder}-{arm}", *settings, f"patience={patience}", test=score, converged=folder == "a"
            )
    assert len(our_rows([tmp_path])) == 2
    chosen = largest_comparisons([tmp_path])["named-entities"]
    assert chosen.is_converged and chosen.elmo.score("f1", test_set="eng.testb") == Statistic((82.0,))


def test_more_training_examples_count_before_more_seeds(tmp_path: Path):
    for num_train, num_seeds, gained in ((14_041, 1, 1.0), (100, 2, 9.0)):
        for seed in range(num_seeds):
            for arm, settings, score in (("none", ("elmo=none",), 80.0), ("elmo", (), 80 + gained)):
                folder = tmp_path / f"{num_train}-{arm}-{seed}"
                make_run(folder, *settings, f"seed={seed}", test=score, num_train=num_train)
    chosen = largest_comparisons([tmp_path])["named-entities"]
    assert chosen.elmo.score("f1", test_set="eng.testb") == Statistic((81.0,))


def test_at_the_scale_cpu_every_task_is_compared_converged_too():
    setup = Setup(find_scale("cpu"), Path("data"), "mini-en", "01234567", seeds=(0,))
    runs = {run.name: run for run in plan(setup)}
    converged = {name: run.scores_tests for name, run in runs.items() if "cpu-converged" in name}
    arms = ("none", "elmo-01234567")
    assert converged == {f"{task}-cpu-cpu-converged-{arm}-0": True for task in TASKS for arm in arms}
    small = replace(setup, scale=find_scale("small"))
    assert not any("converged" in run.name or "output" in run.name for run in plan(small))

    at_output = [
        f"{task}-cpu-cpu-output-elmo-{model}-0"
        for task in ("sentiment", "entailment")
        for model in ("01234567", "random-01234567")
    ]
    assert [name for name in runs if "output" in name] == at_output
    own, baseline = (runs[name].config for name in (at_output[0], "sentiment-cpu-cpu-converged-none-0"))
    assert own.inputs.elmo is not None and own.inputs.elmo.position == "output"
    assert replace(own, inputs=replace(own.inputs, elmo=None)) == baseline


def test_of_equal_comparisons_the_one_that_is_better_with_elmo_on_the_development_set_counts(tmp_path: Path):
    settings = {"a": ("elmo.position=output", "elmo.dropout_rate=0.5"), "b": ()}
    make_run(tmp_path / "none", "elmo=none", task="entailment", test=70, dev=70)
    for folder, dev, test in (("a", 80, 75), ("b", 79, 77)):
        make_run(tmp_path / folder, *settings[folder], task="entailment", dev=dev, test=test)
    chosen = largest_comparisons([tmp_path])["entailment"]
    assert chosen.elmo_name == "output, recipe cpu-output"
    places = [row.measured_on.partition(" at ")[2] for row in our_rows([tmp_path])]
    assert places == ["both, 1 seed", "output, recipe cpu-output, 1 seed"]


def test_other_systems_stand_beside_no_elmo_and_elmo_at_the_same_place(tmp_path: Path):
    for seed, (none, cove, elmo) in enumerate([(80, 81, 84), (82, 84, 88)]):
        one = f"seed={seed}"
        make_run(tmp_path / f"none-{seed}", "elmo=none", one, test=none)
        make_run(tmp_path / f"cove-{seed}", "elmo.model=vectors/CoVe.npy", one, test=cove, other_vectors=True)
        make_run(tmp_path / f"elmo-{seed}", one, test=elmo)
        make_run(tmp_path / f"both-{seed}", "elmo=both", one, test=elmo + 1)
    assert [row.measured_on.partition(" at ")[2] for row in our_rows([tmp_path])] == ["input, 2 seeds"]
    *_, table = details([tmp_path])
    assert table.rows == {
        "NER: conll2003, 14,041 examples, CoVe (01234567) at input, 2 seeds": (
            *("81.00 ± 1.41", "82.50 ± 2.12", "86.00 ± 2.83"),
            *("+1.50 [-4.85, 7.85]", "+3.50 [-2.85, 9.85]"),  # 12.706 times 0.5 to either side
        )
    }
    without_elmo = [path for path in tmp_path.iterdir() if not path.name.startswith("elmo")]
    unscored = make_run(tmp_path / "unscored", test=None)
    for paths in (without_elmo, [*without_elmo, unscored]):
        *_, table = details(paths)
        assert [cells[2:] for cells in table.rows.values()] == [(None, "+1.50 [-4.85, 7.85]", None)]


def test_data_that_the_paper_does_not_have_make_no_row(tmp_path: Path):
    runs = [make_run(tmp_path / elmo, f"elmo={elmo}", test=80, task="sentiment") for elmo in ("none", "both")]
    assert our_rows(runs) == []


def test_runs_without_test_scores_make_a_row_that_says_so(tmp_path: Path):
    runs = [make_run(tmp_path / elmo, f"elmo={elmo}", test=None) for elmo in ("none", "input")]
    (row,) = our_rows(runs)
    assert row.row == "NER" and set(row.cells) == {None}
    advice = "`elmokit train --resume RUN --test` adds them where the folder of the run is kept"
    assert f"runs without test scores ({advice})" in row.measured_on
    runs[0] = make_run(tmp_path / "scored", "elmo=none", test=80)
    assert our_rows(runs) == [row]


def test_the_largest_data_come_first_and_runs_without_test_scores_are_not_beside_others(tmp_path: Path):
    for number, test in ((20, 60), (14_041, 80), (2000, 70), (200, None)):
        for elmo in ("none", "input"):
            make_run(tmp_path / f"{elmo}-{number}", f"elmo={elmo}", num_train=number, test=test)
    assert [row.measured_on.split(", ")[1] for row in our_rows([tmp_path])] == [
        "14,041 examples",
        "2,000 examples",
        "20 examples",
    ]


def test_counterparts_are_rows_of_the_table_for_tasks_that_exist():
    assert {counterpart.row for counterpart in COUNTERPARTS.values()} == set(TABLE_1.rows)
    assert {task for task, _ in COUNTERPARTS} == set(TASKS)


def test_every_reproduction_in_the_list_is_of_a_table_of_the_paper_or_names_another_source():
    for name in REPRODUCTIONS:
        reproduction = find_reproduction(name)
        assert reproduction.name == name
        assert reproduction.paper in ALL_TABLES or reproduction.paper.source != TABLE_1.source


def test_an_unknown_table_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="no reproduction 'tabel1'; did you mean table1"):
        find_reproduction("tabel1")


def test_the_verb_writes_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    runs = make_seeds(tmp_path / "runs")
    assert main(["table1", str(runs), "-o", str(tmp_path / "docs")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "docs" / "table1.md")]
    page = (tmp_path / "docs" / "table1.md").read_text(encoding="utf-8")
    assert f"`python -m paper table1 {runs} -o {tmp_path / 'docs'}`" in page
    assert "| NER | paper | Peters et al. (2017) | 91.93 ± 0.19 | 90.15 | 92.22 ± 0.10 | 2.06 | 21 |" in page
    assert f"| NER | {WHERE} | – | – | 82.00 ± 2.00 | 86.00 ± 1.73 | 4.00 | 22.22 |" in page
