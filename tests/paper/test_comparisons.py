"""Runs of tasks compared: means, deviations and gains worked out by hand, and which runs are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from elmokit.runs.logged_runs import read_runs, write_runs
from logged_task_runs import make_run, make_seeds
from paper.comparisons import Results, compare_runs, gain
from paper.printed import TABLE_1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_seeds(tmp_path / "runs")


def compare(*paths: Path) -> Results:
    return compare_runs(read_runs(paths))


def test_means_deviations_and_gains_are_those_worked_out_by_hand(folder: Path):
    (one,) = compare(folder).comparisons
    before, after = one.baseline.score("f1", test_set="eng.testb"), one.elmo.score("f1", test_set="eng.testb")
    assert before is not None and after is not None
    assert (before.mean, before.deviation) == (82.0, 2.0)
    assert after.mean == 86.0 and after.deviation == pytest.approx(3**0.5)
    assert gain(before.mean, after.mean) == (4.0, pytest.approx(100 * 4 / 18))
    assert one.elmo.median_seconds == 150.0  # of 100, 150, 300
    assert one.elmo.median_processor_seconds == 91.0  # of 90 and 92
    assert (one.elmo.machines, one.elmo.sources) == (["a loom"], ["0.1.0, abc"])
    assert one.baseline.median_processor_seconds is None and one.baseline.machines == []


def test_the_paper_s_relative_reductions_follow_from_its_scores():
    for row in TABLE_1.rows:
        baseline, elmo, relative = (TABLE_1.cell(row, name).value for name in ("baseline", "+ ELMo", "relative"))
        assert gain(baseline, elmo)[1] == pytest.approx(relative, abs=0.05)
    assert gain(100.0, 99.0) == (-1.0, None)


def test_positions_and_settings_of_elmo_share_a_baseline(tmp_path: Path):
    baseline = make_run(tmp_path / "none", "elmo=none", "elmo.penalty=9", test=80)
    runs = [
        make_run(tmp_path / str(number), *settings, test=test)
        for number, (settings, test) in enumerate(
            [(["elmo=input", "elmo.penalty=0.1"], 85), (["elmo=input", "elmo.penalty=0"], 84), (["elmo=both"], 83)]
        )
    ]
    comparisons = compare(*runs, baseline).comparisons
    assert [one.elmo_name for one in comparisons] == [
        "both",
        "input",
        "input, penalty 0.0",
    ]
    assert {one.baseline.runs[0].where for one in comparisons} == {str(baseline)}


def test_runs_of_several_machines_are_compared(tmp_path: Path):
    vectors = [f"word_vectors={home}/glove.txt" for home in ("/a", "/b")]
    here = make_run(tmp_path / "here", "elmo=none", vectors[0], test=80, home="/here")
    there = make_run(tmp_path / "there", "elmo=input", vectors[1], test=85, home="/there")
    assert len(compare(here, there).comparisons) == 1


def test_runs_without_test_scores_are_compared_by_the_development_set_and_named(tmp_path: Path):
    runs = [make_run(tmp_path / elmo, f"elmo={elmo}", test=None, dev=60) for elmo in ("none", "input")]
    results = compare_runs(read_runs(runs))
    assert results.comparisons[0].test_sets == [None]
    (note,) = results.notes
    advice = "`elmokit train --resume RUN --test` adds them where the folder of the run is kept"
    assert note.startswith(f"2 runs have no test scores ({advice}): /")
    assert all(str(run) in note for run in runs)


def test_arms_without_a_common_seed_are_not_compared_and_named(folder: Path, tmp_path: Path):
    make_run(tmp_path / "other", "elmo=output", "seed=7", test=90)
    results = compare(folder, tmp_path / "other")
    assert [one.elmo_name for one in results.comparisons] == ["input"]
    without = "the runs without ELMo of the same data and settings have other seeds (0, 1, 2, not 7)"
    assert results.notes == [f"{tmp_path / 'other'}: {without}"]


def test_two_runs_of_one_seed_are_refused(folder: Path):
    make_run(folder / "again", "elmo=none", "seed=1", test=99)
    with pytest.raises(ValueError, match=r"again and .*ner-none-1 are runs of the same settings and the same seed, 1"):
        compare(folder)


def test_one_arm_alone_is_refused(folder: Path):
    with pytest.raises(ValueError, match=r"nothing to compare: .*ner-none-0, .*: no run with ELMo of the same data"):
        compare(*folder.glob("*none*"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{]", "metrics.jsonl, line 1: is not valid JSON"),
        ('{"result": true, "dev": {"f1": 1}}', "metrics.jsonl, line 1: field test: is missing"),
        ('{"result": true, "dev": {"recall": 1}, "test": {}}', "field dev.f1: is missing; there are recall"),
        ('{"result": true, "dev": {"f1": NaN}, "test": {}}', "line 1: is not valid JSON: NaN"),
    ],
)
def test_a_bad_last_line_is_refused(line: str, message: str, folder: Path):
    (folder / "ner-none-0" / "metrics.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        compare(folder)


def test_settings_that_cannot_be_read_are_refused(folder: Path):
    path = folder / "ner-none-0" / "config.json"
    record = json.loads(path.read_text())
    for changed, message in (
        ({"task": "named-entity"}, "config.json: no task 'named-entity'; did you mean named-entities"),
        ({"version": 3}, "config.json has version 3; this elmokit reads version 2"),
        ({"inputs": 7}, "config.json: field inputs: is a number; expected an object"),
    ):
        path.write_text(json.dumps(record | changed))
        with pytest.raises(ValueError, match=message):
            compare(folder)
    path.unlink()
    with pytest.raises(ValueError, match="ner-none-0 has no config.json; expected a run of `elmokit train`"):
        compare(folder)


def test_runs_in_one_file_compare_as_their_folders_do(folder: Path, tmp_path: Path):
    write_runs(read_runs([folder]), tmp_path / "runs.jsonl")
    ours, theirs = compare(tmp_path / "runs.jsonl"), compare(folder)
    for one, other in zip(ours.comparisons, theirs.comparisons, strict=True):
        assert one.baseline.results == other.baseline.results and one.elmo.results == other.elmo.results
    assert ours.comparisons[0].baseline.runs[0].where == f"{tmp_path / 'runs.jsonl'}, run ner-none-0"


def test_runs_differ_by_how_much_was_left_out_not_by_how_that_was_worded(tmp_path: Path):
    """The reasons are sentences, and may be worded better by a later version."""
    runs = [make_run(tmp_path / elmo, f"elmo={elmo}", test=80) for elmo in ("none", "input")]
    for run, reason in zip(runs, ("too long", "sentences that are too long"), strict=True):
        record = json.loads((run / "config.json").read_text())
        record["examples"]["train"][reason] = 7
        (run / "config.json").write_text(json.dumps(record))
    assert len(compare(*runs).comparisons) == 1
    record["examples"]["train"][reason] = 8
    (run / "config.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="differ in examples"):
        compare(*runs)


def test_reading_and_comparing_runs_needs_no_torch(folder: Path):
    code = (
        "import sys; from pathlib import Path; from paper.comparisons import compare_runs; "
        "from elmokit.runs.logged_runs import read_runs; "
        f"assert compare_runs(read_runs([Path({str(folder)!r})])).comparisons; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
