"""The demo: what it prints, and the page that it writes."""

import re
from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import random_bilm


def test_the_demo_prints_rates_and_writes_a_page_that_needs_nothing_from_elsewhere(tmp_path: Path, capsys):
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


def test_a_korean_vocabulary_shows_the_korean_list(tmp_path: Path, capsys):
    Elmo(random_bilm(), Vocabulary(["<S>", "</S>", "<UNK>", "눈이", "배를"])).save(tmp_path / "toy")
    assert main(["demo", "--model", str(tmp_path / "toy"), "--html", str(tmp_path / "demo.html")]) == 0
    assert "11 words with several senses, in 184 sentences" in capsys.readouterr().out
    assert '<div class="words" lang="ko">' in (tmp_path / "demo.html").read_text(encoding="utf-8")


def test_without_the_bundled_model_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr("elmokit.web.demo.bundled_models", dict)
    assert main(["demo"]) == 2
    assert (
        "the demo needs the bundled model 'small-en', which this installation lacks: reinst" in capsys.readouterr().err
    )
