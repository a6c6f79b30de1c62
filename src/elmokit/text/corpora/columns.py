"""Column files, as in the CoNLL shared tasks: one token per line, and a blank line after each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from elmokit.files.lines import split_tokens
from elmokit.system.messages import first_token
from elmokit.text.corpora.cells import refuse_json


@dataclass(frozen=True, slots=True)
class ColumnSentence:
    """A sentence as one row of cells per token, on consecutive lines of the file; all rows are equally long."""

    name: str
    first_line: int
    rows: list[list[str]]
    document: int = 0
    """Number of separators before it."""

    @property
    def num_columns(self) -> int:
        return len(self.rows[0])

    @property
    def where(self) -> str:
        """File and range of lines, for errors that name the token (counted from 0) themselves."""
        return f"{self.name}, lines {self.first_line}-{self.first_line + len(self.rows) - 1}"

    def column(self, index: int) -> list[str]:
        return [row[index] for row in self.rows]

    def line(self, row: int) -> str:
        """File and line of a row, for error messages."""
        return f"{self.name}, line {self.first_line + row}"


def column_sentences(
    lines: Iterable[str], *, name: str, first_line: int = 1, separator: str | None = None
) -> Iterator[ColumnSentence]:
    """Sentences from lines of columns; a line whose first cell is `separator` counts as blank.

    Cells are separated by tabs in lines that contain a tab, otherwise by spaces. Raises ValueError, naming `name` and
    the line, for an empty cell and for a row with a different number of cells than the rows above it in its sentence.
    """
    rows: list[list[str]] = []
    number, document = first_line - 1, 0
    for number, line in enumerate(lines, start=first_line):
        if number == first_line:
            refuse_json(line, where=f"{name}, line {number}", expected="columns, one token per line")
        cells = _cells(line)
        if not cells or cells[0] == separator:
            if rows:
                yield ColumnSentence(name, number - len(rows), rows, document)
            rows, document = [], document + bool(cells)
            continue
        if "" in cells:
            raise ValueError(f"{name}, line {number}: column {cells.index('') + 1} is empty in {first_token(line)}")
        if rows and len(cells) != len(rows[0]):
            raise ValueError(
                f"{name}, line {number}: {len(cells)} columns, but {len(rows[0])} in the lines above: "
                f"{first_token(line)}"
            )
        rows.append(cells)
    if rows:
        yield ColumnSentence(name, number + 1 - len(rows), rows, document)


def _cells(line: str) -> list[str]:
    if "\t" not in line:
        return split_tokens(line)
    cells = [cell.strip(" ") for cell in line.split("\t")]
    return cells if any(cells) else []  # WNUT-17 separates its sentences by a line with a single tab
