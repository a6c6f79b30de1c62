"""What a file is that may be taken for text: JSON, CoNLL-U, columns, FASTA, tables; recognised by its first lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import chain

from elmokit.files.json_fields import parse_json
from elmokit.files.lines import split_tokens

_OBJECT = re.compile(r'\s*(?:\[\s*)?\{\s*"(?:[^"\\]|\\.)*"\s*:')
_CONLLU_ROW = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]+){9}")
_TAG = re.compile(r"O|[BIESLUM]-\S+")
_SEQUENCE = re.compile(r"[A-Z*-]{3,}|[a-z*-]{30,}")
_NAME_OF_COLUMN = re.compile(r"[A-Za-z_][\w .#-]*", re.ASCII)
_HEAD_LINES, _HEAD_CHARACTERS = 20, 100_000


class Kind(Enum):
    """What is no text."""

    JSON = "JSON"
    CONLLU = "CoNLL-U"
    COLUMNS = "columns, with a token on each line"
    FASTA = "FASTA"
    TABS = "a table of columns separated by tabs"
    COMMAS = "a table of columns separated by commas or semicolons"


def with_head(lines: Iterator[str]) -> tuple[Iterator[str], list[str]]:
    """All lines of a file, which is read once, and the first of them that are not blank."""
    read: list[str] = []
    head: list[str] = []
    for line in lines:
        read.append(line)
        if line.strip():
            head.append(line)
        if len(head) == _HEAD_LINES or sum(map(len, head)) > _HEAD_CHARACTERS:
            break
    return chain(read, lines), head


def kind_of(head: Sequence[str]) -> Kind | None:
    """What a file is, by its first lines that are not blank; None if it may be text."""
    if not head:
        return None
    if _is_json(head):
        return Kind.JSON
    rows = [line for line in head if not line.startswith("#")]
    if rows and _CONLLU_ROW.fullmatch(rows[0]):
        return Kind.CONLLU
    if head[0].startswith("#begin document") or _are_tagged(head):
        return Kind.COLUMNS
    if len(head) > 1 and re.match(r">\S", head[0]) and _SEQUENCE.fullmatch(head[1].strip()):
        return Kind.FASTA
    if _are_rows(head):
        return Kind.TABS
    return Kind.COMMAS if delimiter_of(head) else None


def delimiter_of(head: Sequence[str]) -> str:
    """The comma or semicolon that separates the columns of a table with a header in ASCII; empty if none does."""
    for delimiter in ",;":
        if len(head) > 1 and delimiter in head[0]:
            try:
                names, *rows = csv.reader((f"{line}\n" for line in head), delimiter=delimiter)
            except csv.Error:  # such as a cell of 131,072 characters
                continue
            is_header = len(names) > 1 and all(map(_NAME_OF_COLUMN.fullmatch, [names[0] or "index", *names[1:]]))
            is_prose = any(cell != cell.strip(" ") for row in rows for cell in row)  # a space follows its commas
            whole = rows[:-1] if len(head) == _HEAD_LINES else rows  # a row in quotes may be cut
            if is_header and not is_prose and whole and all(len(row) == len(names) for row in whole):
                return delimiter
    return ""


def _is_json(head: Sequence[str]) -> bool:
    if _OBJECT.match("\n".join(head)):
        return True
    if not head[0].lstrip().startswith("[") or '"' not in head[0]:
        return False
    try:
        parse_json(head[0], where="")
    except ValueError:
        return False
    return True


def _are_tagged(head: Sequence[str]) -> bool:
    """Whether lines are a token, perhaps more, and a tag: `EU NNP B-ORG`."""
    rows = [cells for line in head if (cells := split_tokens(line))[:1] != ["-DOCSTART-"]]
    return len(rows) > 2 and len({*map(len, rows)}) == 1 < len(rows[0]) and all(_TAG.fullmatch(row[-1]) for row in rows)


def _are_rows(head: Sequence[str]) -> bool:
    """Whether tabs are in all lines alike, which they hardly are where they separate tokens."""
    num_tabs = {line.count("\t") for line in head}
    if len(head) < 2 or len(num_tabs) > 1 or num_tabs == {0}:
        return False
    return len(head) > 2 or any(" " in cell.strip() for line in head for cell in line.split("\t"))
