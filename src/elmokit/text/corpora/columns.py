"""Column files, as in the CoNLL shared tasks: one token per line, and a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from elmokit.files.lines import split_tokens
from elmokit.system.messages import first_token, warn_caller

E = TypeVar("E")
_COMMENT = re.compile(r"# (?:id\b|[\w.:-]+ ?= ?)")
_NUMBER_OF_WORD = re.compile(r"\d+([-.]\d+)?")
_SENTENCES_LOOKED_AT = 20
LONG_SENTENCE = 200
"""Number of tokens; hardly any sentence of running text has more."""


@dataclass(frozen=True, slots=True)
class ColumnSentence:
    """A sentence: one row of cells per token, on consecutive lines of the file. All rows are equally long."""

    name: str
    first_line: int
    rows: list[list[str]]
    document: int = 0
    """Number of separators before it."""

    @property
    def num_columns(self) -> int:
        return len(self.rows[0])

    @property
    def where(self) -> str:
        """File and range of lines, for errors that name the token (counted from 0) themselves."""
        return f"{self.name}, lines {self.first_line}-{self.first_line + len(self.rows) - 1}"

    def column(self, index: int) -> list[str]:
        return [row[index] for row in self.rows]

    def line(self, row: int) -> str:
        """File and line of a row, for error messages."""
        return f"{self.name}, line {self.first_line + row}"


def column_sentences(
    lines: Iterable[str], *, name: str, first_line: int = 1, separator: str | None = None, empty_last: str | None = None
) -> Iterator[ColumnSentence]:
    """Sentences from lines of columns; a line whose first cell is `separator` counts as blank.

    Cells are separated by tabs in lines that contain a tab, otherwise by spaces. Lines that begin with `#` before the
    first token of a sentence are comments, unless they have as many cells as the tokens, separated in the same way.
    empty_last: what an empty last cell means; None refuses it.
    """
    rows: list[list[str]] = []
    comments: list[str] = []
    document = 0
    for number, line in enumerate(chain(lines, [""]), start=first_line):
        cells = _cells(line)
        if not cells or cells[0] == separator:
            rows = rows or [*map(_cells, comments)]
            if rows:
                yield ColumnSentence(name, number - len(rows), rows, document)
            rows, comments, document = [], [], document + bool(cells)
            continue
        if not rows and line.startswith("#"):
            comments = [] if _COMMENT.match(line) else [*comments, line]
            continue
        if cells[-1] == "" and empty_last is not None:
            cells[-1] = empty_last
        if "" in cells:
            raise ValueError(f"{name}, line {number}: column {cells.index('') + 1} is empty in {first_token(line)}")
        if not rows:  # lines directly above with as many cells are tokens, not comments
            while comments and ("\t" in comments[-1]) == ("\t" in line) and len(_cells(comments[-1])) == len(cells):
                rows.insert(0, _cells(comments.pop()))
        if rows and len(cells) != len(rows[0]):
            comment = "; remove it if it is a comment, all of them with grep -v '^#'" if line.startswith("#") else ""
            raise ValueError(
                f"{name}, line {number}: {len(cells)} columns, but {len(rows[0])} in the lines above: "
                f"{first_token(line)}{comment}"
            )
        comments = []
        rows.append(cells)


def with_words_first(sentences: Iterable[ColumnSentence]) -> Iterator[ColumnSentence]:
    """The same sentences. Raises ValueError if the first column numbers the words, or names their sentence or file."""
    sentences = iter(sentences)
    head = list(islice(sentences, _SENTENCES_LOOKED_AT))
    words = [word for sentence in head for word in sentence.column(0)]
    has_others = all(sentence.num_columns > 2 for sentence in head)
    is_numbered = len(words) > len(head) and all(_is_numbered(sentence.column(0)) for sentence in head)
    if has_others and (is_numbered or _are_named(head)):
        found = "numbers the words" if is_numbered else f"is {first_token(words[0])} in a whole sentence"
        raise ValueError(
            f"{head[0].line(0)}: the first column {found}; expected the words there: remove the columns before them "
            r"(if they end with a tab: cut -f 2-)"
        )
    yield from chain(head, sentences)


def without_documents(
    examples: Iterable[E], sentences: Callable[[E], Iterable[Sequence[str]]], *, name: str, expected: str
) -> Iterator[E]:
    """The same examples of a file. Raises ValueError, with the `expected` format, if the file has no sentence.

    Warns if a tenth of the sentences are very long, because blank lines then probably separate only documents.
    """
    lengths: list[int] = []
    for example in examples:
        lengths += map(len, sentences(example))
        yield example
    if not lengths:
        raise ValueError(f"{name} has no sentence; expected {expected}")
    num_long = sum(length > LONG_SENTENCE for length in lengths)
    if num_long and 10 * num_long >= len(lengths):
        warn_caller(
            f"{name}: {num_long:,} of {len(lengths):,} sentences have more than {LONG_SENTENCE} tokens, the longest "
            f"{max(lengths):,}; expected a blank line after each sentence, not only after each document"
        )


def _are_named(sentences: Sequence[ColumnSentence]) -> bool:
    """Whether the first cell names the sentence or its file: all rows of each sentence have the same one.

    One short sentence may repeat a word, unless another column numbers its words.
    """
    several = [sentence for sentence in sentences if len(sentence.rows) > 1]
    if not several or any(len({*sentence.column(0)}) > 1 for sentence in several):
        return False
    is_long = len(several[0].rows) > _SENTENCES_LOOKED_AT
    return len(several) > 1 or is_long or _is_numbered(several[0].column(2))


def _is_numbered(cells: Sequence[str]) -> bool:
    """Whether the cells are consecutive numbers. CoNLL-U also has `1-2` and `2.1` between them."""
    found = [_NUMBER_OF_WORD.fullmatch(cell) for cell in cells]
    numbers = [int(number[0][:9]) for number in found if number is not None and number[1] is None]
    return all(found) and bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _cells(line: str) -> list[str]:
    if "\t" not in line:
        return split_tokens(line)
    cells = [cell.strip(" ") for cell in line.split("\t")]
    return cells if any(cells) else []  # WNUT-17 separates its sentences by a line with a single tab
