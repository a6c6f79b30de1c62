import pytest

from elmokit.text.corpora.columns import ColumnSentence, column_sentences


def read(*lines: str, **options: object) -> list[ColumnSentence]:
    return list(column_sentences(lines, name="x.conll", **options))


def test_a_blank_line_ends_a_sentence():
    first, second = read("", "a 1", "b 2", "", " ", "c 3")
    assert (first.rows, first.first_line) == ([["a", "1"], ["b", "2"]], 2)
    assert (second.rows, second.first_line) == ([["c", "3"]], 6)


def test_knows_its_columns_and_lines():
    (sentence,) = read("", "a 1", "b 2")
    assert sentence.column(0) == ["a", "b"]
    assert sentence.column(-1) == ["1", "2"]
    assert sentence.num_columns == 2
    assert sentence.line(1) == "x.conll, line 3"
    assert sentence.where == "x.conll, lines 2-3"


def test_spaces_align_columns_and_other_white_space_is_part_of_a_cell():
    (sentence,) = read("  a    1", "2\u00a01/2  2 ")
    assert sentence.rows == [["a", "1"], ["2\u00a01/2", "2"]]


def test_with_a_tab_cells_may_hold_spaces():
    (sentence,) = read("New York\tB", "b \t O")
    assert sentence.rows == [["New York", "B"], ["b", "O"]]


def test_a_lone_tab_is_a_blank_line():
    assert [sentence.rows for sentence in read("a\t1", "\t", "b\t2")] == [[["a", "1"]], [["b", "2"]]]


def test_a_separator_counts_as_a_blank_line():
    assert [sentence.rows for sentence in read("a 1", "--- x y", "b 2", separator="---")] == [
        [["a", "1"]],
        [["b", "2"]],
    ]


def test_lines_may_be_counted_from_elsewhere():
    assert [sentence.first_line for sentence in read("", "a 1", first_line=11)] == [12]


def test_ragged_columns_are_refused():
    with pytest.raises(ValueError, match=r"x.conll, line 3: 3 columns, but 2 in the lines above: 'b' \.\.\."):
        read("", "a 1", "b 2 3")


def test_an_empty_cell_is_refused():
    with pytest.raises(ValueError, match=r"x.conll, line 2: column 1 is empty in 'O'"):
        read("a\tO", "\tO")
