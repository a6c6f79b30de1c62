"""What the command line names becomes a system; tables of systems on toy data, each measured once, shown, compared."""

import json
from pathlib import Path

import numpy as np
import pytest

from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.vectors.save_vectors import save_vectors
from paper import senses_supervised, systems, table5, table6
from paper.__main__ import main
from paper.data_folders import glove_file
from paper.reproduction import OurRow, OurTable, Request, find_reproduction
from paper.results import append_result
from paper.systems import Measured, measure_systems, open_system, read_system_results
from toy_bilm import random_bilm
from toy_planned_runs import evidence_of
from toy_senses import cue_system, write_sense_data


def test_a_system_is_opened_by_its_name_or_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_native(tmp_path / "tiny", to_weights(random_bilm()))
    (tmp_path / "glove.txt").write_text("the 1 0\nbank 0 2\n")
    save_vectors(tmp_path / "cove.npy", [["the", "bank"]], [np.ones((2, 2, 4), np.float16)])
    for given, name, is_bilm, num_layers in (
        ("{}/tiny", "tiny", True, 3),
        ("random:{}/tiny", "tiny, random weights", False, 3),
        ("static:{}/glove.txt", "static, glove", False, 1),
        ("{}/cove.npy", "cove", False, 2),
    ):
        system = open_system(given.format(tmp_path), word_vectors=tmp_path / "glove.txt")  # which these do not read
        assert (system.name, system.is_bilm, system.layers.num_layers) == (name, is_bilm, num_layers)
        assert system.layers([["the", "bank"]]).shape[:3] == (num_layers, 1, 2)


TAGGED = [[("bank", "NOUN", "NN"), ("loans", "VERB", "VBZ")], [("bank", "AUX", "VB"), ("flooded", "ADJ", "JJ")]]
PARTS = ("train", "dev", "test")


