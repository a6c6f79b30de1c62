"""Table 6 on toy corpora: each is probed in its language, and has its own table."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import system_results
from paper.reproduction import Request
from paper.system_results import read_system_results
from paper.table6 import CORPORA, REPRODUCTION, compute, language_of
from toy_senses import cue_system

SENTENCES = [[("bank", "NOUN", "NN"), ("loans", "VERB", "VBZ")], [("bank", "AUX", "VB"), ("flooded", "ADJ", "JJ")]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for corpus in CORPORA:
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


def test_each_corpus_is_probed_and_shown(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system_results, "open_system", cue_system)
    paths = compute(Request(data, tmp_path / "results", ("cues",)))
    rows = REPRODUCTION.measure(paths)
    first = [row for row in rows if row.row == "biLM, first layer"]
    assert [row.measured_on for row in first] == [f"cues (cues), {corpus.name}" for corpus in CORPORA]
    assert [str(row.cells[0]) for row in first] == ["100.00"] * len(CORPORA)
    assert {row.row for row in rows} == {"biLM, first layer", "biLM, second layer"}
    tables = REPRODUCTION.details(paths) if REPRODUCTION.details else ()
    assert [table.title for table in tables] == [title for each in CORPORA for title in (each.name, "Differences")]
    assert [str(table.rows["cues (cues), layer 0"][1]) for table in tables[::2]] == ["75.00"] * len(CORPORA)
    assert tables[0].about.endswith("Data: PTB sample: 800, 800, 800 tokens.")


def test_one_language_can_be_chosen(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system_results, "open_system", cue_system)
    (path, *_) = compute(Request(data, tmp_path / "results", ("cues",), language="ko"))
    of_corpora = [result.data for result in read_system_results([path], REPRODUCTION.name)]
    assert [data.partition(":")[0] for data in of_corpora] == ["Korean GSD, UPOS", "Korean GSD, morphemes"]
    assert {language_of(data) for data in of_corpora} == {"ko"}
    with pytest.raises(ValueError, match="a result of table6 is of 'WSJ'; expected one of PTB sample, EWT, PTB tags"):
        language_of("WSJ: 3 tokens")
    with pytest.raises(ValueError, match="language is 'de'; the corpora are of en and ko"):
        compute(Request(data, tmp_path / "results", ("cues",), language="de"))


def test_korean_is_probed_for_parts_of_speech_and_for_morphemes(data: Path):
    korean = {corpus.name: corpus for corpus in CORPORA if corpus.language == "ko"}
    found = [each.read(data / each.folder / each.files[0])[0].tags for each in korean.values()]
    assert list(korean) == ["Korean GSD, UPOS", "Korean GSD, morphemes"]
    assert found == [["NOUN", "VERB"], ["NN", "VBZ"]]
