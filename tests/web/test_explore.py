"""The explorer, the server of its pages, and the demo."""

import http.client
import json
import re
import runpy
import struct
import sys
import tempfile
import threading
import unicodedata
import webbrowser
from contextlib import closing
from http.server import ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.analysis.polysemes import LISTS, read_polysemes
from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.model.config import BiLMConfig
from elmokit.tasks.task import TASKS
from elmokit.text.vocabulary import Vocabulary
from elmokit.web.explore import corpus as explorer_corpus
from elmokit.web.explore import planes as explorer_planes
from elmokit.web.explore import site as explorer
from elmokit.web.explore.corpus import inner_products, rated_words, read_corpus, write_corpus
from elmokit.web.explore.planes import umap_planes
from elmokit.web.explore.server import address, serve
from elmokit.web.explore.site import LEARNT_MIXES, presets, write_site
from toy_bilm import random_bilm, write_toy
from toy_umap import first_two_columns

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parents[1] / "fixtures"
EXPERIMENTS = ROOT / "experiments"
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "the", ",", "bank", "river", "play", "a", "tree"])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("model") / "random", vocabulary=VOCABULARY)


@pytest.fixture(scope="module")
def site(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    lines = folder / "old.txt"
    lines.write_text("the bank of the river\n\na bank\n", encoding="utf-8")
    assert (
        main(["explore", "-o", str(folder / "site"), "--model", str(model), "--corpus", str(lines), "--sample", "en"])
        == 0
    )
    return folder / "site"


def test_a_site_is_files_alone_and_its_page_loads_nothing_from_elsewhere(site: Path, model: Path):
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert {"index.html", "style.css", "corpus.json", "corpus.bin", "softmax.json", "model/model.safetensors"} < files
    assert {"scripts/page.js", "scripts/worker.js", "scripts/bilm.js"} < files
    assert sum((site / name).stat().st_size for name in files if not name.startswith(("model/", "corpus"))) < 400_000
    assert Elmo(site / "model").fingerprint() == Elmo(model).fingerprint()  # float32, since float16 would round it
    assert json.loads((site / "softmax.json").read_text()) == ["softmax-00001-of-00001.safetensors"]
    page = (site / "index.html").read_text(encoding="utf-8")
    assert 'http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;' in page
    for path in (*site.glob("*.html"), *site.glob("*.css"), *site.glob("scripts/*.js")):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "").replace("https?://", "")
        text = text.replace('<a href="https://arxiv.org/', "")  # a link loads nothing
        assert "http://" not in text and "https://" not in text, path
        assert "innerHTML" not in text and "eval(" not in text, path


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="the tests are not next to a source tree")
def test_the_wheel_has_every_file_of_the_pages():
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    packed = {file.distribution_path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()}
    web = ROOT / "src" / "elmokit" / "web"
    needed = [path for path in web.rglob("*.*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT / "src").as_posix() for path in needed} <= packed
    assert {path.suffix for path in needed} == {".py", ".js", ".wat", ".html", ".css", ".json"}


def test_the_corpus_is_the_list_with_its_senses_and_then_the_files(site: Path, model: Path):
    about = json.loads((site / "corpus.json").read_text(encoding="utf-8"))
    occurrences = read_polysemes(LISTS["en"])
    assert about["sentences"][-2:] == [["the", "bank", "of", "the", "river"], ["a", "bank"]]
    assert about["sources"] == [["old.txt", len(occurrences)]]
    assert about["senses"][0] == [0, occurrences[0].index, occurrences[0].sense]
    first = about["words"][0]
    assert first["word"] == "bank" and len(first["rates"]) == 3 and 0 < first["chance"] < 1
    assert first["examples"][0].split()[first["index"]] == "bank"
    num_tokens = sum(map(len, about["sentences"]))
    data = (site / "corpus.bin").read_bytes()
    assert len(data) == 3 * num_tokens * (4 + 12)
    exact = Elmo(model).encode([about["sentences"][0]], layers="all")[0][2, 0]
    at = 2 * num_tokens
    (scale,) = struct.unpack_from("<f", data, 4 * at)
    stored = np.frombuffer(data, np.int8, 12, 4 * 3 * num_tokens + 12 * at) * scale
    np.testing.assert_allclose(stored, exact, atol=np.abs(exact).max() / 254 + 1e-6)


def test_presets_are_the_mixes_learnt_with_the_weights_of_a_model(site: Path, model: Path):
    assert presets(Elmo(model)) == [] and '"presets": []' in (site / "index.html").read_text(encoding="utf-8")
    english, korean = presets(Elmo("small-en")), presets(Elmo("mini-ko"))
    assert {mix["task"] for mix in english} == {*TASKS} - {"tags"}
    assert {mix["data"] for mix in korean} == {"ner_klue", "nsmc"}
    for mix in (*english, *korean):
        assert sum(mix["weights"]) == pytest.approx(1, abs=2e-4)
        assert mix["place"] in ("input", "output")


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="the experiments are in the repository, not in the distribution")
def test_presets_are_those_of_the_runs_that_are_kept():
    """`python experiments/explorer_presets.py` writes them."""
    kept = (files("elmokit.web.explore") / LEARNT_MIXES).read_text(encoding="utf-8")
    assert runpy.run_path(str(EXPERIMENTS / "explorer_presets.py"))["presets"]() == json.loads(kept)


def test_the_bundled_sentences_are_only_for_a_model_of_their_language(model: Path, tmp_path: Path, capsys: Any):
    (tmp_path / "own.txt").write_text("a river\n\na tree by the bank\n", encoding="utf-8")
    site = write_site(tmp_path / "site", model=model, corpora=[tmp_path / "own.txt"]).parent
    about = json.loads((site / "corpus.json").read_text(encoding="utf-8"))
    assert about["sentences"] == [["a", "river"], ["a", "tree", "by", "the", "bank"]]
    assert about["words"] == about["rated"] == about["senses"] == []
    page = (site / "index.html").read_text(encoding="utf-8")
    assert '"sample": null' in page and "a river\\na tree by the bank" in page
    assert main(["explore", "-o", str(tmp_path / "s"), "--model", str(model)]) == 2
    assert "the bundled sentences are English and Korean, and" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.* unusual spaces")
def test_files_with_labels_name_the_senses_of_tokens_in_nfc_that_are_split_at_spaces_only(tmp_path: Path):
    paths = [tmp_path / folder / "t.tsv" for folder in ("old", "new")]
    for path in paths:
        path.parent.mkdir()
        lines = "We\u00a0sat by the bank\t3\tslope\n\n밤새 눈이 쌓였다 .\t1\tsnow\nno label here\nno label here\n"
        lines += "We\u00a0sat by the bank\t0\twe\t3\tslope\n밤새 눈이 쌓였다 .\t1\teye\n"
        path.write_text(unicodedata.normalize("NFD", lines), encoding="utf-8")
    corpus = read_corpus(paths, "en")
    first = len(corpus.occurrences)
    tokens = [["We\u00a0sat", "by", "the", "bank"], ["밤새", "눈이", "쌓였다", "."]]
    assert corpus.sentences[first : first + 2] == tokens
    senses = [(first, 3, "slope"), (first + 1, 1, "snow"), (first, 0, "we"), (first + 3, 1, "eye")]
    assert corpus.senses()[first:] == [*senses, *((number + 4, index, sense) for number, index, sense in senses)]
    assert corpus.sources == [(str(paths[0]), first), (str(paths[1]), first + 4)]  # both have the same name
    (tmp_path / "senses.tsv").write_text("A bank.\t1\tslope\n", encoding="utf-8")
    with pytest.raises(ValueError, match="labels belong to tokens; give text with spaces between tokens"):
        read_corpus([tmp_path / "senses.tsv"], "en", raw_text=True)


def test_planes_of_umap_are_those_of_frequent_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "umap", first_two_columns())
    vectors = np.arange(180, dtype=np.float32).reshape(60, 3)
    tokens = ["Bank", "bank"] * 10 + ["the"] * 30 + ["rare"] * 10
    planes = umap_planes(vectors, tokens, first=["bank", "missing"])
    assert list(planes) == ["bank", "the"]
    assert planes["bank"] == [[number, *vectors[number, :2].tolist()] for number in range(20)]
    monkeypatch.setattr(explorer_planes, "MAX_WORDS", 1)
    monkeypatch.setattr(explorer_planes, "MAX_OCCURRENCES", 4)
    found = umap_planes(vectors, tokens, starts=[30])
    assert [row[0] for row in found["the"]] == [20, 25, 30, 40]  # of the sample, and of the file that starts at 30


