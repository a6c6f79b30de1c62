"""The columns of CoNLL-2012 (OntoNotes): documents of sentences with words, speakers, roles and coreference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from elmokit.system.messages import first_token
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.columns import ColumnSentence, column_sentences

BEGIN = "#begin document"

_END = "#end document"
_HEAD = re.compile(r"#begin document \((?P<name>.*)\);?(?: part (?P<part>\d{1,9}))?\s*")
SPEAKER, NAMES, COREFERENCE = 9, 10, -1
"""Indices of columns: the speaker of each token (`-` if there is none), the brackets of named entities, and the
coreference mentions that begin or end at it."""
_WORD, _LEMMA, _FRAMESET, _FIRST_ROLE = 3, 6, 7, 11
_NONE = "-"
_ONE_TOKEN = re.compile(r"\([^()*]+\)")
_WITHOUT_WORD = "[WORD]"


@dataclass(frozen=True, slots=True)
class Document:
    """A document, or a part of a long one that is annotated as if it were a document."""

    name: str
    part: int
    sentences: list[ColumnSentence]


def read_conll2012(lines: Iterable[str], *, name: str) -> Iterator[Document]:
    """Documents from the lines of a file, one in memory at a time."""
    head: re.Match[str] | None = None
    begin = number = 0
    body: list[str] = []
    for number, line in enumerate(lines, start=1):
        if head is None and line.strip():
            head = _HEAD.fullmatch(line)
            if head is None:
                raise ValueError(
                    f"{name}, line {number}: {first_token(line)} is outside a document; expected '{BEGIN} (NAME); "
                    "part 000'"
                )
            begin, body = number, []
        elif head is not None and line.startswith(_END):
            yield _document(head, body, name=name, begin=begin)
            head = None
        elif line.startswith(BEGIN):
            break
        elif head is not None:
            body.append(line)
    if head is not None:
        raise ValueError(
            f"{name}, line {begin}: document {first_token(head['name'])} has no '{_END}' up to line {number}"
        )
    if begin == 0:
        raise ValueError(f"{name} has no document; expected '{BEGIN} (NAME); part 000' and columns below it")


def plain_tokens(sentence: ColumnSentence) -> list[str]:
    """The tokens of a sentence, with brackets and quotes as `plain_token` writes them."""
    return [plain_token(word) for word in sentence.column(_WORD)]


def names(sentence: ColumnSentence) -> list[str]:
    """The column of named entities, in the brackets of roles. OntoNotes writes a name of one token as `(PERSON)`."""
    return [cell[:-1] + "*)" if _ONE_TOKEN.fullmatch(cell) else cell for cell in sentence.column(NAMES)]


def role_columns(sentence: ColumnSentence) -> list[list[str]]:
    """For each predicate of a sentence, its column of brackets (see `metrics.roles.tags_from_props`)."""
    return [sentence.column(index) for index in range(_FIRST_ROLE, sentence.num_columns - 1)]


def predicate_lemmas(sentence: ColumnSentence) -> list[tuple[int, str]]:
    """Row and lemma of each predicate: a row with a frameset. Other rows have a lemma for their word sense."""
    cells = [(row, cells[_LEMMA]) for row, cells in enumerate(sentence.rows) if cells[_FRAMESET] != _NONE]
    return [(row, lemma) for row, lemma in cells if lemma != _NONE]


def _document(head: re.Match[str], body: list[str], *, name: str, begin: int) -> Document:
    sentences = list(column_sentences(body, name=name, first_line=begin + 1, empty_last=_NONE))
    if not sentences:
        raise ValueError(f"{name}, line {begin}: document {first_token(head['name'])} is empty")
    for sentence in sentences:
        _check(sentence)
    return Document(name=head["name"], part=int(head["part"] or 0), sentences=sentences)


def _check(sentence: ColumnSentence) -> None:
    if sentence.num_columns <= _FIRST_ROLE:
        raise ValueError(
            f"{sentence.line(0)}: {sentence.num_columns} columns; CoNLL-2012 has {_FIRST_ROLE}, then one per "
            f"predicate and a last one for coreference: {first_token(' '.join(sentence.rows[0]))}"
        )
    for row, cells in enumerate(sentence.rows):
        if cells[_WORD] == _WITHOUT_WORD:
            raise ValueError(
                f"{sentence.line(row)}: the word is {_WITHOUT_WORD}; first add the words of OntoNotes to this skeleton "
                "with skeleton2conll.sh, which comes with it"
            )
        if "*" in cells[-1]:
            raise ValueError(
                f"{sentence.line(row)}: the last column has {first_token(cells[-1])}; expected coreference, such as "
                "'(3)' or '-'"
            )
