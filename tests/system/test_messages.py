from pathlib import Path

import pytest
from torch import nn

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
    assert printable("x" * 1000, most=None) == "x" * 1000


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
