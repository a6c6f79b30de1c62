import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.text.corpora.tables import table_rows
from refusals import refusals


def read(*lines: str) -> list[tuple[str, list[str]]]:
    return list(table_rows(lines, name="x.tsv", columns=[("text", "document"), ("label",)]))


def test_gives_the_columns_that_were_asked_for_in_that_order_without_spaces_around_them():
    assert read("id\tlabel\tdocument", "1\tgood\ta b", "", "2\tbad\tc") == [
        ("x.tsv, line 2", ["a b", "good"]),
        ("x.tsv, line 4", ["c", "bad"]),
    ]
    assert read("text\tlabel ", "a b \t good ") == [("x.tsv, line 2", ["a b", "good"])]


def test_quotes_and_empty_cells_are_text_and_rows_of_csv_may_go_over_several_lines():
    assert read("text\tlabel", '"a\tx', "\t", '"a"\t""', '"a "" b\t"') == [
        ("x.tsv, line 2", ['"a', "x"]),
        ("x.tsv, line 3", ["", ""]),
        ("x.tsv, line 4", ['"a"', '""']),
        ("x.tsv, line 5", ['"a "" b', '"']),
    ]
    assert read("", "text,label", '"a', 'b",1', "", "c,2") == [
        ("x.tsv, line 3", ["a\nb", "1"]),
        ("x.tsv, line 6", ["c", "2"]),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["text\tlabel", '"a ""good"" film, yes"\t1'],  # as pandas writes it
        ['"text"\t"label"', '"a ""good"" film, yes"\t"1"'],
        ["ID;Label;Text", '7;1;"a ""good"" film, yes"'],
        ['"","text","label"', '"0","a ""good"" film, yes","1"'],
        ['"RT (ms, mean)",text,label', '3,"a ""good"" film, yes",1'],
    ],
)
def test_cells_in_quotes_are_read_as_csv_has_them(lines: list[str]):
    assert read(*lines) == [("x.tsv, line 2", ['a "good" film, yes', "1"])]
    assert read("sep=,", *lines) == [("x.tsv, line 3", ['a "good" film, yes', "1"])]  # as Excel writes it


def test_quotes_of_spreadsheets_are_theirs_if_no_other_cell_has_a_comma():
    lines = ["text\tprice\tlabel", "a b\t3,5\tx", '"a, b"\t1\ty', '"""a"" b"\t1\t']
    assert [cells for _, cells in read(*lines)] == [["a b", "x"], ["a, b", "y"], ['"a" b', ""]]
    assert [cells for _, cells in read(*lines, "c, d\t1\tz")][1:3] == [['"a, b"', "y"], ['"""a"" b"', ""]]
    assert [cells for _, cells in read(*lines[:3], '"Yes"\t1\tz')][1] == ['"a, b"', "y"]


def test_a_cell_in_quotes_may_go_over_lines_of_a_table_in_tabs():
    lines = ["text\tlabel", '"It was ""fine"".', 'I\tliked it."\tpos', "Good\tneg"]
    found = [("x.tsv, line 2", ['It was "fine".\nI\tliked it.', "pos"]), ("x.tsv, line 4", ["Good", "neg"])]
    assert read(*lines) == found
    with pytest.raises(
        ValueError, match="line 2: 1 tab-separated columns, .*; if a cell in quotes continues on the ne"
    ):
        read(*lines, 'a "b\tpos')


def test_whether_cells_are_in_quotes_is_decided_for_the_column():
    lines = ["text\tlabel", '"She said ""no"" to me."\tx']
    assert [cells for _, cells in read(*lines, "Yes .\ty")] == [['She said "no" to me.', "x"], ["Yes .", "y"]]
    assert next(cells[0] for _, cells in read(*lines, 'He said yes, to "us".\ty')) == '"She said ""no"" to me."'
    assert next(cells[0] for _, cells in read(*lines, '"No"\ty')) == '"She said ""no"" to me."'


ONE_COLUMN = ["document", '"Line one', 'line ""two"""', '"He, she"', "plain"]


@pytest.mark.parametrize(
    ("name", "lines", "texts"),
    [
        ("x.CSV.gz", ["document", '"He, she"', "a, b"], ["He, she", "a, b"]),
        ("-", ["document", '"He, she"', "a, b"], ['"He, she"', "a, b"]),
        ("-", ONE_COLUMN, ['Line one\nline "two"', "He, she", "plain"]),
        ("-", [*ONE_COLUMN, 'He said "No"'], ['"Line one', 'line ""two"""', '"He, she"', "plain", 'He said "No"']),
        ("-", [*ONE_COLUMN, '"Not closed'], ['"Line one', 'line ""two"""', '"He, she"', "plain", '"Not closed']),
        ("-", [*ONE_COLUMN, *[""] * 995, '"cut', 'here"'], ['Line one\nline "two"', "He, she", "plain", "cut\nhere"]),
        (
            "-",
            [*ONE_COLUMN[:3], "a" * 200_000, f'"{"b" * 200_000}"'],
            ['Line one\nline "two"', "a" * 200_000, "b" * 200_000],
        ),
    ],
)
def test_an_only_column_is_csv_by_its_name_or_a_cell_over_lines(name: str, lines: list[str], texts: list[str]):
    assert [cells for _, cells in table_rows(lines, name=name, columns=[["document"]])] == [[text] for text in texts]


def test_refuses(snapshot: SnapshotAssertion):
    tables = (
        *([], ["text\tlabel"], ["text\trating", "a\t1"], ["review_text,stars", "a,1"], ["text\tlabel", "a\t1", "b"]),
        *(["text,label", "a,b,c"], ["text,label", '"a,b'], ['"text"\t"label"', '"a \\"b"\t1']),
        ["document\tLABEL\tLabel", "a\t1\t2"],
    )
    assert refusals(lambda lines: read(*lines), tables) == snapshot