def test_rated_words_have_a_sense_twice_and_another_one(monkeypatch: pytest.MonkeyPatch):
    tokens = ["Bank", "bank", "bank", "tree", "tree", "river", "bank", "bank"]
    senses = dict(enumerate(["slope", "money", "slope", "plant", "plant", "water", "money", "slope"]))
    bank = {0: "slope", 1: "money", 2: "slope", 6: "money", 7: "slope"}
    assert rated_words(senses, tokens) == {"bank": bank}
    many = {number: f"sense {max(number - 1, 0)}" for number in range(400)}  # all but the first occur once
    assert [*rated_words(many, ["bank"] * 400)["bank"].values()][:3] == ["sense 0", "sense 0", "sense 1"]
    monkeypatch.setattr(explorer_corpus, "MAX_RATED_OCCURRENCES", 4)
    assert rated_words(senses, tokens) == {"bank": dict(list(bank.items())[:4])}
    monkeypatch.setattr(explorer_corpus, "MAX_RATED", 3)  # too few for bank
    tree = {3: "plant", 4: "plant", 8: "graph"}
    assert rated_words(senses | tree, [*tokens, "tree"]) == {"tree": tree}
    monkeypatch.setattr(explorer_corpus, "MAX_RATED", 1)
    assert rated_words(senses, tokens) == {}


