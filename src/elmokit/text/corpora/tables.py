"""Tables: tab-separated lines after a header that names the columns. Quotes have no special meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from elmokit.system.messages import first_token
from elmokit.text.corpora.cells import UnlabelledError, refuse_json


@dataclass(frozen=True, slots=True)
class TableRow:
    """The requested cells of a row, in the order of the request; `where` is file and line, for error messages."""

    where: str
    cells: list[str]


def table_rows(lines: Iterable[str], *, name: str, columns: Sequence[Sequence[str]]) -> Iterator[TableRow]:
    """Rows of a table with the requested columns; for each column, `columns` lists its possible names in the header.

    Blank lines are skipped. Raises ValueError, naming `name` and the line, for a header that lacks one of the columns
    (UnlabelledError if that is only the last one, of the labels) and for a row with a different number of cells than
    the header.
    """
    header: list[str] = []
    positions: list[int] = []
    num_rows = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip(" "):  # tabs alone are a row of empty cells
            continue
        cells = line.split("\t")
        if not header:
            refuse_json(line, where=f"{name}, line {number}", expected="a header of tab-separated columns")
            header = [cell.strip() for cell in cells]
            positions = _positions(header, columns, where=f"{name}, line {number}")
            continue
        if len(cells) != len(header):
            raise ValueError(
                f"{name}, line {number}: {len(cells)} tab-separated columns, but {len(header)} in the header: "
                f"{first_token(line)}"
            )
        num_rows += 1
        yield TableRow(f"{name}, line {number}", [cells[position].strip(" ") for position in positions])
    if not num_rows:
        raise ValueError(f"{name} has no rows; expected a header, then lines of tab-separated columns")


def _positions(header: list[str], columns: Sequence[Sequence[str]], *, where: str) -> list[int]:
    positions: list[int] = []
    for names in columns:
        found = [header.index(name) for name in names if name in header]
        if not found:
            kind = UnlabelledError if positions and len(positions) == len(columns) - 1 else ValueError
            raise kind(f"{where}: the header has no column {' or '.join(names)}: {first_token(chr(9).join(header))}")
        positions.append(found[0])
    return positions
