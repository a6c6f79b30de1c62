"""Sentences that share a passage with evaluation data, in any layout, are kept out of a corpus."""

import json
import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest

from elmokit.cli.main import main
from elmokit.corpus.exclusion import Exclusion
from elmokit.corpus.prepare import SentenceTokenizer, keep_spelling
from elmokit.files.lines import read_lines
from elmokit.text.tokenizer import tokenize

PASSAGE = "one two three four five six"


def exclusion(path: Path) -> Exclusion:
    return Exclusion([path], num_words=5, tokenizer=tokenize)


def columns(*, word: int) -> str:
    rows = [[cell if index == word else "X" for index in range(5)] for cell in PASSAGE.split()]
    return "\n".join("\t".join(row) for row in rows) + "\n\n"


LAYOUTS = {
    "plain over two lines": "one two three\nfour five six\n",
    "columns, words first": columns(word=0),
    "columns, words second": "1\tA\n\n" + columns(word=1),
    "columns, words fourth": columns(word=3),
    "a table": f"text\tlabel\n{PASSAGE}\t1\nother\t0\n",
    "trees of SST": "(3 (2 (2 one) (2 two)) (3 (2 three) (4 (2 four) (2 (2 five) (2 six)))))\n",
    "XML": "<text>\n<s id='9'>\n" + "".join(f"<wf pos='X'>{word}</wf>\n" for word in PASSAGE.split()) + "</s>\n",
    "brackets around a part of a word": "one t[wo] [three] fo[ur] five [six]\n",
    "JSON lines": json.dumps({"label": "x"}) + "\n\n" + json.dumps({"sentence": PASSAGE}) + "\n",
    "SQuAD": json.dumps({"data": [{"paragraphs": [{"context": PASSAGE, "qas": []}]}]}),
    "a JSON array": json.dumps([{"text": "a\n" + PASSAGE}]),
    "a JSON array after a byte order mark and blank lines": "\ufeff\n \n\t[\n\n" + json.dumps({"text": PASSAGE}) + "]",
    "a JSON array that begins with a number": json.dumps([1, {"text": PASSAGE}]),
    "a JSON array that begins with numbers in one": json.dumps([[1, 2], PASSAGE]),
    "JSON lines of arrays": '["a"]\n' + json.dumps(PASSAGE.split()) + "\n",
    "text that begins with two brackets": f"[[1], see below]\n\n{PASSAGE}",
    "columns, words fifth": columns(word=4),
    "words with parts of speech": " ".join(f"{word}/NN" for word in PASSAGE.split()),
    "words with labels of names": " ".join(f"{word}|B-PER" for word in PASSAGE.split()),
    "tokens of JSON as objects": json.dumps({"x": [{"text": word, "pos": "NN"} for word in PASSAGE.split()]}),
    "tokens of JSON as lists": json.dumps({"x": [[word, "NN"] for word in PASSAGE.split()]}),
    "tokens of JSON in sentences": json.dumps({"x": [[{"form": word} for word in PASSAGE.split()], []]}),
    "SQuAD over many lines": json.dumps({"data": [{"paragraphs": [{"context": PASSAGE}]}]}, indent=1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_words_are_found_in_every_layout(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "file"
    path.write_text(LAYOUTS[layout])
    found = exclusion(path)
    assert found.find(["zero", "one", "two", "three", "four", "five"]) == 0
    assert found.find(["one", "two", "three", "four", "and", "five"]) is None
    assert found.find(["one", "two", "three", "four"]) is None


def test_punctuation_and_capitals_hide_nothing_and_a_blank_line_or_text_of_json_ends_a_passage(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("One, two -- three (four) five!")
    assert exclusion(path).find(tokenize('"ONE two... Three, four five')) == 0
    path.write_text("a b c d e\n\none two three\n\nfour five six\n")
    assert exclusion(path).find(PASSAGE.split()) is None
    path.write_text(json.dumps({"a": "a b c d e", "b": "one two three", "c": "four five six"}))
    assert exclusion(path).find(PASSAGE.split()) is None


@pytest.mark.parametrize("tokenizer", [tokenize, keep_spelling])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "text", ["나는 오늘 아침에 밥을 먹었다", "I cannot be in caf\u00e9s", "北京大学 在 海淀区 , 是 吗"]
)
def test_words_are_compared_as_the_tokenizer_splits_them_in_nfc(
    tmp_path: Path, text: str, form: Literal["NFC", "NFD"], tokenizer: SentenceTokenizer
) -> None:
    path = tmp_path / "file"
    for layout in (
        "\n".join(f"{word} X" for word in text.split()),
        "\n".join(f"1\t{word}" for word in text.split()),
        text,
    ):
        path.write_text(unicodedata.normalize(form, layout), encoding="utf-8")
        for form_of_corpus in ("NFC", "NFD"):
            tokens = tokenizer(unicodedata.normalize(form_of_corpus, text))
            assert Exclusion([path], num_words=5, tokenizer=tokenizer).find(tokens) == 0, layout


def test_characters_and_words_below_each_other_are_read_as_the_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    sentence = "어제 저녁에 영희는 큰 강 옆에 있는 오래된 집에서 밥을 먹었다"
    tagged = sentence.replace("영희", "<영희:PS>").replace("강", "<강:LC>")
    characters = "".join(f"{character}\tO\n" for character in sentence)
    path.write_text(f"## 문장 구분자: \n## klue-ner-v1_dev_00000\t{tagged}\n{characters}\n", encoding="utf-8")
    assert exclusion(path).find(tokenize(sentence)) == 0
    rows = ["1 Nous", "2-3 du", "2 de", "3 le", "3.1 vide", "4 pain", "5-6 aux", "5 à", "6 les", "7 gens"]
    path.write_text("".join(f"{row.replace(' ', chr(9))}\tX\n" for row in rows), encoding="utf-8")
    assert exclusion(path).find(["Nous", "de", "le", "pain", "à"]) == 0
    assert exclusion(path).find(["Nous", "du", "pain", "aux", "gens"]) == 0


KOREAN = "나는 오늘 아침에 일찍 일어나서 밥을 먹었다"
CUT_SHORT = "is not valid JSON: "
NOTHING = "has no text of 5 consecutive words, so it would exclude nothing; expected .* fewer words .--exclude-words"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, NOTHING) for text in ("", "one two three four\n", '{"n": 3}\n')),
        (json.dumps([KOREAN, KOREAN])[:-20], CUT_SHORT),
        ("\ufeff\n\ufeff" + json.dumps([KOREAN, KOREAN])[:-20], CUT_SHORT),
        (json.dumps([[-1.5, None, KOREAN]] * 2)[:-20], CUT_SHORT),
        ("\ufeff\n\ufeff" + json.dumps({"a": KOREAN})[:-20], CUT_SHORT),
        (json.dumps({"a": KOREAN}) + "\n" + json.dumps({"a": KOREAN})[:-20], CUT_SHORT),
    ],
)
def test_a_file_that_would_exclude_nothing_or_is_json_cut_short_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"file.*: {message}"):
        exclusion(tmp_path / "file")


