"""Runs of tasks side by side: means, deviations and gains worked out by hand, and which runs are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main
from elmokit.report.pages import report_tasks
from elmokit.report.task_results import Statistic, compare_runs, gain
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import Splits, with_settings
from elmokit.tasks.run_folder import TaskRecord, write_record
from elmokit.tasks.task import Task, recipe
from elmokit.tasks.train import train

FILES = {
    "named-entities": ("conll2003", "eng.train", "eng.testa", "eng.testb"),
    "sentiment": ("nsmc", "train.tsv", "dev.tsv", "test.tsv"),
    "question-answering": ("squad_v1.1", "train-subset.json#4:", "train-subset.json#:4", "dev-v1.1.json"),
}


def make_run(
    folder: Path,
    *settings: str,
    test: float,
    dev: float = 50.0,
    task: str = "named-entities",
    ended: bool = True,
    home: str = "/data",
    **result: Any,
) -> Path:
    """What a run leaves behind, without its weights; `result` is added to the last line."""
    folder.mkdir(parents=True)
    found = find_task(task)
    name, *files = FILES[task]
    splits = [(Path(home) / name / file,) for file in files]
    config = with_settings(recipe(found, "cpu"), settings)
    counts = {"train": {"examples": 14_041}, "dev": {"examples": 3_250}, f"test {files[-1]}": {"examples": 3_453}}
    fingerprint = None if config.inputs.elmo is None else "0123456789abcdef"
    write_record(folder, TaskRecord(task, config, ["O", "B-PER"], Splits(*splits), fingerprint, counts))
    lines: list[dict[str, Any]] = [{"epoch": 1, "step": 9, "loss": 1.0, "dev": {found.metric: dev}, "seconds": 60.0}]
    if ended:
        scores = {"dev": {found.metric: dev, "recall": 40.0}, "test": {files[-1]: {found.metric: test, "recall": 30.0}}}
        lines.append({"epoch": 1, "best_epoch": 1, "result": True, **scores, "seconds": 60.0, **result})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three seeds of each arm: 80, 82, 84 and 85, 85, 88 on the test set."""
    for seed, (without, with_elmo) in enumerate([(80.0, 85.0), (82.0, 85.0), (84.0, 88.0)]):
        make_run(tmp_path / f"runs/ner-none-{seed}", "elmo=none", f"seed={seed}", test=without, dev=without + 1)
        make_run(
            tmp_path / f"runs/ner-input-{seed}",
            "elmo=input",
            f"seed={seed}",
            test=with_elmo,
            dev=with_elmo + 1,
            seconds=100.0 + 50 * seed**2,
            **({} if seed == 1 else {"processor_seconds": 90.0 + seed, "machine": "a loom"}),
            best_epoch=4 + seed,
            mixes={"input": {"gamma": 1.0 + seed, "weights": [0.2, 0.3 + seed / 10, 0.5 - seed / 10]}},
        )
    return tmp_path / "runs"


def children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def page_of(*runs: Path, folder: Path) -> str:
    (page,) = report_tasks(runs, folder)
    return page.read_text(encoding="utf-8")


