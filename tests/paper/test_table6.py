"""Table 6 on toy corpora: each is probed in the table of its language."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import system_results
from paper.reproduction import Reproduction, Request
from paper.table6 import CORPORA, KOREAN, KOREAN_REPRODUCTION, REPRODUCTION
from toy_planned_runs import evidence_of
from toy_senses import cue_system

SENTENCES = [[("bank", "NOUN", "NN"), ("loans", "VERB", "VBZ")], [("bank", "AUX", "VB"), ("flooded", "ADJ", "JJ")]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for corpus in (corpus for corpora in CORPORA.values() for corpus in corpora):
        folder = tmp_path / "data" / corpus.folder
        folder.mkdir(parents=True, exist_ok=True)
        for file in corpus.files:
            if file.endswith(".tsv"):
                lines = ["".join(f"{word}\t{tag}\n" for word, _, tag in each) for each in SENTENCES]
            else:
                rows = [enumerate(each, start=1) for each in SENTENCES]
                lines = ["".join(f"{n}\t{w}\t_\t{u}\t{x}\t_\t0\t_\t_\t_\n" for n, (w, u, x) in row) for row in rows]
            (folder / file).write_text("\n".join(lines * 200))
    return tmp_path / "data"


@pytest.mark.parametrize("reproduction", [REPRODUCTION, KOREAN_REPRODUCTION], ids=lambda one: one.name)
def test_each_corpus_of_the_table_is_probed_and_shown(
    reproduction: Reproduction, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(system_results, "open_system", cue_system)
    corpora = CORPORA[reproduction.name]
    assert reproduction.compute is not None and reproduction.details is not None
    evidence = evidence_of(reproduction.compute(Request(data, tmp_path / "results", ("cues",))))
    rows = reproduction.measure(evidence)
    first = [row for row in rows if row.row == "biLM, first layer"]
    assert [row.measured_on for row in first] == [f"cues (cues), {corpus.name}" for corpus in corpora]
    assert [(str(row.cells[0]), row.is_extra) for row in first] == [("100.00", reproduction.name == KOREAN)] * len(
        corpora
    )
    assert {row.row for row in rows} == {"biLM, first layer", "biLM, second layer"}
    tables = reproduction.details(evidence)
    assert [table.title for table in tables] == [title for each in corpora for title in (each.name, "Differences")]
    assert [str(table.rows["cues (cues), layer 0"][1]) for table in tables[::2]] == ["75.00"] * len(corpora)
    assert tables[0].about.endswith(f"Data: {corpora[0].name}: 800, 800, 800 tokens.")


def test_korean_is_probed_for_parts_of_speech_and_for_morphemes(data: Path):
    found = [each.read(data / each.folder / each.files[0])[0].tags for each in CORPORA[KOREAN]]
    assert found == [["NOUN", "VERB"], ["NN", "VBZ"]]
