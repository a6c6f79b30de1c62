"""What a file is that may be taken for text: JSON, markup, columns, FASTA, tables; recognised by its first lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from enum import Enum

from elmokit.files.json_fields import parse_json
from elmokit.files.lines import HEAD_LINES, split_tokens
from elmokit.text.corpora.tables import SEPARATOR_LINE, csv_reader

_OBJECT = re.compile(r'\s*(?:\[\s*)?\{\s*"(?:[^"\\]|\\.)*"\s*:')
CONLLU_PLUS = re.compile(r"# ?global\.columns ?= ?(.+)")
"""The first line of CoNLL-U Plus, with the names of its columns."""
_CONLLU_ROW = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]+){9}")
_MARKUP = re.compile(r"\s*<[?]xml|\s*<!doctype|\s*<!--|\s*<html", re.IGNORECASE)
_OPENING = re.compile(r"""\s*<([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*/?>""")
_CLOSING = re.compile(r"</(?![sS]>)[A-Za-z]")
_TAG_LINE = re.compile(r"\s*</?[A-Za-z][^<>]*>\s*")
_MARKER = re.compile(r"\\[a-z]\w*(?:\s|$)")
_TAG = re.compile(r"O|[BIESLUM]-\S+")
_PART_OF_SPEECH = re.compile(r"[A-Z]{2,5}\$?|[^\w\s]{1,5}")
_USUAL_PARTS_OF_SPEECH = {"DT", "IN", "NN", "NNP", "VB", "DET", "ADP", "NOUN", "VERB", "PRON", "PROPN"}
_QUOTED_CELL = re.compile(r"""(?:^|[,;|])"(?:[^"]|"")*"(?:[,;|](?!\s)|$)""")
_SEQUENCE = re.compile(r"(?:[A-Za-z*.-]{10,} )*[A-Za-z*.-]+")
_RESIDUES = re.compile("[A-Z]{3}|[A-Za-z]{20}")
_NAME_OF_COLUMN = re.compile(r"[A-Za-z_][\w .#-]*", re.ASCII)
_USUAL_NAMES = {"text", "sentence", "sentences", "tokens", "review", "document"}


class Kind(Enum):
    """What is no text."""

    JSON = "JSON"
    MARKUP = "XML or HTML"
    MARKERS = "lines that begin with markers, as those of Toolbox"
    TAGGED_COLUMNS = "columns separated by tabs, with a token or a tag on each line"
    CONLLU = "CoNLL-U"
    COLUMNS = "columns, with a token on each line"
    WORDS = "columns separated by tabs, with a token on each line"
    FASTA = "FASTA"
    TABS = "a table of columns separated by tabs"
    COMMAS = "a table of columns separated by commas, semicolons or bars"
    ONE_COLUMN = "a table of one column, with its name in the first line"
    UNNAMED = "a table of columns separated by commas, without a line of their names"


def kind_of(head: Sequence[str]) -> Kind | None:
    """What a file is, by its first lines that are not blank; None if it may be text."""
    head = head[1:] if head and SEPARATOR_LINE.fullmatch(head[0]) else head
    if not head:
        return None
    if _is_json(head):
        return Kind.JSON
    if _are_rows(head) and any(map(_TAG_LINE.fullmatch, head)):
        return Kind.TAGGED_COLUMNS
    if _is_markup(head):
        return Kind.MARKUP
    if sum(_MARKER.match(line) is not None for line in head) > max(2, len(head) / 2):
        return Kind.MARKERS
    rows = [line for line in head if not line.startswith("#")]
    if CONLLU_PLUS.match(head[0]) or (rows and _CONLLU_ROW.fullmatch(rows[0])):
        return Kind.CONLLU
    if head[0].startswith("#begin document") or _are_tagged(head):
        return Kind.COLUMNS
    if _is_fasta([line.strip() for line in head if not line.startswith(";")]):
        return Kind.FASTA
    if head[0].strip(' "') in _USUAL_NAMES and any(" " in line.strip() for line in head[1:]):
        return Kind.ONE_COLUMN
    if _are_rows(head):
        return Kind.TABS if any(" " in line.strip() for line in head) else Kind.WORDS
    if delimiter_of(head):
        return Kind.COMMAS
    whole = head[:-1] if len(head) == HEAD_LINES else head  # a row in quotes may be cut
    return Kind.UNNAMED if len(whole) > 1 and all(map(_has_quoted_cell, whole)) else None


