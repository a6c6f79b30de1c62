"""Reader of sentences with named entities: columns (CoNLL-2002, -2003, -2012, WNUT-17 and the like), and KLUE-NER."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from elmokit.files.lines import lines_and_first
from elmokit.metrics.roles import tags_from_props
from elmokit.metrics.spans import Span, spans_from_tags, tags_from_spans
from elmokit.system.messages import first_token
from elmokit.text.alignment import token_offsets
from elmokit.text.corpora import conll2012
from elmokit.text.corpora.columns import ColumnSentence, column_sentences, with_words_first, without_documents
from elmokit.text.tokenizer import tokenize

_DOCUMENT_START = "-DOCSTART-"  # first cell of a line that is not a token
_KLUE_NER = ("## 토큰, 레이블 구분자", "## klue-ner")
"""How a file begins: with a description of its format, or, without that, with the name of the first sentence."""
_KLUE_COMMENT = "##"


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


def read_tagged_sentences(path: str | os.PathLike[str]) -> Iterator[TaggedSentence]:
    """Read the first column as token and the last one as its tag, in any scheme; yield tags in BIOUL.

    Spans are read as conlleval reads them, so no tag is illegal, and IOB1 and BIO (IOB2) give the same spans. A line
    of `-DOCSTART-` ends a sentence and is not a token. `tags_from_spans` documents the schemes.
    A file that begins with `#begin document` is CoNLL-2012, whose names are brackets; its tokens become plain.
    KLUE-NER has one character per line: its text is tokenised, and a token gets the first entity that touches it, so
    that a name keeps its particle (a second entity within a token is lost).
    Raises ValueError, with the file and the line, if rows differ in their number of columns, a cell is empty, a tag is
    not one, another column has the same labels (nested entities, or predictions), the first column numbers the words,
    or sentences are missing. Warns if a tenth of the sentences are very long.
    """
    name = os.fspath(path)
    lines, first_line = lines_and_first(path)
    if first_line.startswith(_KLUE_NER):
        sentences = _of_characters(_tagged_characters(lines, name=name))
    elif first_line.startswith(conll2012.BEGIN):
        sentences = _of_brackets(conll2012.read_conll2012(lines, name=name), name)
    else:
        sentences = _of_columns(with_words_first(column_sentences(lines, name=name, separator=_DOCUMENT_START)))
    expected = "a token and its tag on each line"
    yield from without_documents(sentences, lambda each: [each.tokens], name=name, expected=expected)


def _of_brackets(documents: Iterable[conll2012.Document], name: str) -> Iterator[TaggedSentence]:
    for document in documents:
        for sentence in document.sentences:
            try:
                written = tags_from_props(conll2012.names(sentence))
            except ValueError as error:
                raise ValueError(f"{sentence.where}, column {conll2012.NAMES + 1}, {error}") from None
            tags = tags_from_spans(spans_from_tags(written), num_tokens=len(written), scheme="BIOUL")
            tokens = conll2012.plain_tokens(sentence)
            yield TaggedSentence(tokens, tags, written, document=f"{name} {document.name}")


def _of_columns(sentences: Iterable[ColumnSentence]) -> Iterator[TaggedSentence]:
    first: ColumnSentence | None = None
    kinds, others = set[str](), set[str]()  # of labels, in the last column and in the others
    for sentence in sentences:
        first = first or sentence
        _check_columns(sentence, first)
        kinds |= _kinds(sentence.column(-1))
        others |= _kinds(cell for row in sentence.rows for cell in row[1:-1])
        if both := kinds & others:
            raise ValueError(
                f"{sentence.where}: labels of {first_token(min(both))} are in the last column and in another one; "
                "expected one column of tags: remove the others, as by cut -f 1,2"
            )
        written = sentence.column(-1)
        tags = tags_from_spans(_spans(written, sentence), num_tokens=len(sentence.rows), scheme="BIOUL")
        document = f"{sentence.name} {sentence.document}" if sentence.document else ""
        yield TaggedSentence(tokens=sentence.column(0), tags=tags, written=written, document=document)


def _tagged_characters(lines: Iterable[str], *, name: str) -> Iterator[ColumnSentence]:
    """Sentences of KLUE-NER: lines of a character (spaces too), a tab and a tag, under a comment.

    Raises ValueError, naming `name` and the line, for a line of another kind.
    """
    rows: list[list[str]] = []
    for number, line in enumerate(chain(lines, [""]), start=1):
        if line and not line.startswith(_KLUE_COMMENT):
            character, tab, tag = line.partition("\t")
            if not tab or len(character) != 1 or not tag.strip():
                raise ValueError(f"{name}, line {number}: {first_token(line)}; expected a character, a tab and its tag")
            rows.append([character, tag.strip()])
        elif rows:
            yield ColumnSentence(name, number - len(rows), rows)
            rows = []


def _of_characters(sentences: Iterable[ColumnSentence]) -> Iterator[TaggedSentence]:
    for sentence in sentences:
        text = "".join(sentence.column(0))
        tokens = tokenize(text)
        if tokens:
            spans = list(_of_tokens(_spans(sentence.column(1), sentence), token_offsets(text, tokens)))
            tags, written = (tags_from_spans(spans, num_tokens=len(tokens), scheme=each) for each in ("BIOUL", "BIO"))
            yield TaggedSentence(tokens=tokens, tags=tags, written=written, text=text)


def _of_tokens(spans: Iterable[Span], offsets: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Spans of characters as spans of the tokens at these offsets, each without tokens that an earlier one has."""
    after = 0
    for span in spans:
        while after < len(offsets) and offsets[after][1] <= span.first:
            after += 1
        first = after
        while after < len(offsets) and offsets[after][0] <= span.last:
            after += 1
        if first < after:
            yield Span(span.label, first, after - 1)


def _spans(tags: Sequence[str], sentence: ColumnSentence) -> list[Span]:
    try:
        return spans_from_tags(tags)
    except ValueError as error:
        raise ValueError(f"{sentence.where}, {error}") from None


def _kinds(tags: Iterable[str]) -> set[str]:
    """Chunks have other labels than names, and a lemma such as B-52 is none of these."""
    return {tag[2:] for tag in tags if tag[:2] in ("B-", "I-")}


def _check_columns(sentence: ColumnSentence, first: ColumnSentence) -> None:
    if 2 <= sentence.num_columns == first.num_columns:
        return
    row, where = first_token(" ".join(sentence.rows[0])), sentence.line(0)
    if sentence.num_columns < 2:
        raise ValueError(f"{where}: {row} has one column; expected a token and its tag, parted by a tab or spaces")
    raise ValueError(f"{where}: {sentence.num_columns} columns, but {first.num_columns} at {first.line(0)}: {row}")
