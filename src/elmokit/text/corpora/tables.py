"""Tables: a header that names the columns, then rows of cells, separated by tabs, or as CSV by commas and the like.

Quotes around cells are CSV syntax, also in a tab-separated table if its header is in quotes or its first rows are CSV
that needs its quotes (`_is_csv`). In other tables they are text. `as_tsv` writes tab-separated tables.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from elmokit.files.json import json_lines, parse_json
from elmokit.files.lines import MAX_LINE_BYTES, whole
from elmokit.system.messages import first_token, join_names, printable

_NEEDS_QUOTES = re.compile(r'["\t\r\n]')
_QUOTED = re.compile(r'"(?=\S)(?=.*,|.*"".)(?:[^"]|"")*"')
_CELL_OF_CSV = r'(?:(?!")[^"\t\n]*+|"[^"]*+(?:""[^"]*+)*+")'
_ROWS_OF_CSV = re.compile(rf"(?:{_CELL_OF_CSV}(?:\t{_CELL_OF_CSV})*+\n)*+")
_DOUBLED = re.compile(r'"(?:[^"]|"")*""(?:[^"]|"")*"')
_ROWS_LOOKED_AT = 1000
SEPARATOR_LINE = re.compile(r'"?sep=."?', re.IGNORECASE)
"""The first line of some files for Excel, before the header."""
_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}


def table_rows(lines: Iterable[str], *, name: str, columns: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """File and line of each row of a table, for messages, and its requested cells, in the order of the request.

    For each column, `columns` lists its possible names in the header; case does not matter. The header decides
    the separator: a tab, or else the comma, semicolon or bar next to a requested column. If there is only one column,
    quotes around its cells are CSV if the file is named `.csv` or its first lines are CSV with a cell of several lines.
    Blank lines are skipped.
    Raises ValueError, naming `name` and the line, for a header that lacks one of the columns or has it twice, for a row
    with a different number of cells than the header, and for cells that are not valid CSV in a table with CSV quotes.
    """
    rest = iter(lines)
    numbered = enumerate(rest, start=1)
    of_text = (line for line in numbered if line[1].strip(" ") and not SEPARATOR_LINE.fullmatch(line[1]))
    number, first = next(of_text, (0, ""))
    if not number:
        raise ValueError(f"{name} has no rows; expected a header, then lines of tab-separated columns")
    where = f"{name}, line {number}"
    separator, header = _header(first, columns)
    positions = _positions(header, columns, where=where)
    is_csv = len(header) == 1 and ".csv" in Path(name.lower()).suffixes
    has_quoting = separator != "\t" or first.startswith('"') or is_csv
    if not has_quoting:
        head = list(islice(rest, _ROWS_LOOKED_AT))
        rest = chain(head, rest)
        has_quoting = _is_csv(head, positions, num_columns=len(header))
    rows = _quoted_rows(rest, separator, name=name) if has_quoting else _plain_rows(rest)
    num_rows = 0
    for line, cells in rows:
        where = f"{name}, line {number + line}"
        if len(cells) != len(header):
            row = separator.join(cells)
            is_open = len(cells) < len(header) and row.count('"') % 2 == 1
            hint = "; if a cell in quotes continues on the next line, save the table as CSV" if is_open else ""
            raise ValueError(
                f"{where}: {len(cells)} {_SEPARATORS[separator]}-separated columns, but {len(header)} in the header: "
                f"{first_token(row)}{hint}"
            )
        num_rows += 1
        yield where, [cells[position].strip(" ") for position in positions]
    if not num_rows:
        raise ValueError(f"{name} has no rows; expected a header, then lines of tab-separated columns")


def rows_of(
    lines: Iterable[str], first: str, *, name: str, columns: Sequence[Sequence[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Place (for messages) and cells of each row of JSON lines, a JSON list, or a table with a header (`table_rows`).

    JSON begins with `{` or `[`. A JSON list is held in memory as a whole. A JSON cell is text or a whole number, and
    null is an empty cell.

    lines, first: what `lines_and_first` returns.
    Raises ValueError, with the file and the line, for bad JSON, missing fields, what `table_rows` refuses, and a file
    without rows.
    """
    if first.lstrip().startswith("{"):
        records = json_lines(lines, name=name)
    elif first.lstrip().startswith("["):
        content = parse_json("\n".join(whole(lines, name)), list[dict[str, Any]], where=name)
        if not content:
            raise ValueError(f"{name} has no rows; the list is empty")
        records = ((f"{name}, entry {number}", record) for number, record in enumerate(content))
    else:
        yield from table_rows(lines, name=name, columns=columns)
        return
    for where, record in records:
        yield where, [_json_cell(record, names, where=where) for names in columns]


