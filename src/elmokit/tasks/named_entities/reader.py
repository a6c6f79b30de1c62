"""Reader of sentences with named entities, in columns: CoNLL-2002, CoNLL-2003, WNUT-17, KLUE-NER and the like."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elmokit.metrics.spans import spans_from_tags, tags_from_spans
from elmokit.system.untrusted import quoted
from elmokit.text.corpora.columns import column_sentences
from elmokit.text.corpora.json_lines import UnlabelledError
from elmokit.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elmokit.text.corpora.columns import ColumnSentence

_DOCUMENT_START = "-DOCSTART-"  # first cell of a line that is not a token


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """Tokens, with one tag per token."""

    tokens: list[str]
    tags: list[str]
    written: list[str] = field(default_factory=list[str])
    """The same tags as the file writes them, in its own scheme; empty for text that is not from a file of tags."""
    text: str | None = field(default=None, compare=False)
    """The text that the tokens are from; None if only the tokens are known."""
    document: str = field(default="", compare=False)
    """File and number of its document; empty if the file does not separate documents."""


def read_tagged_sentences(path: str | os.PathLike[str], *, scheme: str = "BIOUL") -> Iterator[TaggedSentence]:
    """Read the first column as token and the last one as its tag, in any scheme; yield tags in `scheme`.

    Spans are read as conlleval reads them, so no tag is illegal, and IOB1 and BIO (IOB2) give the same spans. A line
    of `-DOCSTART-` ends a sentence and is not a token. `tags_from_spans` documents the schemes.
    Raises ValueError, with the file and the line, if rows differ in their number of columns, a cell is empty, a tag is
    not one, or there is no sentence.
    """
    name = os.fspath(path)
    first: ColumnSentence | None = None
    for sentence in column_sentences(read_lines(path), name=name, separator=_DOCUMENT_START):
        first = first or sentence
        _check_columns(sentence, first)
        written = sentence.column(-1)
        try:
            spans = spans_from_tags(written)
        except ValueError as error:
            raise ValueError(f"{sentence.where}, {error}") from None
        tags = tags_from_spans(spans, num_tokens=len(sentence.rows), scheme=scheme)
        document = f"{name} {sentence.document}" if sentence.document else ""
        yield TaggedSentence(tokens=sentence.column(0), tags=tags, written=written, document=document)
    if first is None:
        raise ValueError(f"{name} has no sentence; expected a token and its tag on each line")


def _check_columns(sentence: ColumnSentence, first: ColumnSentence) -> None:
    row = quoted(" ".join(sentence.rows[0]))
    if sentence.num_columns < 2:
        raise UnlabelledError(f"{sentence.line(0)}: {row} has one column; expected a token and its tag")
    if sentence.num_columns != first.num_columns:
        raise ValueError(
            f"{sentence.line(0)}: {sentence.num_columns} columns, but {first.num_columns} at {first.line(0)}: {row}"
        )