def test_the_rates_of_the_page_are_of_labels_in_files_if_there_are_any(model: Path, tmp_path: Path):
    path = tmp_path / "senses.tsv"
    path.write_text("a tree\t1\tplant\na tree\t1\tgraph\na tree\t1\tplant\n")
    write_corpus(tmp_path, read_corpus([path], "en"), Elmo(model))
    about = json.loads((tmp_path / "corpus.json").read_text())
    assert about["rated"] == [["tree", ["plant", "graph", "plant"]]] and about["rated_files"]
    found = np.fromfile(tmp_path / "rates.bin", "<f4").reshape(6, 3, 3)
    tree = Elmo(model).encode([["a", "tree"]], layers="all")[0][:, 1]
    np.testing.assert_allclose(found[:, 0, 1], inner_products(tree[:, None])[:, 0, 0], rtol=1e-5)
    layers = np.random.default_rng(0).normal(size=(2, 4, 5)).astype(np.float32)
    mixed = 0.3 * layers[0] + 0.7 * layers[1]
    found = np.tensordot([0.09, 0.21, 0.49], inner_products(layers), 1)
    np.testing.assert_allclose(found, mixed @ mixed.T, atol=1e-5)
    for columns, message in (
        ("\t1", "line 1: 1 columns after the sentence; expected an index and a label for each"),
        ("\t2\tslope", "line 1: '2' with the label 'slope'; expected an index from 0 to 1, each once, and a"),
        ("\t1\tslope\t1\tmoney", "line 1: '1' with the label 'money'; expected an index from 0 to 1, each once"),
        ("\tbank\tslope", "line 1: 'bank' with the label 'slope'; expected an index from 0 to 1"),
        ("\t1\t", "line 1: '1' with the label ''; expected an index from 0 to 1, each once, and a label"),
    ):
        path.write_text(f"a bank{columns}\n")
        with pytest.raises(ValueError, match=re.escape(message)):
            read_corpus([path], "en")


def test_refuses_what_it_cannot_show_and_models_that_look_words_up(model: Path, tmp_path: Path, monkeypatch):
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(ValueError, match="empty.txt has no sentences; expected one per line"):
        write_site(tmp_path / "s", model=model, corpora=[tmp_path / "empty.txt"])
    with pytest.raises(ValueError, match="its name is not UTF-8; rename"):
        write_site(tmp_path / "s", model=model, corpora=[tmp_path / "caf\udce9.txt"])
    monkeypatch.setattr("elmokit.web.explore.corpus.MAX_TOKENS", 3)
    (tmp_path / "long.txt").write_text("a b c d\n")
    with pytest.raises(ValueError, match="there are more than 3 tokens; give the explorer fewer"):
        read_corpus([tmp_path / "long.txt"], "en")
    monkeypatch.setattr(explorer, "MAX_PARAMETERS", 10)
    with pytest.raises(ValueError, match="the explorer is for models of at most 0 million"):
        write_site(tmp_path / "s", model=model, sample="en")
    assert not (tmp_path / "s").exists()
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "mine.txt").touch()
    monkeypatch.undo()
    with pytest.raises(FileExistsError):
        write_site(tmp_path / "s", model=model, sample="en")
    with pytest.raises(ValueError, match="looks words up in a table; the explorer runs models that read characters"):
        write_site(tmp_path / "site", model=FIXTURES / "formats" / "many_langs" / "char_word")


def test_a_model_of_this_folder_without_softmax_and_of_one_direction_is_shown_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    config = BiLMConfig(filters=((1, 4),), character_dim=4, projection_dim=6, lstm_dim=6, bidirectional=False)
    Elmo(random_bilm(config), VOCABULARY).save(tmp_path / "model")
    site = tmp_path / "a site"
    monkeypatch.chdir(tmp_path / "model")
    assert main(["explore", "-o", str(site), "--model", ".", "--sample", "en"]) == 0
    assert json.loads((site / "softmax.json").read_text()) == []
    command = f"python -m http.server --directory '{site}'"
    said = f"{site / 'index.html'}; browsers do not open it as a file, so serve its folder:\n{command}\n"
    assert capsys.readouterr().out == said
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "this page was opened as a file" in page  # until the script runs
    assert "<title>elmokit: model</title>" in page