def _json_cell(record: Mapping[str, object], names: Sequence[str], *, where: str) -> str:
    name = next((name for name in names if name in record), None)
    if name is None:
        raise ValueError(f"{where}: there is no field {' or '.join(names)}; there are {printable(', '.join(record))}")
    value = record[name]
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise ValueError(f"{where}: field {name} is {first_token(str(value))}; expected text or a whole number")
    return "" if value is None else str(value)


def as_tsv(rows: Iterable[Sequence[str]]) -> str:
    """Lines of cells separated by tabs; as in CSV, an empty cell or one with a quotation mark or line end is quoted."""
    return "".join("\t".join(map(_quoted, row)) + "\n" for row in rows)


def _is_csv(lines: Sequence[str], positions: Sequence[int], *, num_columns: int) -> bool:
    """Whether the first lines of a tab-separated table are CSV, so that quotes around cells are not part of their text.

    They are CSV if a cell spans several lines. They are also CSV if the requested cells have quotes only where they are
    needed, and everywhere there: for commas and quotes, as in spreadsheets, or for quotes alone, as in pandas.
    """
    text = "".join(f"{line}\n" for line in lines)
    is_cut = len(lines) == _ROWS_LOOKED_AT and text.count('"') % 2 == 1
    if '"' not in text or not _ROWS_OF_CSV.fullmatch(text + '"\n' * is_cut):
        return False
    is_open = [line.count('"') % 2 == 1 and (num_columns == 1 or line.count("\t") + 1 < num_columns) for line in lines]
    rows = [line.split("\t") for line in lines]
    cells = [row[at].strip(" ") for row in rows for at in positions if at < len(row)]
    in_quotes = [cell for cell in cells if '"' in cell]
    special = [cell for cell in cells if '"' in cell or "," in cell]
    is_needed = all(map(_QUOTED.fullmatch, special)) or all(map(_DOUBLED.fullmatch, in_quotes))
    return any(is_open) or (bool(in_quotes) and is_needed)


def csv_reader(lines: Iterable[str], separator: str, *, strict: bool = False) -> Any:
    """Python's CSV reader, for cells up to the largest length of a line."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    return csv.reader(lines, delimiter=separator, strict=strict)


def _header(line: str, columns: Sequence[Sequence[str]]) -> tuple[str, list[str]]:
    """The separator of a table, and the cells of its header."""
    wanted = {name.lower() for names in columns for name in names}
    for separator in _SEPARATORS:
        cells = [cell.strip(' "') for cell in _split(line, separator)]
        if len(cells) > 1 and (separator == "\t" or not wanted.isdisjoint(map(str.lower, cells))):
            return separator, cells
    return "\t", [line.strip(' "')]


def _split(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.split(separator)
    try:
        return next(csv_reader([line], separator))
    except csv.Error:
        return []


def _plain_rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The line number of each row, from 1, and its cells."""
    for number, line in enumerate(lines, start=1):
        if line.strip(" "):  # tabs alone are a row of empty cells
            yield number, line.split("\t")


def _quoted_rows(lines: Iterable[str], separator: str, *, name: str) -> Iterator[tuple[int, list[str]]]:
    """The same for rows that may span several lines, within quotes. The number is the first line's."""
    rows = csv_reader((f"{line}\n" for line in lines), separator, strict=True)
    number = 1
    try:
        for cells in rows:
            if cells:
                yield number, cells
            number = rows.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{name}: the row of line {number} after the header is not CSV: {printable(str(error))}; a quotation mark "
            'in a cell in quotes must be written twice (by R with qmethod="double")'
        ) from None


def _positions(header: list[str], columns: Sequence[Sequence[str]], *, where: str) -> list[int]:
    spelt = [*header, *map(str.lower, header)]
    columns = [[*names, *map(str.lower, names)] for names in columns]
    positions: list[int] = []
    for names in columns:
        found = [spelt.index(name) for name in names if name in spelt]
        if not found:
            wanted = " or ".join(dict.fromkeys(names))
            there_are = join_names(map(first_token, header))
            raise ValueError(f"{where}: the header has no column {wanted}; it has {there_are}")
        alike = header if found[0] < len(header) else spelt[len(header) :]
        if alike.count(spelt[found[0]]) > 1:
            raise ValueError(f"{where}: the header has two columns named {spelt[found[0]]}; rename one of them")
        positions.append(found[0] % len(header))
    return positions


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if not cell or _NEEDS_QUOTES.search(cell) else cell
