import doctest

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.text.corpora import cells, conll2012
from elmokit.text.corpora.cells import TREEBANK_MARKS, plain_token, whole_number
from elmokit.text.corpora.columns import ColumnSentence, column_sentences, with_words_first
from elmokit.text.corpora.conll2012 import read_conll2012
from elmokit.text.tokenizer import tokenize
from refusals import refusals


def read(*lines: str, **options: object) -> list[ColumnSentence]:
    return list(column_sentences(lines, name="x.conll", **options))


def test_a_blank_line_ends_a_sentence_which_knows_its_columns_and_lines():
    first, second = read("", "a 1", "b 2", "", " ", "c 3")
    assert (first.rows, first.first_line) == ([["a", "1"], ["b", "2"]], 2)
    assert (second.rows, second.first_line) == ([["c", "3"]], 6)
    assert (first.column(0), first.column(-1), first.num_columns) == (["a", "b"], ["1", "2"], 2)
    assert (first.line(1), first.where) == ("x.conll, line 3", "x.conll, lines 2-3")


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        (["  a    1", "2\u00a01/2  2 "], [[["a", "1"], ["2\u00a01/2", "2"]]]),  # only plain spaces align columns
        (["New York\tB", "b \t O"], [[["New York", "B"], ["b", "O"]]]),  # with a tab, cells may hold spaces
        (["a\t1", "\t", "b\t2"], [[["a", "1"]], [["b", "2"]]]),  # a lone tab is a blank line
    ],
)
def test_cells_are_told_apart_by_spaces_or_tabs(lines: list[str], sentences: list[list[list[str]]]):
    assert [sentence.rows for sentence in read(*lines)] == sentences


def test_a_separator_counts_as_a_blank_line_and_lines_may_be_counted_from_elsewhere():
    first, second = read("a 1", "--- x y", "b 2", separator="---")
    assert (first.rows, second.rows) == ([["a", "1"]], [["b", "2"]])
    assert [sentence.first_line for sentence in read("", "a 1", first_line=11)] == [12]


def test_ragged_columns_and_empty_cells_are_refused_unless_an_empty_last_one_has_a_meaning():
    with pytest.raises(ValueError, match=r"x.conll, line 3: 3 columns, but 2 in the lines above: 'b' \.\.\."):
        read("", "a 1", "b 2 3")
    with pytest.raises(ValueError, match=r"x.conll, line 2: column 1 is empty in 'O'"):
        read("a\tO", "\tO")
    assert [sentence.rows for sentence in read("a\tO", "b\t", empty_last="-")] == [[["a", "O"], ["b", "-"]]]
    with pytest.raises(ValueError, match="column 1 is empty"):
        read("\t", "\tO", empty_last="-")
    with pytest.raises(ValueError, match=r"x.conll, line 2: 4 columns, .*'#' \.\.\.; remove it if .* grep -v '\^#'$"):
        read("TOKEN NE-COARSE", "# hipe2022:date = 1850", "We O")


@pytest.mark.parametrize(
    "comments", [["# sent_id = 1", "# text = EU is"], ["# id 5239\tdomain=en"], ["# id 5239"], ["# a comment of words"]]
)
def test_comments_above_a_sentence_are_left_out(comments: list[str]):
    first, second = read(*comments, "a O", "", *comments, "b O")
    assert (first.rows, second.rows) == ([["a", "O"]], [["b", "O"]])
    assert second.first_line == 2 * len(comments) + 3


@pytest.mark.parametrize("lines", [["# O", "a O"], ["# O"], ["# O", "", "a O"], ["# NN B-X", "# NN O", "a NN O"]])
def test_a_hash_with_the_cells_of_a_token_is_a_token(lines: list[str]):
    assert [row for sentence in read(*lines) for row in sentence.rows] == [line.split() for line in lines if line]


@pytest.mark.parametrize(
    "lines",
    [
        *(["0\tEU\tO", "1\tis\tO", "", "0\tA\tO"], ["17 a O", "18 b O", "", "1 c O"], ["bc/x a O", "bc/x b O"] * 11),
        *(["1-2 don't O", "1 do O", "2 n't O", "2.1 x O"], ["bc/x 0 0 a O", "bc/x 0 1 b O"]),
        ["bc/x a O", "bc/x b O", "", "bc/x c O", "", "bc/y d O", "bc/y e O"],
    ],
)
def test_a_first_column_without_words_is_refused(lines: list[str]):
    message = r"x\.conll, line 1: the first column (numbers the words|is 'bc/x' in a whole sentence);"
    with pytest.raises(ValueError, match=message):
        list(with_words_first(read(*lines)))


@pytest.mark.parametrize(
    "lines",
    [
        ["1 O", "2 O"],  # these are the words
        ["1 CD O", "2 CD O", "", "a NN O"],
        ["1 CD O", "", "2 CD O"],
        ["ha UH O"] * 20,
    ],
)
def test_words_may_be_numbers(lines: list[str]):
    assert list(with_words_first(read(*lines))) == read(*lines)


def test_nine_digits_are_a_number_and_anything_else_is_none():
    assert [whole_number(text) for text in ("0", "007", "999999999")] == [0, 7, 999_999_999]
    others = ("", "-1", "1.0", " 1", "1_0", "²", "one", "1000000000", "9" * 5000)
    assert {whole_number(text) for text in others} == {None}


def test_a_plain_token_is_what_the_tokenizer_would_write():
    assert doctest.testmod(cells).failed == 0
    for token in (*TREEBANK_MARKS, "1\\/2", "\\*"):
        plain = plain_token(token)
        assert plain != token and tokenize(plain) == [plain]
    for token in ("and", "'s", "-", "--", "/", ".", "-LRB", "LRB", "C:\\windows", "and/or"):
        assert plain_token(token) == token


ROW = "bc/x 0 {} {} NN * - - - Ann * (A0*) -"


def document(*rows: str, head: str = "#begin document (bc/x); part 003") -> list[str]:
    return [head, *rows, "", "#end document"]


def documents(lines: list[str]) -> list[conll2012.Document]:
    return list(read_conll2012(lines, name="x.conll"))


def test_reads_documents_which_may_have_parts_and_number_signs():
    first, second = documents(document(ROW.format(0, "a"), "", ROW.format(0, "b")) + document(ROW.format(0, "c")))
    assert (first.name, first.part, len(first.sentences)) == ("bc/x", 3, 2)
    assert [sentence.first_line for sentence in first.sentences] == [2, 4]
    assert second.sentences[0].line(0) == "x.conll, line 8"
    assert documents(document(ROW.format(0, "a"), head="#begin document (a (b) c);"))[0].name == "a (b) c"
    lines = document("# 0 0 # # * - - - - * -")
    assert conll2012.plain_tokens(documents(lines)[0].sentences[0]) == ["#"]


def test_refuses(snapshot: SnapshotAssertion):
    cases = (
        *([], [ROW.format(0, "a")], [f"#begin document (bc/x); part {'1' * 5000}"], document()),
        document(ROW.format(0, "a"))[:-1],
        document(ROW.format(0, "a"))[:-1] + document(),
        *(document(ROW.format(0, "a"), "bc/x 0 1"), document("bc/x 0 0 a NN")),
        document(ROW.format(0, "a"), ROW.format(1, "[WORD]")),
        document(ROW.format(0, "a") + " (A0*)"),
    )
    assert refusals(documents, cases) == snapshot
