"""The supervised systems of table 5 on a toy SemCor."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.reproduction import Request
from paper.senses_supervised import NAME, REPRODUCTION, compute, system_name
from paper.system_results import read_system_results
from toy_planned_runs import evidence_of
from toy_senses import write_sense_data

TAGGER = "sense-tagger:word_dim=4,hidden_dim=4,min_count=1,epochs=1"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = write_sense_data(tmp_path / "data")
    (tmp_path / "vectors.txt").write_text("loans 5 0\nflooded 0 5\n")
    return folder


def test_each_system_is_trained_on_semcor_and_asked_the_five_sets_once(data: Path, tmp_path: Path):
    pytest.importorskip("sklearn")
    request = Request(data, tmp_path / "results", ("ims", f"ims-s:{tmp_path / 'vectors.txt'}", TAGGER))
    paths = compute(request)
    results = {each.system: each.measured.rows["answers"] for each in read_system_results(paths, NAME)}
    assert list(results) == ["ims", "ims-s, vectors.txt", TAGGER.replace(":", ", ")]
    for name in ("ims", "ims-s, vectors.txt"):
        assert (results[name]["ALL"], results[name]["four sets"], results[name]["VERB"]) == (80, 75, 100)
    lines = paths[0].read_text()
    assert compute(request) == paths
    assert paths[0].read_text() == lines  # nothing was left to do
    (tmp_path / "vectors.txt").write_text("loans 0 5\nflooded 5 0\n")
    compute(request)
    assert len(paths[0].read_text().splitlines()) == 4  # other vectors under the same name


def test_rows_are_those_of_the_paper_or_come_last(data: Path, tmp_path: Path):
    pytest.importorskip("sklearn")
    paths = compute(Request(data, tmp_path / "results", ("ims", "ims-s")))
    rows = {row.measured_on: (row.row, row.is_extra) for row in REPRODUCTION.measure(evidence_of(paths))}
    assert rows == {"ims": ("ims", True), "ims-s": ("Iacobacci et al. (2016)", False)}
    assert REPRODUCTION.details is not None
    (table,) = REPRODUCTION.details(evidence_of(paths))
    assert list(table.rows) == ["ims, answers", "ims-s, answers"]


def test_an_unknown_system_is_refused():
    with pytest.raises(ValueError, match="no supervised system 'mini-en'; expected one of ims, ims-s, sense-tagger"):
        system_name("mini-en")
