"""Reader of sentences with a tag for each word: CoNLL-U, or columns with the word first and its tag last."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from elmokit.files.lines import lines_and_first
from elmokit.text.corpora import conllu
from elmokit.text.corpora.columns import column_sentences, with_words_first, without_documents

_NONE = "_"


@dataclass(frozen=True, slots=True)
class TaggedWords:
    """Words, with one tag each."""

    tokens: list[str]
    tags: list[str]
    """Empty if a word of the sentence has no tag."""
    source: conllu.ConlluSentence | None = field(default=None, compare=False)
    """The sentence as its file has it; None if that is not CoNLL-U."""
    text: str | None = field(default=None, compare=False)
    """The text that the tokens are from; None if only the tokens are known."""
    document: str = field(default="", compare=False)
    """File and name of its document; empty if the file does not separate documents."""


def read_tagged_words(path: str | os.PathLike[str], *, column: str) -> Iterator[TaggedWords]:
    """Read CoNLL-U, if the file begins with a comment or a row of ten columns, and columns otherwise.

    column: of CoNLL-U, `upos`, `xpos`, or the name of a feature; a word without the feature has the tag `_`. Ranges of
        words (`1-2`) and empty nodes (`2.1`) are left out. In other columns, the last one is read.
    Raises ValueError, with the file and the line, for rows of another form and for a file without sentences. Warns if a
    tenth of the sentences are very long.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    is_conllu = first.startswith("# ") or first.count("\t") == len(conllu.COLUMNS) - 1
    sentences = _of_conllu(lines, column, name=name) if is_conllu else _of_columns(lines, name=name)
    expected = "CoNLL-U, or a word and its tag on each line"
    yield from without_documents(sentences, lambda each: [each.tokens], name=name, expected=expected)


def _of_conllu(lines: Iterable[str], column: str, *, name: str) -> Iterator[TaggedWords]:
    document = ""
    for sentence in conllu.read_conllu(lines, name=name):
        if (begun := sentence.comment("newdoc id")) is not None:
            document = f"{name} {begun}"
        tags = [tag_of(row, column) for row in sentence.words]
        is_tagged = column not in conllu.COLUMNS or _NONE not in tags
        words = [row[conllu.FORM] for row in sentence.words]
        yield TaggedWords(words, tags if is_tagged else [], sentence, document=document)


def _of_columns(lines: Iterable[str], *, name: str) -> Iterator[TaggedWords]:
    for sentence in with_words_first(column_sentences(lines, name=name)):
        if sentence.num_columns < 2:
            raise ValueError(f"{sentence.line(0)}: there is one column; expected a word and its tag, or CoNLL-U")
        yield TaggedWords(sentence.column(0), sentence.column(-1))


def tag_of(row: Sequence[str], column: str) -> str:
    if column in conllu.COLUMNS:
        return row[conllu.COLUMNS.index(column)]
    features = (feature.partition("=") for feature in row[conllu.FEATS].split("|"))
    return next((value for name, _, value in features if name == column), _NONE)


def with_tag(row: Sequence[str], column: str, tag: str) -> list[str]:
    cells = list(row)
    if column in conllu.COLUMNS:
        cells[conllu.COLUMNS.index(column)] = tag
        return cells
    others = [each for each in cells[conllu.FEATS].split("|") if each != _NONE and each.partition("=")[0] != column]
    features = others if tag == _NONE else [*others, f"{column}={tag}"]
    cells[conllu.FEATS] = "|".join(sorted(features, key=str.lower)) or _NONE
    return cells
