"""Where the sentences of `elmokit embed` come from: lines of text, a text to be split, or a column of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from elmokit.files.lines import MAX_LINE_BYTES, is_read_once, shown_name, split_tokens
from elmokit.system.messages import FormatError, readable_bytes, warn_caller
from elmokit.system.paths import expanded
from elmokit.text.sentence_lines import as_line, read_sentences, sentence_lines, with_warning
from elmokit.text.tokenizer import HYPHENATION, tokenize
from elmokit.vectors.arrow import Groups, is_table, only_column, pyarrow_module

COLUMNS = ("tokens", "text")
"""If no column is named, the first of these that the file has is read."""

Sentence = tuple[str, list[str]]
"""Its text, and its tokens."""
Block = list[Sentence]
Reader = Callable[[bool], Iterator[Sentence]]


@dataclass(frozen=True)
class SentenceSource:
    """The sentences of a file, in order."""

    path: Path
    read: Reader
    """Reads the sentences, with warnings about the text if the argument is true. Raises ValueError, with the place, for
    anything that is not a sentence."""
    column: str | None = None
    is_text: bool = False
    """Whether the sentences are the lines of the file."""


@contextmanager
def read_again(source: SentenceSource, *, folder: Path) -> Generator[Reader]:
    """A `read` that may be called several times. Sentences from a pipe are kept in a temporary file in the folder."""
    if not is_read_once(source.path):
        yield source.read
        return
    with TemporaryFile(dir=folder) as file:
        file.writelines(json.dumps(sentence).encode() + b"\n" for sentence in source.read(True))

        def read(_: bool) -> Iterator[Sentence]:
            """Gives no warnings. They were given when the pipe was read."""
            file.seek(0)
            return (tuple(json.loads(line)) for line in file)

        yield read


def open_source(
    path: str | Path,
    *,
    raw_text: bool,
    column: str | None,
    split_sentences: bool = False,
    as_text: bool = False,
) -> SentenceSource:
    """The sentences of a text file (`-`: standard input), or of a column of a file.

    raw_text: whether to tokenise texts; otherwise their tokens are separated by spaces.
    split_sentences: whether to split the text into sentences and tokens, regardless of its lines.
    column: a column of strings or of lists of tokens. None reads the lines of a text; in Parquet and Arrow, it reads
        `tokens` or else `text` (with raw_text, `text` or else `tokens`).
    as_text: whether to read the file as text, even if it looks like something else, such as a table.
    """
    path = expanded(path)
    if split_sentences and (column is not None or is_table(path)):
        raise ValueError(
            f"{shown_name(path)}: only a text can be split into sentences, not a column; leave out --split-sentences, "
            "or split_sentences=True"
        )
    if is_table(path):
        of_column = ColumnSource.open(path, raw_text=raw_text, column=column)
        return SentenceSource(path, of_column.read, of_column.column)
    split = tokenize if raw_text or split_sentences else split_tokens

    def read(warns: bool) -> Iterator[Sentence]:
        if split_sentences:
            pairs = ((sentence, split(sentence)) for sentence in read_sentences(path, as_text=as_text))
            return (pair for pair in pairs if pair[1])
        warn = warn_caller if warns else None
        lines = sentence_lines(path, raw_text=raw_text, column=column, as_text=as_text, warn=warn)
        return ((line, split(line)) for line in lines)

    return SentenceSource(path, read, column, is_text=column is None and not split_sentences)


@dataclass(frozen=True)
class ColumnSource:
    """A column of a Parquet or Arrow file: the text of each row, or its tokens."""

    groups: Groups
    column: str
    raw_text: bool
    holds_tokens: bool

    @classmethod
    def open(cls, path: Path, *, raw_text: bool, column: str | None) -> ColumnSource:
        """The column of that name, or by default `tokens` or else `text` (with `raw_text`, in the other order)."""
        groups = Groups(path)
        wanted = COLUMNS[::-1] if raw_text else COLUMNS
        name = only_column(groups, wanted if column is None else [column])
        types, of_column = pyarrow_module("pyarrow.types"), groups.schema.field(name).type
        lists = (types.is_list, types.is_large_list, types.is_list_view, types.is_large_list_view)
        is_list = any(is_kind(of_column) for is_kind in (*lists, types.is_fixed_size_list))
        inner = of_column.value_type if is_list else of_column
        inner = inner.value_type if types.is_dictionary(inner) else inner
        if not (types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner)):
            raise FormatError(path, f"is of type {of_column}; expected text, or lists of tokens", part=f"column {name}")
        if is_list and raw_text:
            raise FormatError(
                path,
                "holds tokens, which cannot be tokenised; leave out --tokenize, or raw_text=True",
                part=f"column {name}",
            )
        return cls(groups, name, raw_text, is_list)

    def read(self, warns: bool) -> Iterator[Sentence]:
        """All sentences, as `SentenceSource.read` yields them."""
        rows = chain.from_iterable(map(self.of_group, range(len(self.groups.sizes))))
        name, warn = shown_name(self.groups.path), warn_caller if warns else None
        return with_warning(rows, lambda row: as_line(row[0]), name=name, raw_text=self.raw_text, warn=warn)

    def of_group(self, group: int) -> Iterator[Sentence]:
        """The sentences of one group of rows."""
        split = tokenize if self.raw_text else split_tokens
        for text, value in self.texts(group):
            yield text, value if self.holds_tokens else split(text)

    def texts(self, group: int) -> Iterator[tuple[str, Any]]:
        """The text of each row of a group, not split, and the row's value. Tokens become the lines of a text."""
        for row, scalar in enumerate(self.groups.read(group, self.column)):
            value = scalar.as_py()  # one row at a time: with categories, many rows may have the same long text
            if value is None or (self.holds_tokens and None in value):
                raise self._error(group, row, "has a missing value; drop or replace it")
            text: str = "\n".join(value) if self.holds_tokens else value
            if len(text) > MAX_LINE_BYTES:
                limit = readable_bytes(MAX_LINE_BYTES)
                raise self._error(group, row, f"has more than {limit}; expected a sentence")
            if "\0" in text:
                raise self._error(group, row, "has a NUL character; remove it")
            if not self.holds_tokens:
                text = HYPHENATION.sub("", text)
                text = value = text if self.raw_text else " ".join(text.splitlines())  # the tokenizer joins lines too
            yield text, value

    def _error(self, group: int, row: int, reason: str) -> FormatError:
        where = f"{self.groups.kind} {group}, row {row}"
        return FormatError(self.groups.path, f"column {self.column} {reason}", part=where)