def test_what_was_dropped_is_counted_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "raw").write_text(
        "Here we see one two three four.\n\nAnd one two three four again.\n\n"
        "Then comes red green blue grey.\n\nNothing of this is in it.\n"
    )
    (tmp_path / "numbers").write_text("one two three four")
    (tmp_path / "colours").write_text("red green blue grey")
    files = [str(tmp_path / name) for name in ("numbers", "colours")]
    command = ["prepare", str(tmp_path / "raw"), "-o", str(tmp_path / "corpus"), "--held-out", "0"]
    assert main([*command, "--exclude", *files, "--exclude-words", "4"]) == 0
    assert "in excluded texts" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    dropped = [(text["path"], text["dropped"]["sentences"]) for text in manifest["excluded"]]
    assert dropped == [(files[0], 2), (files[1], 1)]
    assert manifest["dropped"]["in excluded texts"]["sentences"] == 3
    assert list(read_lines(tmp_path / "corpus" / "train-00000.txt.xz")) == ["Nothing of this is in it ."]


MARKUP = ("<doc id=1>", "</p>", "&quot;", "&#8211;", "{| class=wikitable", "[[a.png]]", "grÃ¶n", "\\cite{x}")
MARKED = "AT&T; 3 < 5 > 2 and [1] are text.\n\nHere is {0} among words.\n"


@pytest.mark.parametrize(
    ("text", "held_out", "warning"),
    [
        ("This is one of two.\n\nThis is the other one.\n", "0.5%", "only 6 tokens are held out; perplexities"),
        *((MARKED.replace("{0}", markup), "0", "markup (<doc") for markup in MARKUP),
        (f"{'no mark ' * 51}\n\nHere is a sentence.\n", "0", "95% of the tokens are dropped, because their"),
    ],
)
def test_an_unfit_corpus_is_warned_of(tmp_path: Path, capsys: Any, text: str, held_out: str, warning: str) -> None:
    (tmp_path / "raw").write_text(text)
    assert main(["prepare", str(tmp_path / "raw"), "-o", str(tmp_path / "corpus"), "--held-out", held_out]) == 0
    said = capsys.readouterr().err
    assert f"elmokit: warning: {warning}" in said and ("markup" in said) == ("markup" in warning)
