"""Tables: tab-separated lines below a header that names the columns. Quotes mean nothing here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells that were asked for, in that order; `place` is file and line, for errors."""

    place: str
    cells: list[str]


def table_rows(lines: Iterable[str], *, name: str, columns: Sequence[Sequence[str]]) -> Iterator[TableRow]:
    """Rows out of lines. Each of `columns` is asked for by the names that it may have in the header.

    Blank lines are passed over. Raises ValueError, with `name` and the line, for a header without one of the columns
    and for a row that has not as many cells as the header.
    """
    header: list[str] = []
    places: list[int] = []
    num_rows = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip(" "):  # tabs alone are a row of empty cells
            continue
        cells = line.split("\t")
        if not header:
            header = [cell.strip() for cell in cells]
            places = [_find(header, names, place=f"{name}, line {number}") for names in columns]
            continue
        if len(cells) != len(header):
            raise ValueError(
                f"{name}, line {number}: {len(cells)} columns between tabs, but {len(header)} in the header: "
                f"{line[:80]!r}"
            )
        num_rows += 1
        yield TableRow(f"{name}, line {number}", [cells[place] for place in places])
    if not num_rows:
        raise ValueError(f"{name} has no rows; expected a header and, below it, lines of columns between tabs")


def _find(header: list[str], names: Sequence[str], *, place: str) -> int:
    for name in names:
        if name in header:
            return header.index(name)
    raise ValueError(f"{place}: the header has no column {' or '.join(names)}, but {', '.join(header)[:80]!r}")
