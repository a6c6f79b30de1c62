"""Table 5 on a toy SemCor: first senses, scores by set and part of speech, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper import system_results
from paper.__main__ import main
from paper.reproduction import Request
from paper.system_results import read_system_results
from paper.table5 import NAME, REPRODUCTION, compute
from toy_planned_runs import evidence_of
from toy_senses import cue_system, write_sense_data


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(system_results, "open_system", cue_system)
    return write_sense_data(tmp_path / "data")


def test_scores_are_those_of_the_answers(data: Path, tmp_path: Path):
    paths = compute(Request(data, tmp_path, ("cues",)))
    first, cues = read_system_results(paths, NAME)
    numbers = first.measured.rows["WordNet 1st sense"]
    assert (numbers["ALL"], numbers["four sets"], numbers["VERB"], numbers["senseval2"]) == (60, 75, 100, 0)
    assert cues.measured.rows["layer 2"] == {
        "ALL": 80,
        "four sets": 75,
        "senseval2": 100,
        "senseval3": 100,
        "semeval2007": 100,
        "semeval2013": 100,
        "semeval2015": 0,
        "NOUN": 75,
        "VERB": 100,
    }
    assert cues.measured.hits["layer 2"] == "11110" and cues.measured.hits["layer 0"] == "01011"


def test_the_paper_s_rows_have_ours_under_them_and_the_rest_is_below(data: Path, tmp_path: Path):
    paths = compute(Request(data, tmp_path, ("cues",)))
    ours = [row.row for row in REPRODUCTION.measure(evidence_of(paths))]
    assert ours == ["WordNet 1st sense", "biLM, first layer", "biLM, second layer"]
    assert REPRODUCTION.details is not None
    assert {"cues (cues), layer 0", "cues (cues), average"} <= REPRODUCTION.details(evidence_of(paths))[0].rows.keys()


def test_the_verb_computes_and_writes_the_page(data: Path, tmp_path: Path):
    arguments = ["--model", "cues", "--data", str(data), "--results", str(tmp_path / "r"), "-o", str(tmp_path / "docs")]
    assert main(["table5", *arguments]) == 0
    page = (tmp_path / "docs" / "table5.md").read_text(encoding="utf-8")
    assert "| WordNet 1st sense | without vectors | 75.00 |" in page
    assert "| cues (cues): layer 2 over average |" in page
    assert len([json.loads(line) for line in (tmp_path / "r" / "results.jsonl").read_text().splitlines()]) == 2


def test_missing_data_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["table5", "--data", str(tmp_path), "--results", str(tmp_path / "r")]) == 2
    assert "ALL.data.xml: there is no such file" in capsys.readouterr().err