def test_files_are_served_with_a_strict_policy_to_this_machine_only_and_impossible_names_are_not_found(
    site: Path, capsys: pytest.CaptureFixture[str]
):
    def get(path: str, **headers: str) -> http.client.HTTPResponse:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        return response

    with serve(site) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        assert address(server) == f"http://127.0.0.1:{server.server_address[1]}/"
        with pytest.raises(OSError, match="choose another one, or 0 for any free one"):
            serve(site, port=server.server_address[1])
        with closing(http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)) as connection:
            page = get("/")
            assert page.status == 200 and "default-src 'none'" in (page.getheader("Content-Security-Policy") or "")
            assert page.getheader("X-Content-Type-Options") == "nosniff"
            assert get("/scripts/page.js").getheader("Content-Type") == "text/javascript"
            assert get("/", Host="attacker.example").status == 403
            assert get("/", Host="localhost:80").status == 200
            for name in ("../../../etc/passwd", "%00", "scripts/%00.js", "%ED%A0%80"):  # the last: a lone surrogate
                assert get(f"/{name}").status == 404
            assert get("/").status == 200
        server.shutdown()
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="port 99999; expected 1 to 65535, or 0 for any free one"):
        serve(site, port=99999)


def test_the_demo_prints_rates_and_writes_a_page_that_needs_nothing_from_elsewhere(tmp_path: Path, capsys, monkeypatch):
    Elmo(random_bilm(seed=7, std=0.4), Vocabulary(["<S>", "</S>", "<UNK>", "the", "bank"])).save(tmp_path / "<toy>")
    page, command = tmp_path / "demo.html", ["demo", "--model", str(tmp_path / "<toy>"), "--html"]
    page.write_text("<!doctype html><title>Mine</title>")
    assert main([*command, str(page)]) == 2
    assert "demo.html exists and is not a page of the demo; choose another name" in capsys.readouterr().err
    page.unlink()
    for _ in range(2):  # it replaces its own page
        assert main([*command, str(page)]) == 0
    shown, _, code = capsys.readouterr().out.rpartition("In Python:\n\n")
    assert "24 words with several senses, in 384 sentences" in shown
    assert re.search(r"^static vector +179.2/384 +46.7 %$", shown, re.MULTILINE)
    assert re.search(r"^lstm2 +\S+/384 +\S+ % \[\S+, \S+\]$", shown, re.MULTILINE)
    names: dict[str, list] = {}
    exec(code, names)
    assert [vectors.shape for vectors in names["vectors"]] == [(7, 12), (6, 12)]
    text = page.read_text(encoding="utf-8")
    assert text.count("<figcaption><b>bank</b>") == 1 and text.count("<title>") == 1 + 6 * 16
    assert "&lt;toy&gt;" in text and "<toy>" not in text
    assert not re.search(r"<(script|link|img|iframe)|https?://|url\(|@import", text)
    Elmo(random_bilm(), Vocabulary(["<S>", "</S>", "<UNK>", "눈이", "배를"])).save(tmp_path / "ko")
    assert main(["demo", "--model", str(tmp_path / "ko"), "--html", str(page)]) == 0
    assert "11 words with several senses, in 184 sentences" in capsys.readouterr().out
    assert '<div class="words" lang="ko">' in page.read_text(encoding="utf-8")
    monkeypatch.setattr("elmokit.formats.find.bundled_models", dict)
    assert main(["demo"]) == 2
    assert re.search("unknown model 'small-en': .*; reinstall elmokit, which includes it", capsys.readouterr().err)


@pytest.mark.parametrize("options", [[], ["--no-browser"]])
def test_the_pages_of_explore_are_the_user_s_alone_and_removed_at_the_end_also_those_of_killed_processes(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    opened: list[str] = []

    def interrupt(server: ThreadingHTTPServer) -> None:
        (site,) = tmp_path.glob(".elmokit-explore.*/site")
        url = f"http://127.0.0.1:{server.server_port}/"
        assert capsys.readouterr().out.startswith(url) and site.parent.stat().st_mode & 0o777 == 0o700
        assert opened == ([] if options else [url])
        raise KeyboardInterrupt

    (tmp_path / ".elmokit-explore.0123456789abcdef.tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("elmokit.web.explore.site.write_site", lambda folder, **_: folder.mkdir())
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupt)
    assert main(["explore", *options]) == 0
    assert not list(tmp_path.iterdir())