def delimiter_of(head: Sequence[str]) -> str:
    """The comma, semicolon or bar that separates the columns of a table with a header in ASCII; empty if none does."""
    for delimiter in ",;|":
        if len(head) > 1 and delimiter in head[0]:
            try:
                names, *rows = csv_reader((f"{line}\n" for line in head), delimiter)
            except csv.Error:
                continue
            is_header = len(names) > 1 and all(map(_NAME_OF_COLUMN.fullmatch, [names[0] or "index", *names[1:]]))
            is_prose = any(cell != cell.strip(" ") for row in rows for cell in row)  # a space follows its commas
            whole = rows[:-1] if len(head) == HEAD_LINES else rows  # a row in quotes may be cut
            if is_header and not is_prose and whole and all(len(row) == len(names) for row in whole):
                return delimiter
    return ""


def _has_quoted_cell(line: str) -> bool:
    """Whether a cell in quotes has a delimiter next to it, without the space that follows it in prose."""
    return any(cell != cell.strip(",;|") for cell in _QUOTED_CELL.findall(line))


def _is_markup(head: Sequence[str]) -> bool:
    """Whether a file begins with a tag that has attributes or an end, or half of its lines do, some with an end.

    `<s> We sat . </s>` and `<unk>` are tokens.
    """
    opened = [found for line in head[:2] if (found := _OPENING.match(line))]
    ends = "\n".join(head)
    begun = [line for line in head if _TAG_LINE.match(line)]
    return (
        _MARKUP.match(head[0]) is not None
        or any(tag[2] or (tag[1] not in "sS" and f"</{tag[1]}>" in ends) for tag in opened)
        or (2 * len(begun) >= len(head) and _CLOSING.search(ends) is not None)
    )


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


def _is_fasta(lines: Sequence[str]) -> bool:
    """Whether lines are headers, the first one, and residues, perhaps in blocks of ten; words after `>` are a quote."""
    residues = [line for line in lines if not line.startswith(">")]
    is_headed = len(residues) < len(lines) and re.match(r">\s*\S", lines[0]) is not None
    return is_headed and all(map(_SEQUENCE.fullmatch, residues)) and any(map(_RESIDUES.search, residues))


def _are_tagged(head: Sequence[str]) -> bool:
    """Whether lines are a token, perhaps more, and a tag: `EU NNP B-ORG`, `The DT`."""
    rows = [cells for line in head if (cells := split_tokens(line))[:1] != ["-DOCSTART-"]]
    if len(rows) < 3 or len({*map(len, rows)}) > 1 or len(rows[0]) == 1:
        return False
    last = [row[-1] for row in rows]
    is_usual = not _USUAL_PARTS_OF_SPEECH.isdisjoint(last) and not all(row[0].isupper() for row in rows)
    return all(map(_TAG.fullmatch, last)) or (is_usual and all(map(_PART_OF_SPEECH.fullmatch, last)))


def _are_rows(head: Sequence[str]) -> bool:
    """Whether tabs are in all lines alike, which they hardly are where they separate tokens."""
    head = [line for line in head if not _TAG_LINE.fullmatch(line)]  # around sentences
    head = [line.lstrip("\t") for line in head] if all(line[0] == "\t" for line in head) else head  # indented
    num_tabs = {line.count("\t") for line in head}
    if len(head) < 2 or len(num_tabs) > 1 or num_tabs == {0}:
        return False
    return len(head) > 2 or any(" " in cell.strip() for line in head for cell in line.split("\t"))
