"""A column of a text file as lines of text: a field of JSON lines, a column of a table, or the words of CoNLL-U."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from elmokit.files.json_fields import Fields
from elmokit.files.lines import read_lines, shown_name, with_head
from elmokit.system.messages import printable
from elmokit.text.corpora.cells import json_lines
from elmokit.text.corpora.columns import column_sentences
from elmokit.text.corpora.kinds import CONLLU_PLUS, Kind, kind_of
from elmokit.text.corpora.tables import table_rows
from elmokit.text.tokenizer import HYPHENATION

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""Spaces in its words are read as no-break spaces."""


def column_texts(path: str | os.PathLike[str], column: str, *, raw_text: bool = False) -> Iterator[str]:
    """The texts in a column; of lists of tokens, and of CoNLL-U, with a space between the tokens.

    raw_text: whether the lines will be tokenised, as tokens must not.
    Raises ValueError, naming the line, where there is no such column, and for a NUL character.
    """
    name = shown_name(path)
    lines, head = with_head(read_lines(path))
    kind = kind_of(head)
    if kind is Kind.CONLLU:
        if raw_text:
            raise ValueError(
                f"{name} is CoNLL-U, whose tokens cannot be tokenised; leave out --tokenize, or raw_text=True"
            )
        plus = CONLLU_PLUS.match(head[0])
        texts = _of_conllu(lines, name, column, plus[1].lower().split() if plus else CONLLU_COLUMNS)
    elif kind is Kind.JSON:
        if head[0].lstrip().startswith("["):
            raise ValueError(f"{name} is a JSON array; expected JSON lines, which jq -c '.[]' FILE writes")
        texts = (_of_row(row, column, raw_text=raw_text) for row in json_lines(lines, name=name))
    else:
        texts = (cells[0] for _, cells in table_rows(lines, name=name, columns=[[column]]))
    return (HYPHENATION.sub("", text) for text in texts)


def _of_row(row: Fields, column: str, *, raw_text: bool) -> str:
    has_tokens = isinstance(row.value(column), list) and not raw_text
    text = " ".join(row.tokens(column)) if has_tokens else row.text(column)
    if "\0" in text:
        raise row.error(column, "has a NUL character; remove it")
    return text


def _of_conllu(lines: Iterable[str], name: str, column: str, columns: Sequence[str]) -> Iterator[str]:
    """Of the words; ranges of them (`1-2`) and empty nodes (`1.1`) are left out, and spaces in a word do not break."""
    if column.lower() not in columns:
        known = printable(", ".join(columns))
        raise ValueError(f"{name} is CoNLL-U; expected one of its columns, {known}, not {column}")
    position = columns.index(column.lower())
    has_id = columns[0] == "id"  # otherwise a row may begin with the token #
    if len(columns) == 1:  # a row is a token; comments have spaces, and no column follows those in a word
        lines = ("" if re.match("#.*[ =]", line) else line.strip(" ").replace(" ", "\u00a0") for line in lines)
    else:
        lines = ("" if line.startswith("#") and (has_id or "\t" not in line) else line for line in lines)
    for sentence in column_sentences(lines, name=name):
        rows = [row for row in sentence.rows if row[0].isdecimal() or not has_id]
        if sentence.num_columns != len(columns):
            raise ValueError(f"{sentence.line(0)}: {sentence.num_columns} columns; this CoNLL-U has {len(columns)}")
        yield " ".join(row[position].replace(" ", "\u00a0") for row in rows)
