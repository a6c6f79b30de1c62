"""Files of columns, as in the CoNLL shared tasks: a token a line, and a blank line after each sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.text.lines import split_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class ColumnSentence:
    """One row of cells a token, as many cells in each row; they stand in consecutive lines of the file."""

    name: str
    first_line: int
    rows: list[list[str]]

    @property
    def num_columns(self) -> int:
        return len(self.rows[0])

    @property
    def place(self) -> str:
        """File and lines, for errors that name the token themselves (counted from 0)."""
        return f"{self.name}, lines {self.first_line}-{self.first_line + len(self.rows) - 1}"

    def column(self, index: int) -> list[str]:
        return [row[index] for row in self.rows]

    def line(self, row: int) -> str:
        """File and line of a row, for errors."""
        return f"{self.name}, line {self.first_line + row}"


def column_sentences(
    lines: Iterable[str], *, name: str, first_line: int = 1, separator: str | None = None
) -> Iterator[ColumnSentence]:
    """Sentences out of lines; a line whose first cell is `separator` counts as a blank one.

    A line with a tab has its cells between tabs, any other between spaces. Raises ValueError, with `name` and the
    line, for a row that has not as many cells as those above it in its sentence, and for an empty cell.
    """
    rows: list[list[str]] = []
    number = first_line - 1
    for number, line in enumerate(lines, start=first_line):
        cells = _cells(line)
        if not cells or cells[0] == separator:
            if rows:
                yield ColumnSentence(name, number - len(rows), rows)
            rows = []
            continue
        if "" in cells:
            raise ValueError(f"{name}, line {number}: column {cells.index('') + 1} is empty in {line[:80]!r}")
        if rows and len(cells) != len(rows[0]):
            raise ValueError(
                f"{name}, line {number}: {len(cells)} columns, but {len(rows[0])} above it in the same sentence: "
                f"{line[:80]!r}"
            )
        rows.append(cells)
    if rows:
        yield ColumnSentence(name, number + 1 - len(rows), rows)


def _cells(line: str) -> list[str]:
    if "\t" not in line:
        return split_tokens(line)
    cells = [cell.strip(" ") for cell in line.split("\t")]
    return cells if any(cells) else []  # WNUT-17 has a tab alone between its sentences
