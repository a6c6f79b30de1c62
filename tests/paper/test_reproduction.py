"""What a reproduction is made from: paths that were given, or what it computes from data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paper.printed import TABLE_5
from paper.reproduction import Reproduction, Request, paths_of

READS = Reproduction("table0", TABLE_5, reads="runs of cats", measure=lambda paths: [])


def compute(request: Request) -> list[Path]:
    (request.results_dir / "results.jsonl").write_text(" ".join([str(request.data_dir), *request.models]))
    return [request.results_dir / "results.jsonl"]


COMPUTES = replace(READS, compute=compute)


def test_paths_that_are_given_are_read_and_nothing_is_computed(tmp_path: Path):
    request = Request(tmp_path / "data", tmp_path / "results")
    assert paths_of(COMPUTES, [tmp_path], request) == [tmp_path]
    assert not request.results_dir.exists()


def test_without_paths_the_results_are_computed_into_their_folder(tmp_path: Path):
    (path,) = paths_of(COMPUTES, [], Request(Path("data"), tmp_path / "runs" / "table0", ("mini-en",)))
    assert path.read_text() == "data mini-en"


def test_a_reproduction_that_computes_nothing_asks_for_paths(tmp_path: Path):
    with pytest.raises(ValueError, match="table0 is made from runs of cats; give their paths"):
        paths_of(READS, [], Request(tmp_path, tmp_path))


def test_paths_and_models_or_a_language_exclude_each_other(tmp_path: Path):
    with pytest.raises(ValueError, match="either the paths of results or the language"):
        paths_of(COMPUTES, [tmp_path], Request(tmp_path, tmp_path, language="ko"))
    with pytest.raises(ValueError, match="either the paths of results or the models"):
        paths_of(COMPUTES, [tmp_path], Request(tmp_path, tmp_path, ("mini-en",)))
