"""Runs read for reports: from folders, from a log alone, and from one file that holds many."""

from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.runs.logged_runs import read_runs, write_runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b", "a", "notes"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "b" / "config.json").write_text('{"rate": 0.1, "name": "밥"}')
    (tmp_path / "runs" / "b" / "metrics.jsonl").write_text('{"step": 0}\n{"step": 1}\n')
    (tmp_path / "runs" / "a" / "metrics.jsonl").write_text('{"step": 0}\n')
    return tmp_path / "runs"


def test_a_run_is_its_folder_or_its_log_and_a_folder_of_runs_has_them_by_name(folder: Path):
    first, second = read_runs([folder])
    assert (first.name, first.config, first.records) == ("a", None, [{"step": 0}])
    assert (second.name, second.config) == ("b", {"rate": 0.1, "name": "밥"})
    assert (second.where, second.config_where) == (str(folder / "b"), str(folder / "b" / "config.json"))
    assert second.lines[1].where == f"{folder / 'b' / 'metrics.jsonl'}, line 2"
    assert read_runs([folder / "b"]) == read_runs([folder / "b" / "metrics.jsonl"]) == read_runs([folder])[1:]


def test_many_runs_in_one_file_are_read_back(folder: Path, tmp_path: Path):
    runs = read_runs([folder])
    write_runs(list(reversed(runs)), tmp_path / "runs.jsonl")
    assert "밥" in (tmp_path / "runs.jsonl").read_text(encoding="utf-8")
    where = {name: f"{tmp_path / 'runs.jsonl'}, run {name}" for name in "ab"}
    expected = [replace(run, where=where[run.name], config_where=where[run.name]) for run in runs]
    assert read_runs([tmp_path / "runs.jsonl"]) == read_runs([tmp_path]) == expected
    with pytest.raises(ValueError, match="two runs are named a; expected one run per name"):
        write_runs([*runs, runs[0]], tmp_path / "new.jsonl")
    write_runs(runs, folder / "runs.jsonl")
    (folder / "a").rename(tmp_path / "a")
    assert [run.where for run in read_runs([folder])] == [f"{folder / 'runs.jsonl'}, run a", str(folder / "b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"name": 3, "config": null, "metrics": []}', "runs.jsonl, line 1: field name: is a number; expected text"),
        ('{"name": "a", "config": null, "metrics": [1]}', r"line 1: field metrics\[0\]: is a number; expected"),
        ('{"name": "a", "config": null, "metrics": []}\n{"na', "the last line is incomplete"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, line: str, message: str):
    (tmp_path / "runs.jsonl").write_text(line + "\n" if line.endswith("}") else line)
    with pytest.raises(ValueError, match=message):
        read_runs([tmp_path / "runs.jsonl"])
