"""Tables for people to read: in Markdown, and aligned for a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from elmokit.system.messages import printable

ABSENT = "–"
"""Shown in a cell without a value."""

_SPECIAL = frozenset("\\|[]<>*_`")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, num_names: int = 1) -> str:
    """A Markdown table. The first `num_names` columns (names) are left-aligned, the others right-aligned.

    The header is Markdown; the cells are plain text and get escaped. The last row has no line end.
    Raises ValueError for a row with a different number of cells than the header.
    """
    rule = ["---"] * num_names + ["---:"] * (len(header) - num_names)
    lines = [_line(header), f"|{'|'.join(rule)}|"]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row has {len(row)} cells, but the header has {len(header)}: {', '.join(row)}")
        lines.append(_line([escape_markdown(cell) for cell in row]))
    return "\n".join(lines)


def escape_markdown(text: str) -> str:
    """Escape plain text for Markdown: put a backslash before characters that could end a cell, or start markup or HTML.

    Control characters, such as line ends, are shown escaped.
    """
    return "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in printable(text, limit=None))


def code_span(text: str) -> str:
    """Plain text as code within a line of Markdown. Control characters, such as line ends, are shown escaped."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " * bool(longest)
    return f"{fence}{space}{printable(text, limit=None)}{space}{fence}"


def aligned_table(rows: Sequence[Sequence[str]], *, num_names: int = 1) -> str:
    """A table for a terminal: columns two spaces apart, the first `num_names` left-aligned, the others right-aligned.

    Control characters are shown escaped. Raises ValueError for rows with different numbers of cells.
    """
    rows = [[printable(cell, limit=None) for cell in row] for row in rows]
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    sides = [number < num_names for number in range(len(widths))]
    return "\n".join("  ".join(map(_flush, row, widths, sides)).rstrip() for row in rows)


def columns(text: str) -> int:
    """Number of terminal columns that a text takes: two for each Hangul syllable, Han character or full-width mark.

    Joiners and combining marks take none.
    """
    return sum(
        2 if unicodedata.east_asian_width(letter) in "WF" else unicodedata.category(letter) not in ("Mn", "Me", "Cf")
        for letter in text
    )


def _flush(cell: str, width: int, left: bool) -> str:
    """The cell, padded with spaces to `width` columns."""
    space = " " * (width - columns(cell))
    return cell + space if left else space + cell


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