@pytest.fixture(autouse=True)
def _cues(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(systems, "open_system", cue_system)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with toys of all data sets of these tables."""
    folder = write_sense_data(tmp_path / "data")
    files = {str(glove_file(folder).relative_to(folder)): "play 1 0\nzoo 0 1\ngame 2 1\nplays 3 0\n"}
    files["vectors.txt"] = "loans 5 0\nflooded 0 5\n"
    for corpus in (corpus for corpora in table6.CORPORA.values() for corpus in corpora):
        for name in corpus.files:
            rows = [enumerate(each, start=1) for each in TAGGED]
            line = "{1}\t{2}\n" if name.endswith(".tsv") else "{0}\t{1}\t_\t{2}\t{3}\t_\t0\t_\t_\t_\n"
            sentences = ["".join(line.format(number, *word) for number, word in row) for row in rows]
            files[f"{corpus.folder}/{name}"] = "\n".join(sentences * 60)
    for part in PARTS:
        pairs = ["bank\tN\t0-0\tbank loans\tbank loans\n", "bank\tN\t0-0\tbank loans\tbank flooded\n"]
        files[f"external/wic/HW2/WiC_dataset/{part}/{part}.data.txt"] = "".join(pairs)
        files[f"external/wic/HW2/WiC_dataset/{part}/{part}.gold.txt"] = "T\nF\n"
        korean = ["SENTENCE1\tSENTENCE2\tANSWER", "[눈] 온다\t[눈] 온다\tTrue", "[눈] 온다\t[눈] 아프다\tFalse"]
        files[f"external/kobest/v1.0/WiC/{part}.tsv"] = "\n".join(korean)
    uses = [["또", "눈을", each] for each in ("뜨다", "쓸다") * 2]
    eyes = [{"word": "눈", "sense": tokens[2][0], "index": 1, "tokens": tokens} for tokens in uses]
    for half in ("train", "test"):
        files[f"ko/tasks/homonym_ko/{half}.jsonl"] = "\n".join(map(json.dumps, eyes))
    praise = [f"잘한다\t{sense}\t0\t잘한다 {sense}" for sense in ("praise", "sarcasm") * 2]
    files["ko/tasks/homonym_ko/demo_seed_examples.tsv"] = "\n".join(["word\tsense\tindex\ttokens", *praise])
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def made(name: str, data: Path, *models: str) -> tuple[list[OurRow], list[OurTable]]:
    """The rows of a table, and the tables below it."""
    table = find_reproduction(name)
    assert table.compute is not None
    table.compute(Request(data, data / "results", models or ("cues",)))
    evidence = evidence_of([data / "results"])
    return list(table.measure(evidence)), list(table.details(evidence)) if table.details else []


def test_table_4_has_the_nearest_context_and_shares_of_neighbours(data: Path):
    rows, (shares, gains) = made("table4", data)
    assert rows[0].row == "GloVe" and rows[0].cells == ("play", "plays, game, zoo")
    assert {row.row for row in rows[1:]} == {"biLM, 1", "biLM, 2"} and len(rows) == 13
    assert "play" in str(rows[1].cells[0]) and "[" in str(rows[1].cells[1])
    assert shares.columns == ("same part of speech", "same sense", "list of polysemes")
    assert [str(cell) for cell in shares.rows["cues (cues), layer 2"][:2]] == ["100.00", "100.00"]
    assert [str(cell) for cell in shares.rows["cues (cues), chance"]] == ["57.14", "40.00", "None"]  # 4 in 7, 2 in 5
    assert str(shares.rows["cues (cues), layer 0"][1]) == "40.00"  # a static vector is chance
    before, after = (float(str(shares.rows[f"cues (cues), layer {number}"][1])) for number in (1, 2))
    assert str(gains.rows["cues (cues): layer 2 over layer 1"][0]).startswith(f"{after - before:+.2f} [")


def test_table_5_has_f1_by_set_and_part_of_speech(data: Path):
    rows, (below, _) = made("table5", data)
    expected = dict.fromkeys(("WordNet 1st sense", "biLM, first layer", "biLM, second layer"), "75.00")
    assert {row.row: str(row.cells[0]) for row in rows} == expected
    assert {"cues (cues), layer 0", "cues (cues), average"} <= below.rows.keys()
    first, cues = read_system_results([data / "results"], table5.NAME)
    numbers = first.measured.rows["WordNet 1st sense"]
    assert (numbers["ALL"], numbers["four sets"], numbers["VERB"], numbers["senseval2"]) == (60, 75, 100, 0)
    right = dict.fromkeys(("senseval2", "senseval3", "semeval2007", "semeval2013", "VERB"), 100)
    assert cues.measured.rows["layer 2"] == {"ALL": 80, "four sets": 75, "semeval2015": 0, "NOUN": 75, **right}
    assert cues.measured.hits["layer 2"] == "11110" and cues.measured.hits["layer 0"] == "01011"
    arguments = ["--model", "cues", "--data", str(data), "--results", str(data / "results"), "-o", str(data / "docs")]
    assert main(["table5", *arguments]) == 0
    page = (data / "docs" / "table5.md").read_text(encoding="utf-8")
    assert "| WordNet 1st sense | without vectors | 75.00 |" in page
    assert "| cues (cues): layer 2 over average |" in page


@pytest.mark.parametrize("name", [table6.ENGLISH, table6.KOREAN])
def test_table_6_probes_each_corpus_of_its_language(name: str, data: Path):
    corpora = [corpus.name for corpus in table6.CORPORA[name]]
    rows, tables = made(name, data)
    assert {row.row for row in rows} == {"biLM, first layer", "biLM, second layer"}
    first = [row for row in rows if row.row == "biLM, first layer"]
    assert [row.measured_on for row in first] == [f"cues (cues), {corpus}" for corpus in corpora]
    assert {str(row.cells[0]) for row in first} == {"100.00"}
    assert [table.title for table in tables] == [title for corpus in corpora for title in (corpus, "Differences")]
    assert [str(table.rows["cues (cues), layer 0"][1]) for table in tables[::2]] == ["75.00"] * len(corpora)
    assert tables[0].about.endswith(f"Data: {corpora[0]}: 240, 240, 240 tokens.")


@pytest.mark.parametrize("name", ["wic", "kobest"])
def test_words_in_context_are_told_apart_by_layers_that_know_the_context(name: str, data: Path):
    rows, (parts, gains) = made(name, data)
    accuracies = {row.row: str(row.cells[0]) for row in rows}
    assert (accuracies["layer 2"], accuracies["layer 0"]) == ("100.00", "50.00")
    assert parts.columns == PARTS and parts.about.endswith("Data: 2 / 2 / 2 pairs.")
    assert next(iter(gains.rows)) == "cues (cues): layer 2 over layer 1"


def test_korean_homonyms_are_told_apart_in_context_and_their_counts_are_shown(data: Path):
    rows = {row.row: [str(cell) for cell in row.cells] for row in made("polysemy-ko", data)[0]}
    assert rows["layer 2"][:2] == ["100.00", "100.00"] and rows["layer 2"][3] == "100.00"
    assert rows["layer 0"][0] == rows["chance"][0] == "50.00" and rows["bag of context words"][0] == "100.00"
    assert rows["occurrences that are judged"] == ["4", "4", "184", "4"]


def test_supervised_systems_are_trained_on_semcor_and_asked_once(data: Path):
    pytest.importorskip("sklearn")
    tagger = "sense-tagger:word_dim=4,hidden_dim=4,min_count=1,epochs=1"
    vectors = data / "vectors.txt"
    models = ("ims", f"ims-s:{vectors}", tagger)
    rows, (below,) = made("senses-supervised", data, *models)
    names = ["ims", "ims-s, vectors.txt", tagger.replace(":", ", ")]
    assert [row.row for row in rows] == ["ims", "Iacobacci et al. (2016)", "Raganato et al. (2017a)"]
    results = read_system_results([data / "results"], senses_supervised.NAME)
    assert [each.system for each in results] == names and len(below.rows) == 3
    for each in results[:2]:
        numbers = each.measured.rows["answers"]
        assert (numbers["ALL"], numbers["four sets"], numbers["VERB"]) == (80, 75, 100)
    vectors.write_text("loans 0 5\nflooded 5 0\n")
    made("senses-supervised", data, *models)
    assert len(read_system_results([data / "results"], senses_supervised.NAME)) == 4  # other vectors of the same name
    with pytest.raises(ValueError, match="no supervised system 'mini-en'; expected one of ims, ims-s, sense-tagger"):
        made("senses-supervised", data, "mini-en")


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("table5", "semcor.data.xml", "<corpus/>"),
        ("table6", "dev.tsv", ""),
        ("table6-ko", "dev.conllu", "# a comment\n"),
        ("wic", "test.data.txt", ""),
        ("kobest", "test.tsv", "SENTENCE1\tSENTENCE2\tANSWER\na\tb\tTrue\n"),
        ("polysemy-ko", "test.jsonl", ""),
        ("polysemy-ko", "demo_seed_examples.tsv", "word\tsense\tindex\ttokens\na\tb\t0\ta\n"),
    ],
)
def test_a_file_without_items_is_refused(name: str, file: str, text: str, data: Path):
    for path in (*data.rglob(file), *(data.rglob("test.gold.txt") if name == "wic" else ())):
        path.write_text(text)
    with pytest.raises(ValueError, match=rf"{file} has nothing that can be measured"):
        made(name, data)


@pytest.mark.parametrize("name", ["table5", "senses-supervised", "table6", "wic", "polysemy-ko"])
def test_a_number_that_was_not_measured_is_left_open_and_other_hits_are_refused(name: str, tmp_path: Path):
    values = {"system": "ims", "is_bilm": True, "fingerprint": "", "data": "words", "rows": {"layer 1": {"new": 1.0}}}
    append_result(tmp_path, name, {**values, "hits": {}, "texts": {}})
    table = find_reproduction(name)
    assert table.measure is not None
    rows = [row for row in table.measure(evidence_of([tmp_path])) if row.measured_on != "data"]
    assert {cell for row in rows for cell in row.cells} == {None}
    append_result(tmp_path, name, {**values, "hits": {"layer 1": "10x"}, "texts": {}})
    with pytest.raises(ValueError, match=r"line 2: field hits: has something other than 0 and 1 in layer 1"):
        table.measure(evidence_of([tmp_path]))


def test_a_system_is_measured_once_for_the_same_data_and_its_record_says_its_cost(tmp_path: Path):
    request, measured = Request(tmp_path, tmp_path), Measured({"layer 0": {"F1": 50.00049}})
    for data in ("toy: 4", "toy: 4", "toy: 5"):
        measure_systems("toy", request, lambda _: measured, default=["cues"], data=data)
    found = read_system_results([tmp_path], "toy")
    assert [(each.data, each.measured.rows["layer 0"]["F1"]) for each in found] == [("toy: 4", 50), ("toy: 5", 50)]
    record, _ = (tmp_path / "results.jsonl").read_text().splitlines()
    for name in ("version", "commit", "machine", "seconds", "processor_seconds", "threads"):
        assert f'"{name}": ' in record, name
