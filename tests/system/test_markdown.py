"""Tables in Markdown and for a terminal, written out by hand."""

import pytest

from elmokit.system.markdown import aligned_table, code_span, columns, escape_markdown, markdown_table


def test_names_are_flush_left_numbers_flush_right_and_korean_syllables_two_columns_wide():
    table = markdown_table(("run", "task", "score"), [("a", "b", "1.0"), ("c", "d", "2.5")], num_names=2)
    assert table.splitlines() == ["| run | task | score |", "|---|---|---:|", "| a | b | 1.0 |", "| c | d | 2.5 |"]
    assert markdown_table(("run", "score"), []) == "| run | score |\n|---|---:|"
    table = aligned_table([["", "loss", "n"], ["first", "1.25", "3"], ["b", "10", "12345"]])
    assert table.splitlines() == ["       loss      n", "first  1.25      3", "b        10  12345"]
    assert columns("눈 eye。") == 2 + 4 + 2
    assert [columns("می\u200cخواهم"), columns("क्\u200dषी"), columns("e\u0301")] == [7, 3, 1]
    table = aligned_table([["word", "sense"], ["눈이", "눈"], ["a", "snow"]])
    assert table.splitlines() == ["word  sense", "눈이     눈", "a      snow"]
    assert {columns(line) for line in table.splitlines()} == {11}


def test_what_markdown_or_a_terminal_would_read_as_a_sign_is_escaped():
    assert escape_markdown("\\|[]<>*_`") == "\\\\\\|\\[\\]\\<\\>\\*\\_\\`"
    assert escape_markdown("0.5 ± 0.1 (-3 %)") == "0.5 ± 0.1 (-3 %)"
    assert markdown_table(("run",), [("a\n\x1b[2J",)]).splitlines()[2:] == [r"| a\\n\\x1b\[2J |"]
    assert aligned_table([["a\n\x1b"]]) == r"a\n\x1b"
    assert code_span("a\n\x1b") == r"`a\n\x1b`"
    assert code_span("a`<b>``c") == "``` a`<b>``c ```"
    table = markdown_table(("`<UNK>`", "score"), [("a|b_c", "<1>")])
    assert table.splitlines()[::2] == ["| `<UNK>` | score |", "| a\\|b\\_c | \\<1\\> |"]


def test_a_row_with_too_few_cells_is_refused():
    with pytest.raises(ValueError, match="a row has 1 cells, but the header has 2: alone"):
        markdown_table(("run", "score"), [("alone",)])
    with pytest.raises(ValueError):
        aligned_table([["a", "b"], ["c"]])
