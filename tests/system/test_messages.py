"""Messages, and tables in Markdown and for a terminal, written out by hand."""

from itertools import count
from pathlib import Path

import pytest
from torch import nn

from elmokit.system.batches import batched
from elmokit.system.markdown import aligned_table, code_span, columns, escape_markdown, markdown_table
from elmokit.system.messages import FormatError, first_token, plural, printable, readable_bytes, warn_caller


def test_a_refusal_names_the_file_its_part_and_why_in_a_paragraph():
    assert str(FormatError(Path("a.json"), "is empty")) == "a.json: is empty"
    assert str(FormatError("a.jsonl, line 3", "is missing", part="field x")) == "a.jsonl, line 3: field x: is missing"
    message = str(FormatError("a.json", "is " + "x" * 1_000_000, part="y" * 1_000_000))
    assert message.startswith("a.json: yyy") and len(message) < 1000


def test_a_name_from_a_file_cannot_move_the_cursor_or_fill_the_screen():
    assert printable("밥 and rice") == "밥 and rice"
    assert printable("\x1b[2J\ud800") == r"\x1b[2J\ud800"
    assert printable("밥\x1b[2J\u202e.txt\n") == r"밥\x1b[2J\u202e.txt\n"
    assert printable("می\u200cخواهم क्\u200dष 5\u00a0km") == "می\u200cخواهم क्\u200dष 5\u00a0km"
    assert len(printable("x" * 1000)) == 203
    assert printable("x" * 1000, limit=None) == "x" * 1000


def test_an_error_quotes_no_more_than_the_first_token_of_a_file():
    quoted = {"Seoul": "'Seoul'", "  in Seoul": "'in' ...", "a\tb": "'a' ...", "\x1b[2J": r"'\x1b[2J'"}
    quoted |= {"x" * 100: f"'{'x' * 40}' ...", "": "''", " ": "' '"}
    assert {text: first_token(text) for text in quoted} == quoted


def test_sizes_are_in_the_largest_unit_that_fits_and_numbers_agree_with_their_nouns():
    sizes = [readable_bytes(size) for size in (512, 1536, 40 << 30, 3 << 40)]
    assert sizes == ["512 bytes", "1.5 KiB", "40.0 GiB", "3.0 TiB"]
    assert [plural(number, "file") for number in (0, 1, 2_000)] == ["0 files", "1 file", "2,000 files"]


def test_a_warning_names_the_line_that_called_the_package_or_a_module():
    module = nn.Module()
    module.forward = warn_caller
    line = test_a_warning_names_the_line_that_called_the_package_or_a_module.__code__.co_firstlineno
    with pytest.warns(UserWarning, match="the text is short") as given:
        module("the text is short")
        warn_caller("the text is short")
    assert [(warning.filename, warning.lineno) for warning in given] == [(__file__, line + 5), (__file__, line + 6)]


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


def test_a_list_ends_with_its_size_or_the_item_that_makes_it_heavy_enough_and_no_more_is_read_than_is_asked_for():
    assert list(batched([1, 2, 3, 4, 5], size=3)) == [[1, 2, 3], [4, 5]]
    assert list(batched([1, 2, 3, 4], size=2)) == [[1, 2], [3, 4]]
    assert list(batched([], size=3)) == []
    assert list(batched([1, 2, 3, 9, 1, 1], size=3, weight=int, enough_weight=5)) == [[1, 2, 3], [9], [1, 1]]
    numbers = count()
    assert next(batched(numbers, size=4)) == [0, 1, 2, 3]
    assert next(numbers) == 4
