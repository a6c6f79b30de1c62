"""BLiMP in the small: two paradigms of the paper's form, scored once, with our rows next to the published ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper.__main__ import main
from paper.blimp import compute, our_rows, our_tables, read_paradigm, right_answers
from paper.reproduction import Request
from toy_language_model import write_toy
from toy_planned_runs import evidence_of

PAIRS = {"one": [("a b.", "b a."), ("c", "a c")], "two": [("b a.", "a b.")]}


@pytest.fixture
def request_of_toy(tmp_path: Path) -> Request:
    folder = tmp_path / "data" / "external" / "blimp" / "data"
    folder.mkdir(parents=True)
    for name, pairs in PAIRS.items():
        lines = [
            {"sentence_good": good, "sentence_bad": bad, "UID": name, "linguistics_term": "order", "pairID": "0"}
            for good, bad in pairs
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "results").mkdir()
    return Request(tmp_path / "data", tmp_path / "results", (str(write_toy(tmp_path / "toy")),))


def test_each_paradigm_is_scored_once(request_of_toy: Request) -> None:
    (path,) = compute(request_of_toy)
    ((model, paradigms),) = right_answers([path]).items()
    assert model.startswith("toy (") and list(paradigms) == ["order: one", "order: two"]
    assert all(list(counts) == ["forward", "backward", "both"] for counts in paradigms.values())
    before = path.read_text()
    path.write_text(before.splitlines()[0] + "\n")
    compute(request_of_toy)
    assert right_answers([path]) == {model: paradigms}
    compute(request_of_toy)
    assert len(path.read_text().splitlines()) == 2


def test_our_rows_are_accuracies_over_all_pairs(request_of_toy: Request) -> None:
    evidence = evidence_of(compute(request_of_toy))
    ((model, paradigms),) = right_answers(evidence.results).items()
    directions = ("forward", "backward", "both")
    correct = [sum(counts[name].correct for counts in paradigms.values()) for name in directions]
    expected = [f"{100 * each / 3:.2f}" for each in correct]
    rows = our_rows(evidence)
    assert [row.row for row in rows] == [f"{model}, {name}" for name in directions]
    assert {(row.is_extra, row.measured_on) for row in rows} == {(True, "2 paradigms, 3 pairs")}
    assert [str(row.cells[0]) for row in rows] == expected
    (terms,) = our_tables(evidence)
    assert terms.columns == directions and [str(cell) for cell in terms.rows["order"]] == expected


def test_the_command_writes_the_page_next_to_the_published_figures(
    request_of_toy: Request, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compute(request_of_toy)
    results = request_of_toy.results_dir / "results.jsonl"
    assert main(["blimp", str(results), "-o", str(tmp_path / "pages")]) == 0
    page = (tmp_path / "pages" / "blimp.md").read_text()
    for line in ("| LSTM | paper | 69.8 |", "), forward | 2 paradigms, 3 pairs | ", ") by phenomena"):
        assert line in page


def test_data_that_are_not_there_or_not_blimp_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there are no files of BLiMP"):
        compute(Request(tmp_path, tmp_path))
    (tmp_path / "x.jsonl").write_text('{"UID": "x"}\n')
    with pytest.raises(ValueError, match=r"x\.jsonl, line 1: field linguistics_term: is missing"):
        read_paradigm(tmp_path / "x.jsonl")
