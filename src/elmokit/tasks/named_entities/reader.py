"""Sentences with named entities out of columns: CoNLL-2002, CoNLL-2003, WNUT-17, KLUE-NER and their like."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.metrics.spans import spans_from_tags, tags_from_spans
from elmokit.text.corpora.columns import column_sentences
from elmokit.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmokit.text.corpora.columns import ColumnSentence

_DOCUMENT_START = "-DOCSTART-"  # of a line that is no token


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """Tokens and one tag for each."""

    tokens: list[str]
    tags: list[str]


def read_tagged_sentences(path: str | os.PathLike[str], *, scheme: str = "BIOUL") -> Iterator[TaggedSentence]:
    """The first column is the token, the last one its tag in any scheme; the tags come in `scheme` (`tags_from_spans`).

    Spans are read as conlleval reads them, so no tag is illegal, and the same spans come out of IOB1 and BIO (IOB2).
    Lines of `-DOCSTART-` end a sentence and are no tokens.
    Raises ValueError, with the file and the line, when rows differ in their number of columns, a cell is empty, a tag
    is none, or there is no sentence at all.
    """
    name = os.fspath(path)
    first: ColumnSentence | None = None
    for sentence in column_sentences(read_lines(path), name=name, separator=_DOCUMENT_START):
        first = first or sentence
        _check_columns(sentence, first)
        try:
            spans = spans_from_tags(sentence.column(-1))
        except ValueError as error:
            raise ValueError(f"{sentence.where}, {error}") from None
        tags = tags_from_spans(spans, num_tokens=len(sentence.rows), scheme=scheme)
        yield TaggedSentence(tokens=sentence.column(0), tags=tags)
    if first is None:
        raise ValueError(f"{name} has no sentence; expected a token and its tag on each line")


def _check_columns(sentence: ColumnSentence, first: ColumnSentence) -> None:
    row = " ".join(sentence.rows[0])[:80]
    if sentence.num_columns < 2:
        raise ValueError(f"{sentence.line(0)}: {row!r} is one column; expected a token and its tag")
    if sentence.num_columns != first.num_columns:
        raise ValueError(
            f"{sentence.line(0)}: {sentence.num_columns} columns, but {first.num_columns} at {first.line(0)}: {row!r}"
        )
