"""metrics.jsonl: whole lines are appended, read back, and cut when a run is resumed; the commit of the source."""

import errno
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from elmokit.runs.metrics_log import append_json_line, commit_of, keep_records, read_log


def test_a_full_disk_is_named_by_the_file_and_leaves_no_part_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, write = tmp_path / "metrics.jsonl", os.write
    append_json_line(path, {"step": 1})

    def nothing(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for part in (nothing, lambda file, data: write(file, data[: len(data) // 2])):
        monkeypatch.setattr(os, "write", part)
        with pytest.raises(OSError, match=r"No space left.*metrics\.jsonl"):
            append_json_line(path, {"step": 2})
        assert path.read_text() == '{"step": 1}\n'


def test_what_json_cannot_hold_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"metrics\.jsonl: .* in \{'loss': nan\}"):
        append_json_line(tmp_path / "metrics.jsonl", {"loss": float("nan")})
    assert not (tmp_path / "metrics.jsonl").exists()


@pytest.mark.parametrize(("line", "message"), [("x", "is not valid JSON"), ("7", "holds a number; expected an object")])
def test_a_damaged_line_is_named(tmp_path: Path, line: str, message: str):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": 1}}\n\n{line}\n{{"step": 3}}\n')
    with pytest.raises(ValueError, match=rf"metrics\.jsonl, line 3: {message}"):
        read_log(path)


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
    assert log.records == [{"step": 1}, {"step": 2}]
    assert not log.has_torn_line
    for rest in (b'{"step": 3, "lo', b'{"note": "\xeb\xb0', b"{"):  # a torn line is left out and reported
        path.write_bytes(b'{"step": 1}\n{"step": 2}\n' + rest)
        assert (read_log(path).records, read_log(path).has_torn_line) == (log.records, True)
    path.write_text('{"step": 1}\n{"step": 2}')
    keep_records(path, lambda record: True)
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n'
    assert read_log(tmp_path / "none").records == []  # a log that is not there
    keep_records(tmp_path / "none", lambda record: True)


def test_what_an_editor_adds_is_not_in_the_way_and_errors_have_the_numbers_of_the_lines(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    for start, line_end, rest in (("", "\n", "\n"), ("\ufeff", "\r\n", ""), ("", "\n", "\t")):
        path.write_text(f'{start}{{"step": 1}}\n \n\n{{"epoch": 2}}\n{rest}'.replace("\n", line_end), encoding="utf-8")
        assert (read_log(path).records, read_log(path).has_torn_line) == ([{"step": 1}, {"epoch": 2}], False)
        with pytest.raises(ValueError, match=r"metrics\.jsonl, line 4: field step: is missing"):
            keep_records(path, lambda record: record.integer("step") > 0)
        keep_records(path, lambda record: "step" in record)
        append_json_line(path, {"step": 2})
        assert read_log(path).records == [{"step": 1}, {"step": 2}]


def test_a_pipe_in_the_place_of_a_log_is_not_waited_for(tmp_path: Path):
    path = tmp_path / "metrics.jsonl"
    os.mkfifo(path)
    for read in (read_log, lambda path: keep_records(path, lambda record: True)):
        with pytest.raises(ValueError, match=r"metrics\.jsonl: is a folder, a device or a pipe; expected the log"):
            read(path)


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
