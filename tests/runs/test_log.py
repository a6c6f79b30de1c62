"""Logs of runs: appended, read back, and cut when a run is resumed; runs for reports; the commit of the source."""

import errno
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elmokit.runs.log import Record, append_json_line, commit_of, keep_records, read_log, read_runs


def test_a_full_disk_or_what_json_cannot_hold_leaves_no_part_of_a_line(tmp_path: Path, monkeypatch: Any):
    path, write = tmp_path / "metrics.jsonl", os.write
    append_json_line(path, {"step": 1})
    with pytest.raises(ValueError, match=r"metrics\.jsonl: .* in \{'loss': nan\}"):
        append_json_line(path, {"loss": float("nan")})

    def nothing(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for part in (nothing, lambda file, data: write(file, data[: len(data) // 2])):
        monkeypatch.setattr(os, "write", part)
        with pytest.raises(OSError, match=r"No space left.*metrics\.jsonl"):
            append_json_line(path, {"step": 2})
        assert path.read_text() == '{"step": 1}\n'


def values_of(path: Path) -> list[dict[str, Any]]:
    return [record.values for record in read_log(path).records]


def test_a_damaged_line_is_named_and_a_pipe_in_the_place_of_a_log_is_not_waited_for(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    for line, message in (("x", "is not valid JSON"), ("7", "expected `object`, got `int`")):
        path.write_text(f'{{"step": 1}}\n\n{line}\n{{"step": 3}}\n')
        with pytest.raises(ValueError, match=rf"metrics\.jsonl, line 3: {message}"):
            read_log(path)
    path.unlink()
    os.mkfifo(path)
    for read in (read_log, lambda path: keep_records(path, lambda record: True)):
        with pytest.raises(ValueError, match=r"metrics\.jsonl: is a folder, a device or a pipe; expected the log"):
            read(path)


def test_records_that_are_kept_stay_as_they_were_written_and_the_last_line_may_be_torn_or_lack_its_line_feed(
    tmp_path: Path,
):
    path = tmp_path / "metrics.jsonl"
    kept = '{"step":1,  "note": "\\ubc25 밥\u2028"}\n'
    path.write_text(kept + '{"step": 5}\n{"step": 2}\n{"st', encoding="utf-8")
    keep_records(path, lambda record: record.integer("step") < 2)
    assert path.read_text(encoding="utf-8") == kept
    path.write_text('{"step": 1}\n{"step": 2}')
    log = read_log(path)
    assert values_of(path) == [{"step": 1}, {"step": 2}]
    assert not log.has_torn_line
    for rest in (b'{"step": 3, "lo', b'{"note": "\xeb\xb0', b"{"):  # a torn line is left out and reported
        path.write_bytes(b'{"step": 1}\n{"step": 2}\n' + rest)
        assert (read_log(path).records, read_log(path).has_torn_line) == (log.records, True)
    path.write_text('{"step": 1}\n{"step": 2}')
    keep_records(path, lambda record: True)
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n'
    assert values_of(tmp_path / "none") == []  # a log that is not there
    keep_records(tmp_path / "none", lambda record: True)


def test_what_an_editor_adds_is_not_in_the_way_and_errors_have_the_numbers_of_the_lines(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    for start, line_end, rest in (("", "\n", "\n"), ("\ufeff", "\r\n", ""), ("", "\n", "\t")):
        path.write_text(f'{start}{{"step": 1}}\n \n\n{{"epoch": 2}}\n{rest}'.replace("\n", line_end), encoding="utf-8")
        assert (values_of(path), read_log(path).has_torn_line) == ([{"step": 1}, {"epoch": 2}], False)
        with pytest.raises(ValueError, match=r"metrics\.jsonl, line 4: field step: expected `int`, got `null`"):
            keep_records(path, lambda record: record.integer("step") > 0)
        keep_records(path, lambda record: "step" in record.values)
        append_json_line(path, {"step": 2})
        assert values_of(path) == [{"step": 1}, {"step": 2}]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_that_of_a_tracked_file_with_a_plus_if_it_differs(tmp_path: Path, monkeypatch: Any):
    for name in ("tracked.py", "installed.py"):
        (tmp_path / name).write_text("one = 1\n")
    assert commit_of(tmp_path / "tracked.py") == "unknown"  # there is no repository yet
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "tracked.py"), (*identity, "commit", "-qm", "one")):
        subprocess.run(("git", "-C", str(tmp_path), *words), check=True)
    commit = commit_of(tmp_path / "tracked.py")
    assert len(commit) == 12 and int(commit, 16) >= 0
    (tmp_path / "tracked.py").write_text("one = 2\n")
    assert commit_of(tmp_path / "tracked.py") == f"{commit}+"
    assert commit_of(tmp_path / "installed.py") == "unknown"
    monkeypatch.setenv("PATH", "")  # without git
    assert commit_of(tmp_path / "tracked.py") == "unknown"


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
    assert (first.name, first.config, first.records) == ("a", None, [Record({"step": 0}, "")])
    assert (second.name, second.config) == ("b", {"rate": 0.1, "name": "밥"})
    assert (second.where, second.config_where) == (str(folder / "b"), str(folder / "b" / "config.json"))
    assert second.records[1].where == f"{folder / 'b' / 'metrics.jsonl'}, line 2"
    assert read_runs([folder / "b"]) == read_runs([folder / "b" / "metrics.jsonl"]) == read_runs([folder])[1:]


def test_many_runs_in_one_file_are_read_back(folder: Path, tmp_path: Path):
    runs = read_runs([folder])
    config = {"rate": 0.1, "name": "밥"}
    lines = [
        {"name": "a", "config": None, "metrics": [{"step": 0}]},
        {"name": "b", "config": config, "metrics": [{"step": 0}, {"step": 1}]},
    ]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    where = {name: f"{tmp_path / 'runs.jsonl'}, run {name}" for name in "ab"}
    expected = [replace(run, where=where[run.name], config_where=where[run.name]) for run in runs]
    assert read_runs([tmp_path / "runs.jsonl"]) == read_runs([tmp_path]) == expected
    shutil.copy(tmp_path / "runs.jsonl", folder)
    (folder / "a").rename(tmp_path / "a")
    assert [run.where for run in read_runs([folder])] == [f"{folder / 'runs.jsonl'}, run a", str(folder / "b")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"name": 3, "config": null, "metrics": []}', "runs.jsonl, line 1: field name: expected `str`, got `int`"),
        (
            '{"name": "a", "config": null, "metrics": [1]}',
            r"line 1: field metrics\[0\]: expected `object`",
        ),
        ('{"name": "a", "config": null, "metrics": []}\n{"na', "the last line is incomplete"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, line: str, message: str):
    (tmp_path / "runs.jsonl").write_text(line + "\n" if line.endswith("}") else line)
    with pytest.raises(ValueError, match=message):
        read_runs([tmp_path / "runs.jsonl"])
