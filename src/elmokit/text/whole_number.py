"""Numbers in files from others: `int` refuses one of 5,000 digits with an error that names no file."""

from __future__ import annotations

MOST_DIGITS = 9


def whole_number(text: str) -> int | None:
    """The number that one to nine digits write; None for any other text."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None
