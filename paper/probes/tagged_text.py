"""Sentences with a tag for each token: a column file (WORD TAB TAG), or CoNLL-U (universaldependencies.org)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elmokit.files.lines import read_lines
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.columns import column_sentences

FORM, UPOS, XPOS = 1, 3, 4
"""Columns of CoNLL-U, from 0."""


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """As many tags as tokens."""

    tokens: list[str]
    tags: list[str]


def read_tagged(path: Path) -> list[TaggedSentence]:
    """Sentences of a file with two columns, token and tag. Tokens get plain brackets and quotes (`plain_token`).

    Raises ValueError, naming the line, for a different number of columns.
    """
    return list(_sentences(path, list(read_lines(path)), num_columns=2, token=0, tag=1))


def read_conllu(path: Path, *, column: int) -> list[TaggedSentence]:
    """Words and the tags of a column (`UPOS`, `XPOS`) of a CoNLL-U file; ranges and empty nodes are not words.

    Raises ValueError, naming the line, for a different number of columns.
    """
    lines = ["" if _is_comment(line) else line for line in read_lines(path)]
    return list(_sentences(path, lines, num_columns=10, token=FORM, tag=column))


def _sentences(path: Path, lines: list[str], *, num_columns: int, token: int, tag: int) -> Iterator[TaggedSentence]:
    for sentence in column_sentences(lines, name=str(path)):
        if sentence.num_columns != num_columns:
            raise ValueError(f"{sentence.where}: {sentence.num_columns} columns; expected {num_columns}")
        words = [row for row in sentence.rows if num_columns == 2 or row[0].isdigit()]
        yield TaggedSentence([plain_token(row[token]) for row in words], [row[tag] for row in words])


def _is_comment(line: str) -> bool:
    """A token's line begins with its number."""
    return line.startswith("#")
