from __future__ import annotations

import pytest

from elmokit.text.whole_number import whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("999999999", 999_999_999)])
def test_digits_are_a_number(text: str, number: int):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "1.0", " 1", "1_0", "²", "one", "1000000000", "9" * 5000])
def test_anything_else_is_none(text: str):
    assert whole_number(text) is None
