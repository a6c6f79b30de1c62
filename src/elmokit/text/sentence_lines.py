"""Read text files by line, sentence, document or column. Files that do not look like plain text are refused."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar, cast

from elmokit.files.json import json_lines
from elmokit.files.lines import (
    NOT_IN_A_TOKEN,
    OLD_LINE_ENDS,
    is_terminal,
    read_lines,
    shown_name,
    split_tokens,
    with_head,
)
from elmokit.system.messages import FormatError, first_token, join_names, printable, warn_caller
from elmokit.text.corpora import conllu
from elmokit.text.corpora.tables import table_rows
from elmokit.text.plain_text import doubt, other_than_text
from elmokit.text.tokenizer import HYPHENATION, split_sentences

T = TypeVar("T")
SAMPLE_TOKENS = 1000
"""Tokens at the start of a text that show whether it is tokenised."""
PIECE_CHARACTERS = 1_000_000
"""Longer documents are read in pieces, so that a file without blank lines fits into memory."""
_FIRST_SENTENCES = 20


def sentence_lines(
    path: str | os.PathLike[str],
    *,
    raw_text: bool = False,
    column: str | None = None,
    has_columns: bool = False,
    as_text: bool = False,
    is_shard: bool = False,
    warn: Callable[[str], object] | None = warn_caller,
) -> Iterator[str]:
    """Lines of a file as `prose_lines` yields them, with a warning if they do not look like one sentence each.

    raw_text: whether the lines will be tokenised; otherwise raw text causes a warning.
    column: the column of JSON lines, a table or CoNLL-U (`column_rows`); each of its texts is a line. None for text.
    is_shard: whether the text is read to train a model.
    warn: is called with the warning; None skips the check.
    """
    within_word = ""
    if column is None:
        lines = prose_lines(path, has_columns=has_columns, as_text=as_text)
    else:
        lines = (as_line(text) for text, _ in column_rows(path, column, raw_text=raw_text))
        within_word = "\u00a0" if column.lower() in conllu.COLUMNS else ""  # words of CoNLL-U have no other spaces
    return with_warning(
        lines,
        lambda line: line.replace(within_word, ""),
        name=shown_name(path),
        raw_text=raw_text,
        is_shard=is_shard,
        warn=warn,
    )


def as_line(text: str | list[str]) -> str:
    """A text with several lines, or a list of tokens, as one line."""
    return " ".join(text.splitlines() if isinstance(text, str) else text)


def with_warning(
    sentences: Iterator[T],
    line_of: Callable[[T], str],
    *,
    name: str,
    raw_text: bool,
    is_shard: bool = False,
    are_texts: bool = False,
    warn: Callable[[str], object] | None = warn_caller,
) -> Iterator[T]:
    """The same sentences, with the warning of `sentence_lines` if their lines do not look like one sentence each.

    are_texts: whether lines may have several sentences, as reviews do.
    """
    sample: list[str] = []
    num_tokens = 0
    while num_tokens < SAMPLE_TOKENS and (sentence := next(sentences, None)) is not None:
        yield sentence
        sample.append(line_of(sentence))
        num_tokens += len(split_tokens(sample[-1]))
    if warn is not None and (
        message := doubt(sample, name=name, raw_text=raw_text, is_shard=is_shard, are_texts=are_texts)
    ):
        warn(message)
    yield from sentences


def prose_lines(path: str | os.PathLike[str], *, has_columns: bool = False, as_text: bool = False) -> Iterator[str]:
    r"""Lines of a text file, as `read_lines` yields them.

    has_columns: whether the lines may have columns after the sentence.
    as_text: whether to read the file as text whatever its first lines look like.
    """
    lines = read_lines(path)
    if not (as_text or is_terminal(path)):  # typed lines are answered one by one
        lines, head = with_head(lines)
        if other := other_than_text(head, has_columns=has_columns):
            override = "--as-text, or as_text=True, reads the file as text anyway"
            raise ValueError(f"{shown_name(path)} looks like {other}. {override}")
    for number, line in enumerate(lines, start=1):
        if "\r" in line:  # only cells of tables may contain it
            raise ValueError(f"{shown_name(path)}, line {number}: {OLD_LINE_ENDS}")
        yield line


def read_sentences(path: str | os.PathLike[str], *, as_text: bool = False) -> Iterator[str]:
    """The sentences of a file of raw text, such as a book. A line end inside a sentence becomes a space.

    A blank line ends a sentence, too (`split_sentences`). Raises the errors of `prose_lines`, which name the file.
    """
    for _, text in read_raw_documents(path, as_text=as_text):
        for sentence in split_sentences(text):
            yield " ".join(map(str.strip, sentence.split("\n")))


def read_raw_documents(path: str | os.PathLike[str], *, as_text: bool = False) -> Iterator[tuple[int, str]]:
    """Number and text of each document of a file, separated by blank lines.

    A document of more than `PIECE_CHARACTERS` comes in pieces with the same number, cut between sentences. Words that
    a soft hyphen breaks at a line end are joined. Raises the errors of `prose_lines`, which name the file.
    """
    number = size = 0
    inside = False
    lines: list[str] = []
    for line in prose_lines(path, as_text=as_text):
        blank = not line or line.isspace()
        if not blank:
            inside = True
            lines.append(line)
            size += len(line)
        rest = ""
        if lines and (blank or size >= PIECE_CHARACTERS):
            text = HYPHENATION.sub("", "\n".join(lines))
            if not blank:
                text, rest = _cut_before_last_sentence(text)
            yield number, text
            lines, size = [rest] if rest else [], len(rest)
        if blank and inside:
            number += 1
            inside = False
    if lines:
        yield number, HYPHENATION.sub("", "\n".join(lines))


def _cut_before_last_sentence(text: str) -> tuple[str, str]:
    """A text without its last sentence, and that sentence; a text of one sentence stays whole."""
    *before, last = split_sentences(text) or [""]
    place = len(text.rstrip()) - len(last)
    return (text[:place], text[place:]) if before else (text, "")


def column_rows(
    path: str | os.PathLike[str], column: str, *, keep: Sequence[str] = (), raw_text: bool = False
) -> Iterator[tuple[str | list[str], list[object]]]:
    """The text of each row, or its tokens (CoNLL-U, or lists in JSON), and its cells in the columns to `keep`.

    raw_text: whether the texts will be tokenised. If so, tokens are refused.
    """
    name = shown_name(path)
    lines, head = with_head(read_lines(path))
    rows = [line for line in head if not line.startswith("#")]
    plus = conllu.PLUS.match(head[0]) if head else None
    if plus or (rows and re.match(r"\d+(?:[-.]\d+)?\t", rows[0])):
        if raw_text or keep:
            raise ValueError(f"{name} is CoNLL-U. {'It has no columns to keep' if keep else _ARE_TOKENS}")
        sentences = _of_conllu(lines, name, column, plus[1].lower().split() if plus else conllu.COLUMNS)
        return ((tokens, list[object]()) for tokens in sentences)
    if head and head[0].lstrip().startswith("["):
        raise ValueError(f"{name} is a JSON array; expected JSON lines, which jq -c '.[]' FILE writes")
    if head and head[0].lstrip().startswith("{"):
        return _of_json(lines, name, column, keep=keep, raw_text=raw_text)
    cells_of_rows = table_rows(lines, name=name, columns=[[each] for each in (column, *keep)])
    return ((HYPHENATION.sub("", cells[0]), [*cells[1:]]) for _, cells in cells_of_rows)


_ARE_TOKENS = "Its tokens are not tokenised again; leave out --tokenize, or raw_text=True, and --words"


def _of_json(
    lines: Iterable[str], name: str, column: str, *, keep: Sequence[str], raw_text: bool
) -> Iterator[tuple[str | list[str], list[object]]]:
    for where, row in json_lines(lines, name=name):
        for field in (column, *keep):
            if field not in row:
                raise FormatError(where, f"is missing; there are {join_names(row)}", part=f"field {field}")
        part = f"field {column}"
        if isinstance(row[column], list) and raw_text:
            raise FormatError(where, f"is a list; expected text. {_ARE_TOKENS}", part=part)
        yield _text_or_tokens(row[column], where, part), [row[field] for field in keep]


def _text_or_tokens(value: object, where: str, part: str) -> str | list[str]:
    if isinstance(value, str):
        text = found = HYPHENATION.sub("", value)
    else:
        values = cast("list[object]", value) if isinstance(value, list) else [None]
        found = [token for token in values if isinstance(token, str) and token and NOT_IN_A_TOKEN.isdisjoint(token)]
        if len(found) < len(values):
            expected = "text, or a list of words without spaces and line ends"
            raise FormatError(where, f"is {first_token(str(cast('object', value)))}; expected {expected}", part=part)
        text = "".join(found)
    if "\0" in text:
        raise FormatError(where, "has a NUL character; remove it", part=part)
    return found


def _of_conllu(lines: Iterable[str], name: str, column: str, columns: Sequence[str]) -> Iterator[list[str]]:
    """The words of each sentence, without word ranges (`1-2`) and empty nodes (`1.1`)."""
    if column.lower() not in columns:
        known = printable(", ".join(columns))
        raise ValueError(f"{name} is CoNLL-U; expected one of its columns, {known}, not {column}")
    position = columns.index(column.lower())
    sentences = conllu.read_conllu(lines, name=name, columns=columns)
    head = list(islice(sentences, _FIRST_SENTENCES))
    if head and all(word[position] == "_" for sentence in head for word in sentence.words):
        raise ValueError(f"{name}: the column {column} is empty (_) in the first sentences; first add the words to it")
    for sentence in chain(head, sentences):
        yield [word[position].replace(" ", "\u00a0") for word in sentence.words]
