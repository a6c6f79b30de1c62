"""Measurements without training a task, on toy data: each system once, with its items; errors name missing data."""

from pathlib import Path

import numpy as np
import pytest

from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.vectors.save_vectors import save_vectors
from paper import probes
from paper.__main__ import main
from paper.probes import CORPORA, Request, _by_lemma, open_system
from paper.results import Results
from paper.statistics import over_clusters, share
from toy_bilm import random_bilm, write_toy
from toy_senses import cue_system, write_sense_data

TAGGED = [[("bank", "NOUN", "NN"), ("loans", "VERB", "VBZ")], [("bank", "AUX", "VB"), ("flooded", "ADJ", "JJ")]]


def test_a_system_is_opened_by_its_name_or_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_native(tmp_path / "tiny", to_weights(random_bilm()))
    (tmp_path / "glove.txt").write_text("the 1 0\nbank 0 2\n")
    save_vectors(tmp_path / "cove.npy", [["the", "bank"]], [np.ones((2, 2, 4), np.float16)])
    for given, name, num_layers in (
        ("{}/tiny", "tiny", 3),
        ("random:{}/tiny", "tiny, random weights", 3),
        ("static:{}/glove.txt", "static, glove", 1),
        ("{}/cove.npy", "cove", 2),
    ):
        system = open_system(given.format(tmp_path), word_vectors=tmp_path / "glove.txt")  # these do not read it
        assert (system.name, system.layers.num_layers) == (name, num_layers)
        assert system.layers([["the", "bank"]]).shape[:3] == (num_layers, 1, 2)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with toys of all data sets of these tables."""
    monkeypatch.setattr(probes, "open_system", cue_system)
    folder = write_sense_data(tmp_path / "data")
    files = {"tasks/glove/glove.6B.50d.100k.txt.gz": "play 1 0\nzoo 0 1\ngame 2 1\nplays 3 0\n"}
    files["vectors.txt"] = "loans 5 0\nflooded 0 5\n"
    for _, folder_name, names, _ in (corpus for corpora in CORPORA.values() for corpus in corpora):
        for name in names:
            rows = [enumerate(each, start=1) for each in TAGGED]
            line = "{1}\t{2}\n" if name.endswith(".tsv") else "{0}\t{1}\t_\t{2}\t{3}\t_\t0\t_\t_\t_\n"
            sentences = ["".join(line.format(number, *word) for number, word in row) for row in rows]
            files[f"{folder_name}/{name}"] = "\n".join(sentences * 60)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def made(name: str, data: Path, *models: str) -> dict[tuple[str, str, str, str], float]:
    """Measure a table twice, which adds it once; returns its numbers by system, layer, split and metric."""
    for _ in range(2):
        results = Results(data)
        probes.measure(name, Request(results, data, models or ("cues",)))
    rows = Results(data).select(name)
    assert len({(row.data, row.model, row.fingerprint, row.layer, row.split, row.metric) for row in rows}) == len(rows)
    return {(row.model, row.layer, row.split, row.metric): row.value for row in rows}


def test_table_4_has_shares_of_neighbours(data: Path):
    found = made("table4", data)
    assert found["cues", "layer 2", "", "same sense"] == found["cues", "layer 2", "", "same part of speech"] == 100
    assert found["cues", "chance", "", "same sense"] == found["cues", "layer 0", "", "same sense"] == 40
    assert found["cues", "layer 2 over layer 0", "", "gain in same sense"] == 60


def test_the_error_of_table_4_is_over_lemmas_because_neighbours_are_of_one_lemma():
    def error(lemmas: list[int]) -> float:
        before, after = (_by_lemma(np.array(shares), np.array(lemmas)) for shares in ([0.0] * 8, [1.0] * 4 + [0.0] * 4))
        gain = over_clusters([before], [after], score=share)
        assert gain.estimate == 50
        return gain.of_items

    assert error([3, 3, 5, 5, 3, 3, 5, 5]) == pytest.approx(0, abs=1e-9)  # the lemmas are alike
    assert error([3, 3, 3, 3, 5, 5, 5, 5]) > 1.5 * error(list(range(8)))


def test_table_5_has_f1_by_set_and_part_of_speech_and_which_words_are_right(data: Path):
    found = made("table5", data)
    first = {split: value for (_, layer, split, _), value in found.items() if layer == "WordNet 1st sense"}
    assert (first["ALL"], first["four sets"], first["VERB"], first["senseval2"]) == (60, 75, 100, 0)
    cues = {split: value for (_, layer, split, _), value in found.items() if layer == "layer 2"}
    assert (cues["ALL"], cues["four sets"], cues["semeval2015"], cues["NOUN"]) == (80, 75, 0, 75)
    results = Results(data)
    (row,) = results.select("table5", layer="layer 2", split="ALL")
    items = results.probe_items(row)
    assert items is not None and items.counts[:, 0].tolist() == [1, 1, 1, 1, 0]
    assert items.clusters.tolist() == [0, 1, 2, 3, 4]  # one for each sentence


@pytest.mark.learnt
@pytest.mark.parametrize("name", ["table6", "table6-ko"])
def test_table_6_probes_each_corpus_of_its_language_and_keeps_sentences_together(name: str, data: Path):
    found = made(name, data)
    assert found["cues", "layer 1", "test", "accuracy"] == 100 and found["cues", "layer 0", "test", "accuracy"] == 75
    results = Results(data)
    assert {row.data for row in results.select(name)} == {corpus for corpus, *_ in CORPORA[name]}
    items = results.probe_items(results.select(name, layer="layer 1", split="test")[0])
    assert items is not None and items.clusters.tolist()[:6] == [0, 0, 1, 1, 2, 2]


@pytest.mark.learnt
def test_supervised_systems_are_trained_on_semcor(data: Path):
    pytest.importorskip("sklearn")
    tagger = "sense-tagger:word_dim=4,hidden_dim=4,min_count=1,epochs=1"
    vectors = data / "vectors.txt"
    found = made("senses-supervised", data, "ims", f"ims-s:{vectors}", tagger)
    assert {system for system, *_ in found} == {"ims", "ims-s, vectors.txt", tagger.replace(":", ", ")}
    assert (found["ims", "answers", "ALL", "f1"], found["ims", "answers", "four sets", "f1"]) == (80, 75)
    vectors.write_text("loans 0 5\nflooded 5 0\n")
    made("senses-supervised", data, f"ims-s:{vectors}")
    rows = Results(data).select("senses-supervised", split="ALL")
    assert len(rows) == 4  # other vectors with the same name are added
    with pytest.raises(
        ValueError, match="there is no supervised system 'mini-en'; expected ims, ims-s or sense-tagger"
    ):
        made("senses-supervised", data, "mini-en")


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("table5", "semcor.data.xml", "<corpus/>"),
        ("table6", "dev.tsv", ""),
        ("table6-ko", "dev.conllu", "# a comment\n"),
    ],
)
def test_a_file_without_items_is_refused(name: str, file: str, text: str, data: Path):
    for path in data.rglob(file):
        path.write_text(text)
    with pytest.raises(ValueError, match=rf"{file}.* has no (sentence|word)"):
        made(name, data)


def test_all_tables_that_can_be_measured_are_and_missing_data_are_named(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("paper.__main__.Results", lambda: Results(data))
    for name in ("senses-supervised", "perplexity", "table7", "latin", "table4"):
        monkeypatch.setitem(probes.MEASURED, name, missing)
    assert main(["measure", "all", "--data", str(data), "--model", "cues"]) == 2
    said = capsys.readouterr().err
    assert "perplexity: nowhere: there is no such folder. table7: nowhere" in said
    assert {row.table for row in Results(data).rows} == {"table5", "table6", "table6-ko"}
    assert main(["measure", "table7", "--data", str(data)]) == 2
    assert capsys.readouterr().err.startswith("elmokit: error: nowhere: there is no such folder")


def missing(request: Request) -> None:
    raise FileNotFoundError("nowhere: there is no such folder")


def test_perplexity_is_measured_for_each_period_of_latin(tmp_path: Path):
    for period in ("classical", "late"):
        (tmp_path / "la").mkdir(exist_ok=True)
        (tmp_path / "la" / f"heldout_{period}.txt").write_text("a b c. b a c!\nc b.\n")
    model = write_toy(tmp_path / "toy")
    probes.measure("latin", Request(Results(tmp_path), tmp_path, (str(model),), corpus_size=500_000))
    rows = Results(tmp_path).select("latin", metric="perplexity", layer="mean")
    assert [(row.data, row.corpus_size, row.model) for row in rows] == [
        (period, 500_000, "toy") for period in ("classical", "late")
    ]
    assert rows[0].value == rows[1].value > 1