def rows_of(page: str, start: str) -> list[list[str]]:
    rows = [line for line in page.splitlines() if line.startswith(f"| {start} |")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_means_deviations_and_gains_are_those_worked_out_by_hand(folder: Path):
    (one,) = compare_runs(children(folder)).comparisons
    before, after = one.baseline.score("f1", test_set="eng.testb"), one.elmo.score("f1", test_set="eng.testb")
    assert before is not None and after is not None
    assert (before.mean, before.deviation) == (82.0, 2.0)
    assert after.mean == 86.0 and after.deviation == pytest.approx(3**0.5)
    assert gain(before.mean, after.mean) == (4.0, pytest.approx(100 * 4 / 18))
    assert one.elmo.median_seconds == 150.0  # of 100, 150, 300
    assert one.elmo.median_processor_seconds == 91.0  # of 90 and 92
    assert one.elmo.machines == ["a loom"]
    assert one.baseline.median_processor_seconds is None and one.baseline.machines == []


def test_the_paper_s_relative_reductions_follow_from_its_scores():
    table = {81.1: 85.8, 88.0: 88.7, 81.4: 84.6, 67.2: 70.4, 90.15: 92.22, 51.4: 54.7}
    relative = [gain(before, after)[1] for before, after in table.items()]
    assert relative == pytest.approx([24.9, 5.8, 17.2, 9.8, 21.0, 6.8], abs=0.05)
    assert gain(100.0, 99.0) == (-1.0, None)


def test_one_seed_has_no_deviation():
    assert Statistic((80.0,)).deviation is None


def test_too_few_seeds_are_named_with_the_time_that_a_run_takes(folder: Path, tmp_path: Path):
    runs = children(folder)
    assert "Fewer than" not in page_of(*runs, folder=tmp_path / "docs")
    few = [run for run in runs if run.name != "ner-none-1"]  # the longest of the others took 300 seconds
    expected = "Fewer than 3 seeds: named-entities on conll2003 (2; a run took up to 5 minutes)."
    assert expected in page_of(*few, folder=tmp_path / "docs")


def test_the_page_has_the_row_beside_the_paper_s(folder: Path, tmp_path: Path):
    page = page_of(*children(folder), folder=tmp_path / "docs")
    main_row, data, recall, *runs, mixes = rows_of(page, "named-entities")
    assert main_row == [
        *("named-entities", "conll2003", "eng.testb", "f1", "input", "3", "82.00 ± 2.00", "86.00 ± 1.73", "+4.00"),
        *("22.2 %", "83.00 ± 2.00", "87.00 ± 1.73", "90.15", "92.22 ± 0.10", "2.06", "21 %"),
    ]
    assert data[2:6] == ["14,041", "14,041", "3,250", "eng.testb: 3,453"]
    assert "max\\_epochs=8" in data[6] and data[8] == "mini-en (01234567)"
    assert recall[4:8] == ["recall", "30.00 ± 0.00", "30.00 ± 0.00", "+0.00"]
    assert [row[2:] for row in runs] == [
        ["none", "0, 1, 2", "not recorded", "60", "–", "1, 1, 1"],
        ["input", "0, 1, 2", "a loom", "150", "91", "4, 5, 6"],
    ]
    assert mixes[2:] == ["input", "input", "0.20 0.40 0.40", "2.00"]
    assert "higher in 1 of 1 comparisons" in page and "at or above the paper's in 1 of 1" in page
    assert "Peters et al. (2018), Table 1" in page and "CoNLL-2003, as in the paper" in page
    assert "Not compared" not in page


def test_data_that_the_paper_has_not_stand_without_its_numbers(tmp_path: Path):
    runs = [
        make_run(tmp_path / f"ko-{elmo}", f"elmo={elmo}", "max_train_examples=20", test=test, task="sentiment")
        for elmo, test in (("none", 80.0), ("both", 79.0))
    ]
    page = page_of(*runs, folder=tmp_path / "docs")
    main_row = rows_of(page, "sentiment")[0]
    assert main_row[1:10] == ["nsmc", "test.tsv", "accuracy", "both", "1", "80.00", "79.00", "-1.00", "-5.0 %"]
    assert main_row[12:] == ["–"] * 4
    assert "higher in 0 of 1 comparisons" in page and "at or above" not in page
    assert "max\\_train\\_examples=20" in page
    assert "not recorded" in page  # the mixes of an older run


def test_places_and_settings_of_elmo_share_a_baseline(tmp_path: Path):
    baseline = make_run(tmp_path / "none", "elmo=none", "elmo.penalty=9", test=80)
    runs = [
        make_run(tmp_path / str(number), *settings, test=test)
        for number, (settings, test) in enumerate(
            [(["elmo=input", "elmo.penalty=0.1"], 85), (["elmo=input", "elmo.penalty=0"], 84), (["elmo=both"], 83)]
        )
    ]
    comparisons = compare_runs([*runs, baseline]).comparisons
    assert [one.elmo_name for one in comparisons] == [
        "both, penalty 0.1",
        "input, penalty 0.0",
        "input, penalty 0.1",
    ]
    assert {one.baseline.runs[0].path for one in comparisons} == {baseline}
    page = page_of(*runs, baseline, folder=tmp_path / "docs")
    assert sum(row[2] == "none" for row in rows_of(page, "named-entities")) == 1


def test_runs_of_several_machines_are_compared(tmp_path: Path):
    vectors = [f"word_vectors={home}/glove.txt" for home in ("/a", "/b")]
    here = make_run(tmp_path / "here", "elmo=none", vectors[0], test=80, home="/here")
    there = make_run(tmp_path / "there", "elmo=input", vectors[1], test=85, home="/there")
    assert len(compare_runs([here, there]).comparisons) == 1


def test_what_is_not_compared_is_named(folder: Path, tmp_path: Path):
    make_run(folder / "ner-none-9", "elmo=none", "seed=9", test=0, ended=False)
    make_run(folder / "ner-faster", "elmo=input", "learning_rate=0.01", test=99)
    with (folder / "ner-none-9" / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 1, "result": tr')  # the power went off
    page = page_of(*children(folder), folder=tmp_path / "docs")
    assert "ner-none-9 has not ended" in page
    assert "ner-faster: no run without ELMo of the same data and settings" in page
    assert "the nearest of named-entities differ in training.learning\\_rate (0.01, not 0.003)" in page
    assert rows_of(page, "named-entities")[0][5] == "3"


def test_two_runs_of_one_seed_are_refused(folder: Path):
    make_run(folder / "again", "elmo=none", "seed=1", test=99)
    with pytest.raises(ValueError, match=r"again and .*ner-none-1 are runs of the same settings and the same seed, 1"):
        compare_runs(children(folder))


def test_one_arm_alone_is_refused(folder: Path):
    with pytest.raises(ValueError, match=r"nothing to compare: .*ner-none-0, .*: no run with ELMo of the same data"):
        compare_runs([path for path in children(folder) if "none" in path.name])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{]", r"metrics.jsonl, line 1: not JSON"),
        ('{"result": true, "dev": {"f1": 1}}', r"line 1: not the result of a run \('test'\)"),
        ('{"result": true, "dev": {"recall": 1}, "test": {}}', r"the scores recall lack f1"),
        ('{"result": true, "dev": {"f1": NaN}, "test": {}}', r"f1 is nan; expected a number"),
    ],
)
def test_a_bad_last_line_is_refused(line: str, message: str, folder: Path, tmp_path: Path):
    (folder / "ner-none-0" / "metrics.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        report_tasks(children(folder), tmp_path / "docs")
    assert not (tmp_path / "docs").exists()


def test_settings_that_cannot_be_read_are_refused(folder: Path, tmp_path: Path):
    path = folder / "ner-none-0" / "config.json"
    record = json.loads(path.read_text())
    for changed, message in (
        ({"task": "named-entity"}, "config.json: no task 'named-entity'; did you mean named-entities"),
        ({"version": 3}, "config.json has version 3; this elmokit reads version 2"),
        ({"inputs": 7}, "config.json is not what `elmokit train` writes"),
    ):
        path.write_text(json.dumps(record | changed))
        with pytest.raises(ValueError, match=message):
            compare_runs(children(folder))
    with pytest.raises(FileNotFoundError, match="has no config.json"):
        compare_runs([tmp_path])


def test_the_verb_reads_a_folder_of_runs_and_writes_both_pages(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["report", str(folder), "-o", str(tmp_path / "docs")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "docs/results.md")]
    page = (tmp_path / "docs/results.md").read_text()
    assert f"`elmokit report {folder} -o {tmp_path / 'docs'}`" in page
    pretrained = folder / "pretrained"
    pretrained.mkdir()
    lines = [{"step": n, "num_tokens": 100 * n, "seconds": n, "losses": [5.0, 5.0]} for n in (1, 2)]
    (pretrained / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["report", str(folder), "-o", str(tmp_path / "both")]) == 0
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == [
        *("results.md", "training-curve.svg", "training.md")
    ]


def test_a_run_records_what_its_mixes_have_learnt(
    toy: Task[Any, Any], toy_data: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path
):
    for elmo, layers in (("both", "mix"), ("input", "top"), ("none", "mix")):
        settings = [f"elmo={elmo}", f"elmo.model={tiny_bilms[0]}", f"elmo.layers={layers}", "max_epochs=1"]
        config = with_settings(toy.recipes["cpu"](), settings)
        run = train(toy, toy_data, run_dir=tmp_path / elmo, config=config, device="cpu")
        mixes = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["mixes"]
        assert list(mixes) == {"both": ["input", "output"], "input": ["input"], "none": []}[elmo]
        for mix in mixes.values():
            assert mix["gamma"] != 1.0 and abs(mix["gamma"] - 1) < 0.5
            assert ("weights" in mix) == (layers == "mix")
            if layers == "mix":
                assert len(mix["weights"]) == 3 and sum(mix["weights"]) == pytest.approx(1, abs=1e-5)
