"""Records of what reproductions measure: appended, found again, and where they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

import elmokit
from paper.results import append_result, read_results


def test_records_are_found_by_their_reproduction_in_folders_and_files(tmp_path: Path):
    append_result(tmp_path / "a", "table7", {"before": 100.0})
    append_result(tmp_path / "a", "table5", {"f1": 65.9})
    append_result(tmp_path / "b" / "inner", "table7", {"before": 50.0})
    found = read_results([tmp_path / "a", tmp_path / "b", tmp_path / "nothing"], "table7")
    assert [fields.number("before") for fields in found] == [100.0, 50.0]
    (one,) = read_results([tmp_path / "a" / "results.jsonl"], "table5")
    assert one.number("f1") == 65.9 and one.text("version") == elmokit.__version__
    assert read_results([tmp_path / "a", tmp_path / "a" / "results.jsonl"], "table5") != []


def test_a_file_that_is_in_two_paths_is_read_once(tmp_path: Path):
    append_result(tmp_path, "table7", {"before": 100.0})
    assert len(read_results([tmp_path, tmp_path / "results.jsonl"], "table7")) == 1


def test_a_damaged_file_is_named(tmp_path: Path):
    (tmp_path / "results.jsonl").write_text("nonsense\n{}\n")
    with pytest.raises(ValueError, match=r"results\.jsonl, line 1"):
        read_results([tmp_path], "table7")
