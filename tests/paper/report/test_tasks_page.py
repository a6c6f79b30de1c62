"""The page of results: rows worked out by hand, the paper's numbers next to them, and what is not compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.report.pages import write_report
from logged_task_runs import make_run, make_seeds

SAMPLE = "conll2003, 14,041 examples"
MEASURED_ON = f"{SAMPLE}, mini-en (01234567) at input"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_seeds(tmp_path / "runs")


def page_of(*runs: Path, folder: Path) -> str:
    """The part about tasks of the page of results."""
    page, *_ = write_report(runs, folder)
    return page.read_text(encoding="utf-8").partition("## The tasks, without ELMo and with it")[2]


def rows_of(page: str, start: str) -> list[list[str]]:
    rows = [line for line in page.splitlines() if line.startswith(f"| {start} |")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_too_few_seeds_are_named_with_the_time_that_a_run_takes(folder: Path, tmp_path: Path):
    runs = sorted(folder.iterdir())
    assert "Fewer than" not in page_of(*runs, folder=tmp_path / "docs")
    few = [run for run in runs if run.name != "ner-none-1"]  # the longest of the others took 300 seconds
    expected = f"Fewer than 3 seeds: named-entities on {SAMPLE} (2; a run took up to 5 minutes)."
    assert expected in page_of(*few, folder=tmp_path / "docs")


def test_the_page_has_our_row_next_to_the_paper_s(folder: Path, tmp_path: Path):
    page = page_of(folder, folder=tmp_path / "docs")
    main_row, data, recall, *runs, mixes = rows_of(page, "named-entities")
    assert main_row == [
        *("named-entities", MEASURED_ON, "eng.testb", "f1", "3", "82.00 ± 2.00", "86.00 ± 1.73", "+4.00"),
        *("22.2 %", "83.00 ± 2.00", "87.00 ± 1.73", "90.15", "92.22 ± 0.10", "2.06", "21 %"),
    ]
    assert data[2:6] == ["14,041", "14,041", "3,250", "eng.testb: 3,453"]
    assert "max\\_epochs=8" in data[6] and data[8] == "mini-en (01234567)"
    assert recall[3:7] == ["recall", "30.00 ± 0.00", "30.00 ± 0.00", "+0.00"]
    assert [row[1:] for row in runs] == [
        [f"{SAMPLE}, no ELMo", "0, 1, 2", "not recorded", "not recorded", "60", "–", "1, 1, 1"],
        [MEASURED_ON, "0, 1, 2", "a loom", "0.1.0, abc", "150", "91", "4, 5, 6"],
    ]
    assert mixes[1:] == [MEASURED_ON, "input", "0.20 0.40 0.40", "2.00"]
    assert "higher on 1 of 1 test sets" in page and "at or above the paper's in 1 of 1" in page
    assert "Peters et al. (2018), Table 1" in page and "CoNLL-2003, as in the paper" in page
    assert "Not compared" not in page


def test_data_that_the_paper_does_not_have_are_shown_without_its_numbers(tmp_path: Path):
    runs = [
        make_run(tmp_path / f"ko-{elmo}", f"elmo={elmo}", "max_train_examples=20", test=test, task="sentiment")
        for elmo, test in (("none", 80.0), ("both", 79.0))
    ]
    page = page_of(*runs, folder=tmp_path / "docs")
    main_row = rows_of(page, "sentiment")[0]
    assert main_row[1:9] == [
        "nsmc, 14,041 examples, mini-en (01234567) at both",
        "test.tsv",
        "accuracy",
        "1",
        "80.00",
        "79.00",
        "-1.00",
        "-5.0 %",
    ]
    assert main_row[11:] == ["–"] * 4
    assert "higher on 0 of 1 test sets" in page and "at or above" not in page
    assert "max\\_train\\_examples=20" in page
    assert "not recorded" in page  # the mixes of an older run


def test_a_gain_counts_as_sure_where_its_interval_over_seeds_is_above_zero(folder: Path, tmp_path: Path):
    sure = "The 95 % interval of the gain over seeds (Student's t) is above zero on {} of them."
    assert sure.format(1) in page_of(folder, folder=tmp_path / "docs")  # gains of 5, 3 and 4
    make_run(folder / "none", "elmo=none", test=70, task="entailment")
    make_run(folder / "elmo", test=80, task="entailment")
    page = page_of(folder, folder=tmp_path / "docs")
    assert "higher on 2 of 2" in page and sure.format(1) in page  # one seed has none


def test_what_is_not_compared_is_named(folder: Path, tmp_path: Path):
    make_run(folder / "ner-none-9", "elmo=none", "seed=9", test=0, ended=False)
    make_run(folder / "ner-faster", "elmo=input", "learning_rate=0.01", test=99)
    with (folder / "ner-none-9" / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 1, "result": tr')  # the power went off
    page = page_of(folder, folder=tmp_path / "docs")
    assert "ner-none-9 has not ended" in page
    assert "ner-faster: no run without ELMo of the same data and settings" in page
    assert "the nearest of named-entities differ in training.learning\\_rate (0.01, not 0.003)" in page
    assert rows_of(page, "named-entities")[0][4] == "3"


def test_a_baseline_that_two_arms_share_is_one_row_of_the_runs(tmp_path: Path):
    runs = [make_run(tmp_path / elmo, f"elmo={elmo}", test=80) for elmo in ("none", "input", "both")]
    page = page_of(*runs, folder=tmp_path / "docs")
    assert sum(row[1] == f"{SAMPLE}, no ELMo" for row in rows_of(page, "named-entities")) == 1


def test_development_sets_count_only_where_nothing_was_tested(tmp_path: Path):
    runs = tmp_path / "runs"
    for name, settings in (("none", ("elmo=none", "train_share=0.1")), ("elmo", ("train_share=0.1",))):
        make_run(runs / name, *settings, test=None, dev=70)
    assert "higher on 0 of 1 development sets" in page_of(runs, folder=tmp_path / "docs")
    for name, settings, test in (("all-none", ("elmo=none",), 80), ("all-elmo", (), 85)):
        make_run(runs / name, *settings, test=test)
    page = page_of(runs, folder=tmp_path / "docs")
    assert "higher on 1 of 1 test sets" in page and len(rows_of(page, "named-entities")) == 6  # of the tested runs


def test_of_equal_sizes_the_recipe_s_model_counts_and_of_these_the_converged_runs(tmp_path: Path):
    """ELMo helps the classifier that no table of the paper has, and the runs that were cut off: not what counts."""
    for name, settings, tests, converged in (
        ("cut", ("max_epochs=3",), (80, 85), False),
        ("cnn", ("classifier=cnn",), (80, 86), True),
        ("whole", (), (80, 79), True),
    ):
        for elmo, test in zip(("none", "both"), tests, strict=True):
            run = tmp_path / "runs" / f"{name}-{elmo}"
            make_run(run, f"elmo={elmo}", *settings, test=test, task="sentiment", converged=converged)
    assert "higher on 0 of 1 test sets" in page_of(tmp_path / "runs", folder=tmp_path / "docs")


@pytest.mark.parametrize("better", ["both", "output"])
def test_of_equal_comparisons_the_one_that_is_better_with_elmo_on_the_development_set_counts(
    tmp_path: Path, better: str
):
    places = {"both": (), "output": ("elmo=output", "elmo.dropout_rate=0.5")}
    make_run(tmp_path / "none", "elmo=none", task="entailment", test=70)
    for place, settings in places.items():
        right = place == better
        make_run(tmp_path / place, *settings, task="entailment", dev=60 + right, test=71 if right else 69)
    assert "higher on 1 of 1 test sets" in page_of(tmp_path, folder=tmp_path / "docs")


def test_controls_are_shown_without_the_paper_s_numbers_and_not_counted(tmp_path: Path):
    for name, settings, test in (
        ("none", ("elmo=none",), 80),
        ("elmo", (), 85),
        ("random", ("elmo.model=/models/random-0123",), 81),
        ("zero", ("elmo.layers=0",), 82),
    ):
        make_run(tmp_path / "runs" / name, *settings, test=test, seconds=300.0 if name == "random" else 60.0)
    page = page_of(tmp_path / "runs", folder=tmp_path / "docs")
    assert "higher on 1 of 1 test sets" in page and "Not counted: 2 with random weights, settings of ELMo" in page
    assert f"Fewer than 3 seeds: named-entities on {SAMPLE} (1; a run took up to 5 minutes)." in page  # once for all
    assert {row[1].removeprefix(f"{SAMPLE}, "): row[11] for row in rows_of(page, "named-entities")[:3]} == {
        "mini-en (01234567) at input": "90.15",
        "random-0123 (01234567) at input": "–",
        "mini-en (01234567) at input, layers 0": "–",
    }


def test_gains_are_of_seeds_that_both_arms_have(tmp_path: Path):
    for seed, (without, with_elmo) in enumerate([(80.0, 85.0), (90.0, None), (None, 99.0)]):
        make_run(tmp_path / "runs" / f"none-{seed}", "elmo=none", f"seed={seed}", test=without)
        make_run(tmp_path / "runs" / f"elmo-{seed}", f"seed={seed}", test=with_elmo)
    page = page_of(tmp_path / "runs", folder=tmp_path / "docs")
    assert rows_of(page, "named-entities")[0][4:9] == ["1", "80.00", "85.00", "+5.00", "25.0 %"]
    assert f"Fewer than 3 seeds: named-entities on {SAMPLE} (1;" in page
    recall = next(row for row in rows_of(page, "named-entities") if row[3] == "recall")
    assert recall[4:] == ["30.00", "30.00", "+0.00", "40.00", "40.00", "+0.00"]  # no deviation: of the same seed


def test_a_run_of_one_minute_is_in_the_singular(tmp_path: Path):
    runs = [make_run(tmp_path / elmo, f"elmo={elmo}", test=80) for elmo in ("none", "input")]
    assert "a run took up to 1 minute)." in page_of(*runs, folder=tmp_path / "docs")
