import gzip
from pathlib import Path

import pytest

from elmokit.analysis.semantic_change.uses import Use, open_corpus, sample_uses


def corpus_of(folder: Path, *texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    return folder


def test_all_uses_are_there_if_they_are_few(tmp_path: Path):
    corpus = open_corpus(corpus_of(tmp_path / "c", "a plane , two planes\nno\n", "Plane a\n"))
    words = {"plane": ("plane", "planes"), "zebra": ("zebra",)}
    found = sample_uses(corpus, words, most=10, ignore_case=False, seed="0")
    assert found["plane"].total == 2
    assert found["plane"].uses == (Use(0, 1, 1, "a plane , two planes"), Use(0, 1, 4, "a plane , two planes"))
    assert found["zebra"].total == 0 and found["zebra"].uses == ()
    assert sample_uses(corpus, words, most=10, ignore_case=True, seed="0")["plane"].uses[-1] == Use(1, 1, 0, "Plane a")


def test_of_many_uses_each_has_the_same_chance_whatever_other_words_are_asked_for(tmp_path: Path):
    corpus = open_corpus(corpus_of(tmp_path / "c", "the\n" * 1000))
    drawn = sample_uses(corpus, {"the": ("the",)}, most=100, ignore_case=False, seed="0")["the"]
    assert drawn.total == 1000 and len(set(drawn.uses)) == 100
    assert list(drawn.uses) == sorted(drawn.uses)
    assert 400 < sum(use.line for use in drawn.uses) / 100 < 600
    with_others = sample_uses(corpus, {"a": ("a",), "the": ("the",)}, most=100, ignore_case=False, seed="0")["the"]
    assert with_others == drawn
    assert sample_uses(corpus, {"the": ("the",)}, most=100, ignore_case=False, seed="1")["the"] != drawn


def test_raw_text_is_tokenised(tmp_path: Path):
    (tmp_path / "c.txt").write_text("A plane, a plane.\n")
    corpus = open_corpus(tmp_path / "c.txt", raw_text=True)
    assert list(corpus.sentences()) == [["A", "plane", ",", "a", "plane", "."]]


def test_a_folder_is_its_text_files_in_order(tmp_path: Path):
    folder = corpus_of(tmp_path / "c", "first\n", "second\n")
    (folder / "2.txt.gz").write_bytes(gzip.compress(b"third\n"))
    (folder / "notes.md").write_text("not text of the corpus\n")
    assert list(open_corpus(folder).lines()) == [(0, 1, "first"), (1, 1, "second"), (2, 1, "third")]


def test_what_is_no_corpus_is_refused(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="gone: there is no such file; expected a corpus"):
        open_corpus(tmp_path / "gone")
    with pytest.raises(ValueError, match="has no text files; expected some that end in .txt, .gz, .xz"):
        open_corpus(tmp_path)
