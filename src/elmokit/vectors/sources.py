"""Where the sentences of `elmokit embed` come from: lines of text, or a column of a Parquet or Arrow file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from elmokit.files.lines import MAX_LINE_BYTES, read_lines, shown_name, split_tokens
from elmokit.system.messages import FormatError, readable_bytes
from elmokit.text.tokenizer import tokenize
from elmokit.vectors.arrow_groups import Groups, is_table, only_column, open_groups, pyarrow_module

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ("tokens", "text")
"""The columns that are read if none is named: the first of these that is there."""
ROWS_AT_ONCE = 1024
"""Rows that are Python objects at once; a group of a file may have millions."""


class SentenceSource(Protocol):
    """The sentences of a file, in order; iterating again reads the file again."""

    @property
    def name(self) -> str: ...

    @property
    def is_file(self) -> bool:
        """Whether it can be read again."""
        ...

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        """The text of each sentence, and its tokens.

        Raises ValueError, with the place, for a value that is not a sentence.
        """
        ...


def open_source(path: str | Path, *, raw_text: bool, column: str | None) -> SentenceSource:
    """The sentences of a text file (`-`: standard input), or of a column of a Parquet or Arrow file.

    raw_text: whether texts are to be tokenised; otherwise their tokens are separated by spaces.
    column: of strings, or of lists of tokens; None takes `tokens`, or else `text`.
    Raises ValueError for a column of a text file, one that is not there or holds something else, and `raw_text` for
    tokens.
    """
    if is_table(Path(path)):
        return ColumnSource.open(Path(path), raw_text=raw_text, column=column)
    if column is not None:
        raise ValueError(f"{path} is neither a Parquet file nor an Arrow file, so it has no column {column}")
    return TextSource(path, raw_text)


@dataclass(frozen=True)
class TextSource:
    """The lines of a text file, or of standard input, as sentences."""

    path: str | Path
    raw_text: bool

    @property
    def name(self) -> str:
        return shown_name(self.path)

    @property
    def is_file(self) -> bool:
        return Path(self.path).is_file()

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        split = tokenize if self.raw_text else split_tokens
        return ((line, split(line)) for line in read_lines(self.path))


@dataclass(frozen=True)
class ColumnSource:
    """A column of a Parquet or Arrow file: the text of each row, or its tokens."""

    groups: Groups
    column: str
    raw_text: bool
    holds_tokens: bool

    @classmethod
    def open(cls, path: Path, *, raw_text: bool, column: str | None) -> ColumnSource:
        """The column of that name, or `tokens`, or else `text`."""
        groups = open_groups(path)
        wanted = COLUMNS[::-1] if raw_text else COLUMNS
        name = only_column(groups, wanted if column is None else [column])
        types, of_column = pyarrow_module("pyarrow.types"), groups.schema.field(name).type
        is_list = types.is_list(of_column) or types.is_large_list(of_column)
        inner = of_column.value_type if is_list else of_column
        if not (types.is_string(inner) or types.is_large_string(inner)):
            raise FormatError(path, f"is of type {of_column}; expected text, or lists of tokens", part=f"column {name}")
        if is_list and raw_text:
            raise FormatError(
                path,
                "holds tokens, which cannot be tokenised; leave out --tokenize, or raw_text=True",
                part=f"column {name}",
            )
        return cls(groups, name, raw_text, is_list)

    @property
    def name(self) -> str:
        return str(self.groups.path)

    @property
    def is_file(self) -> bool:
        return True

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        return (sentence for group in range(len(self.groups.sizes)) for sentence in self.of_group(group))

    def of_group(self, group: int) -> Iterator[tuple[str, list[str]]]:
        """The sentences of one group of rows."""
        values = self.groups.read(group, self.column)
        for start in range(0, len(values), ROWS_AT_ONCE):
            for row, value in enumerate(values.slice(start, ROWS_AT_ONCE).to_pylist(), start=start):
                yield self._sentence(value, f"{self.groups.kind} {group}, row {row}")

    def _sentence(self, value: Any, where: str) -> tuple[str, list[str]]:
        if value is None or (self.holds_tokens and None in value):
            raise FormatError(
                self.groups.path, f"column {self.column} has a missing value; drop or replace it", part=where
            )
        text: str = "\n".join(value) if self.holds_tokens else value
        if len(text) > MAX_LINE_BYTES:
            raise FormatError(
                self.groups.path,
                f"column {self.column} has more than {readable_bytes(MAX_LINE_BYTES)}; expected a sentence",
                part=where,
            )
        if self.holds_tokens:
            return text, value
        return text, tokenize(text) if self.raw_text else split_tokens(text)
