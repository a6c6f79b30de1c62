"""Table 4 on a toy SemCor: shares of neighbours that are alike, and the nearest context as it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import system_results
from paper.data_folders import glove_file
from paper.reproduction import Request
from paper.table4 import QUERIES, REPRODUCTION, compute
from toy_planned_runs import evidence_of
from toy_senses import cue_system, write_sense_data


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(system_results, "open_system", cue_system)
    data = write_sense_data(tmp_path / "data")
    glove_file(data).parent.mkdir(parents=True)
    glove_file(data).write_text("play 1 0\nzoo 0 1\ngame 2 1\nplays 3 0\n")
    return compute(Request(data, tmp_path, ("cues",)))


def test_queries_point_at_play():
    assert {query.tokens[query.index] for query in QUERIES.values()} == {"play"}


def test_shares_and_differences_are_tables(paths: list[Path]):
    shares, gains = REPRODUCTION.details(evidence_of(paths)) if REPRODUCTION.details else ()
    assert shares.columns == ("same part of speech", "same sense", "list of polysemes")
    assert [str(cell) for cell in shares.rows["cues (cues), layer 2"][:2]] == ["100.00", "100.00"]
    assert shares.rows["cues (cues), chance"][2] is None
    before, after = (float(str(shares.rows[f"cues (cues), layer {number}"][1])) for number in (1, 2))
    assert str(gains.rows["cues (cues): layer 2 over layer 1"][0]).startswith(f"{after - before:+.2f} [")


def test_the_nearest_context_is_shown_with_words_around_it(paths: list[Path]):
    rows = REPRODUCTION.measure(evidence_of(paths))
    assert rows[0].row == "GloVe" and rows[0].cells == ("play", "plays, game, zoo")
    assert {row.row for row in rows[1:]} == {"biLM, 1", "biLM, 2"} and len(rows) == 13
    source, nearest = rows[1].cells
    assert source == " ".join(QUERIES["biLM, 1"].tokens) and isinstance(nearest, str) and "[" in nearest
