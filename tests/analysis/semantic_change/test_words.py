"""Words whose change is measured, and their uses in a corpus."""

import gzip
import unicodedata
from pathlib import Path

import pytest

from elmokit.analysis.semantic_change.uses import Use, open_corpus, sample_uses
from elmokit.analysis.semantic_change.words import count_tokens, frequent_words, parse_words, stop_list
from elmokit.corpus.prepare import Preparation, prepare


def test_a_line_is_a_word_and_its_forms_also_as_a_file_yields_it():
    assert parse_words(["\ufeffplane planes\r\n", "", "눈이\t눈을 눈이", "\u00a0cell\u200f\n"]) == {
        "plane": ("plane", "planes"),
        "눈이": ("눈이", "눈을"),
        "cell": ("cell",),
    }


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["plane planes", "", "planes"], "line 3 of the words repeats 'planes' from line 1; expected each"),
        (["", " "], "no words were given; expected one per line"),
        ("plane", "the words are the string 'plane'; expected a list of words"),
        (["plane", 1], "line 2 of the words is 1; expected a string"),
    ],
)
def test_what_is_no_list_of_words_is_refused(lines: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        parse_words(lines)


def test_forms_are_spelled_as_the_tokens_of_raw_text():
    decomposed = unicodedata.normalize("NFD", "배를")
    assert parse_words([f"{decomposed} don’t"]) == {"배를": ("배를", "don’t")}
    assert parse_words([decomposed], raw_text=True) == {"배를": ("배를",)}
    assert parse_words(["天地 No. J. Mr. l’eau"], raw_text=True) == {"天地": ("天地", "No.", "J.", "Mr.", "l'eau")}
    for word in ("don't", "I'm", "x."):
        with pytest.raises(ValueError, match="which the tokenizer splits into 2"):
            parse_words([word], raw_text=True)
    with pytest.raises(ValueError, match="line 2 of the words has 'a-b!', which the tokenizer splits into 2"):
        parse_words(["a", "a-b!"], raw_text=True)


@pytest.mark.parametrize(
    "line", ["attack\t1900", "attack 0.31", "attack -1.5e-3", "1. attack", "1\tattack", "# targets", "bank # a noun"]
)
def test_what_lists_have_next_to_their_words_is_not_a_form(line: str):
    with pytest.raises(ValueError, match="line 1 of the words is .*; expected a word .* without comments, counts or"):
        parse_words([line, "plane"])
    assert parse_words(["#", "1900 1901", "b2b B2B"]) == {"#": ("#",), "1900": ("1900", "1901"), "b2b": ("b2b", "B2B")}


def test_case_can_be_ignored():
    assert parse_words(["Plane planes plane"], ignore_case=True) == {"Plane": ("Plane", "planes")}
    with pytest.raises(ValueError, match="line 2 of the words repeats 'plane' from line 1"):
        parse_words(["Plane", "plane"], ignore_case=True)
    assert count_tokens([["The", "the"], ["THE", "a"]], ignore_case=True) == {"the": 3, "a": 1}


def test_frequent_words_are_frequent_in_both_corpora():
    first = count_tokens([["a", "a", "a", "b", "b", "!", "!"], ["a", "b", "c", "c", "!"]])
    second = count_tokens([["b", "b", "b", "a", "!", "!", "!", "d"]])
    assert list(frequent_words(first, second, most=5, min_count=1)) == ["b", "a"]
    assert list(frequent_words(first, second, most=1, min_count=1)) == ["b"]
    with pytest.raises(ValueError, match="no word occurs at least 4 times in both corpora; lower the count, or give"):
        frequent_words(first, second, most=5, min_count=4)


def test_stop_words_are_left_out_in_any_case():
    counts = count_tokens([["The", "the", "THE", "plane", "caf\u00e9", "n't"]])
    words = frequent_words(counts, counts, most=9, min_count=1, stop_words=stop_list(["The", "cafe\u0301"]))
    assert list(words) == ["n't", "plane"]
    words = frequent_words(counts, counts, most=9, min_count=1, stop_words=stop_list("en"))
    assert list(words) == ["caf\u00e9", "plane"]
    with pytest.raises(ValueError, match="no word except stop words occurs at least 1 times"):
        frequent_words(counts, counts, most=9, min_count=1, stop_words=set(counts) | {"the"})
    with pytest.raises(ValueError, match="stop_words is 'english'; expected 'en', or a list of words"):
        stop_list("english")  # type: ignore[arg-type]


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
    corpus = open_corpus(corpus_of(tmp_path / "c", "".join(f"the {number}\n" for number in range(1000))))
    drawn = sample_uses(corpus, {"the": ("the",)}, most=100, ignore_case=False, seed="0")["the"]
    assert drawn.total == 1000 and len(set(drawn.uses)) == 100
    assert list(drawn.uses) == sorted(drawn.uses)
    assert 400 < sum(use.line for use in drawn.uses) / 100 < 600
    with_others = sample_uses(corpus, {"a": ("a",), "the": ("the",)}, most=100, ignore_case=False, seed="0")["the"]
    assert with_others == drawn
    assert sample_uses(corpus, {"the": ("the",)}, most=100, ignore_case=False, seed="1")["the"] != drawn
    assert [use.line for use in drawn.uses[:8]] == [9, 40, 41, 65, 66, 70, 72, 79]


def test_a_folder_is_its_text_files_in_order_and_raw_text_is_tokenised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "c.txt").write_text("A plane, a plane.\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    corpus = open_corpus("~/c.txt", raw_text=True)
    assert list(corpus.sentences()) == [["A", "plane", ",", "a", "plane", "."]]
    folder = corpus_of(tmp_path / "c", "first\n", "second\n")
    (folder / "2.txt.gz").write_bytes(gzip.compress(b"third\n"))
    (folder / "3.TXT").write_text("fourth\n")
    (folder / "._0.txt").write_bytes(b"\0\5\x16\7 attributes of macOS")
    assert [*open_corpus(folder).lines()] == [(0, 1, "first"), (1, 1, "second"), (2, 1, "third"), (3, 1, "fourth")]
    (folder / "notes.md").write_text("not text of the corpus\n")
    (folder / "old").mkdir()
    with pytest.warns(UserWarning, match=r"files or folders in .*c are not read, 2 in all: notes\.md, old"):
        assert len(open_corpus(folder).files) == 4
    (folder / "1.txt.XZ").write_bytes(b"")
    with pytest.raises(ValueError, match=r"c has 1\.txt and 1\.txt\.XZ, which seem to be the same text"):
        open_corpus(folder)
    raw = corpus_of(tmp_path / "raw", *["We sat, there. You ran, too.\n" * 20] * 4)
    with pytest.warns(UserWarning, match="raw") as warned:
        assert len(list(open_corpus(raw).lines())) == 80
    assert [str(one.message).partition(" looks")[0].removeprefix(str(raw)) for one in warned] == [
        "/0.txt",
        ": the same warning applies to 3 more files",
    ]
    with pytest.raises(FileNotFoundError, match="gone: there is no such file; expected a corpus"):
        open_corpus(tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.jsonl").write_text('{"text": "first"}\n')
    assert list(open_corpus(tmp_path / "empty", column="text").lines()) == [(0, 1, "first")]
    for unread in (r"csv\)$", r"csv\); subfolders are not read: 1850s$"):
        with pytest.raises(ValueError, match=rf"has no text files; expected some that end in \.txt.*{unread}"):
            open_corpus(tmp_path / "empty")
        (tmp_path / "empty" / "1850s").mkdir(exist_ok=True)


def test_a_folder_that_prepare_wrote_is_its_training_text_without_a_warning(tmp_path: Path):
    (tmp_path / "raw.txt").write_text("The old bank stood by the river.\n\nThe new bank lends money.\n")
    prepare([tmp_path / "raw.txt"], tmp_path / "corpus", Preparation(min_tokens=1, held_out=0))
    assert sorted(map(len, open_corpus(tmp_path / "corpus").sentences())) == [6, 8]
