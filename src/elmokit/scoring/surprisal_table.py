"""Tables of surprisal: a row for each token, word or sentence of a text file, or for each pair if it is conditional.

The first four columns are as in lm-zoo (Gauthier et al., 2020). NA marks positions without a prediction. Cells are
quoted as in CSV, so that pandas, R and spreadsheets read each row as one row, whatever its token is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat, tee
from operator import itemgetter
from pathlib import Path
from typing import Literal

from elmokit.elmo.surprisal import (
    ConditionalSurprisal,
    Likeliest,
    SentenceSurprisal,
    SurprisalModel,
    SurprisalSettings,
    Unit,
)
from elmokit.files.lines import is_read_once, is_terminal, shown_name, split_tokens
from elmokit.text.alignment import token_offsets
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.sentence_lines import as_line, column_rows, sentence_lines, with_warning
from elmokit.text.tokenizer import tokenize

RowsOf = Literal["tokens", "words", "sentences"]
Row = list[str]
Value = float | int | Likeliest

MISSING = "NA"
_FIRST_COLUMNS = ("sentence_id", "token_id", "token")
_BITS = {"forward": "surprisal", "backward": "backward"}
"""The column of each direction."""


@dataclass(frozen=True)
class TableSettings:
    """What to put into the table of a text."""

    rows: RowsOf = "tokens"
    """A row for each token, for each word between white space (with the sum of its tokens), or for each sentence."""
    raw_text: bool = False
    """Whether to tokenise the lines first. Rows of words always do."""
    column: str | None = None
    """Column of JSON lines or of a table with tabs or commas, or `form` in CoNLL-U. Its texts are the lines."""
    as_text: bool = False
    """Whether to read the file as text, even if it looks like something else, such as a table."""
    keep: tuple[str, ...] = ()
    """More columns of a table, or fields of JSON lines, to repeat in each row, such as `item` and `condition`."""
    boundaries: bool = False
    """Whether to add rows for `<S>` and `</S>` around the tokens of each sentence."""
    surprisal: SurprisalSettings = field(default_factory=SurprisalSettings)

    def __post_init__(self) -> None:
        if self.keep and self.column is None:
            raise ValueError("keep is for more columns of a table; give column as well")
        details = self.surprisal.details
        if self.rows != "tokens" and (self.boundaries or details != type(details)()):
            raise ValueError(
                f"boundaries, ranks, entropies and likeliest tokens are for rows of tokens, not {self.rows}"
            )


@dataclass(frozen=True)
class Line:
    """A line of a text. Blank lines have no tokens."""

    number: int
    """Number of the line (with a column, of the text), from 1. It is the id of its sentence."""
    text: str
    tokens: list[str]
    kept: Row
    """Cells of the columns to keep."""


def surprisal_table(model: SurprisalModel, path: Path | str, settings: TableSettings) -> Iterator[list[Row]]:
    """The row of column names, then the rows of each sentence of a text with one sentence per line.

    Blank lines have no rows. With carried state, the line after a blank line starts from a zero state. Rows of a pipe
    come soon, and a terminal gets its rows line by line. Raises ValueError if the text has no sentence, and the errors
    of `sentence_lines`.
    """
    lines, to_predict = tee(_lines(path, settings))
    results = model.read((line.tokens for line in to_predict), settings.surprisal, first_sizes=first_sizes(path))
    make_rows = {"tokens": _token_rows, "words": _word_rows, "sentences": _sentence_rows}[settings.rows]
    is_empty = True
    for line, result in zip(lines, results, strict=True):
        if line.tokens:
            names, rows = make_rows(line, result, settings)
            if is_empty:
                if repeated := [name for name in settings.keep if name in names]:
                    raise ValueError(f"the output has a column {repeated[0]}, too; rename that of {shown_name(path)}")
                yield [[*names, *settings.keep]]
            is_empty = False
            yield [[*row, *line.kept] for row in rows]
    if is_empty:
        raise ValueError(f"{shown_name(path)}: has no sentence; expected text with one sentence per line")


def conditional_rows(results: Iterable[ConditionalSurprisal], unit: Unit = "bits") -> Iterator[Row]:
    """A row of column names, then a row for each pair.

    `surprisal` is for the continuation given the prefix, `backward` for the prefix given the continuation.
    """
    for number, result in enumerate(results, start=1):
        if number == 1:
            names = [_BITS[way] for way in result.whole.directions]
            yield [
                "pair_id",
                *(f"{part}_{what}" for part in ("prefix", "continuation") for what in ("tokens", "unknown")),
                *names,
            ]
        known = result.whole.known[: len(result.prefix)], result.whole.known[len(result.prefix) :]
        counts = [str(count) for of_part in known for count in (len(of_part), len(of_part) - int(of_part.sum()))]
        totals = [
            f"{result.total(way, unit=unit):z.6f}" if len(result.bits(way)) else MISSING
            for way in result.whole.directions
        ]
        yield [str(number), *counts, *totals]


def first_sizes(path: Path | str) -> Iterable[int]:
    """How many sentences to predict together at first. Small numbers give the rows of a pipe soon."""
    if is_terminal(path):
        return repeat(1)
    return [1 << exponent for exponent in range(10)] if is_read_once(path) else []


def _lines(path: Path | str, settings: TableSettings) -> Iterator[Line]:
    is_raw = settings.raw_text or settings.rows == "words"
    split = tokenize if is_raw else split_tokens
    rows: Iterable[tuple[str, list[object]]]
    if settings.keep and settings.column is not None:
        found = column_rows(path, settings.column, keep=settings.keep, raw_text=is_raw)
        as_lines = ((as_line(text), kept) for text, kept in found)
        rows = with_warning(as_lines, itemgetter(0), name=shown_name(path), raw_text=is_raw)
    else:
        lines = sentence_lines(path, raw_text=is_raw, column=settings.column, as_text=settings.as_text)
        rows = ((line, []) for line in lines)
    for number, (text, kept) in enumerate(rows, start=1):
        tokens = split(text)
        if tokens or settings.surprisal.carry_state:
            yield Line(number, text, tokens, [_text_of(value) for value in kept])


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else MISSING if value is None else json.dumps(value, ensure_ascii=False)


def _token_rows(line: Line, result: SentenceSurprisal, settings: TableSettings) -> tuple[Row, list[Row]]:
    details = settings.surprisal.details
    columns = _columns({name: side.bits for name, side in result.directions.items()}, _BITS)
    columns["known"] = ["1", *(str(int(known)) for known in result.known), "1"]
    if details.ranks:
        columns |= _columns({name: side.ranks for name, side in result.directions.items()}, _names("rank"))
    if details.entropies:
        columns |= _columns({name: side.entropies for name, side in result.directions.items()}, _names("entropy"))
    if details.num_likeliest:
        columns |= _columns({name: side.likeliest for name, side in result.directions.items()}, _names("top"))
    tokens = [BEGIN_SENTENCE, *line.tokens, END_SENTENCE]
    numbered = enumerate(zip(tokens, *columns.values(), strict=True))
    rows = [[str(line.number), str(number), *cells] for number, cells in numbered]
    return [*_FIRST_COLUMNS, *columns], rows if settings.boundaries else rows[1:-1]


def _columns(sides: Mapping[str, Iterable[Value] | None], names: Mapping[str, str]) -> dict[str, Row]:
    """For each direction, a column of cells for the tokens between two boundaries."""
    columns: dict[str, Row] = {}
    for direction, values in sides.items():
        cells = [] if values is None else [_cell(value) for value in values]
        columns[names[direction]] = [MISSING, *cells] if direction == "forward" else [*cells, MISSING]
    return columns


def _names(name: str) -> dict[str, str]:
    return {"forward": name, "backward": f"backward_{name}"}


def _word_rows(line: Line, result: SentenceSurprisal, settings: TableSettings) -> tuple[Row, list[Row]]:
    bits = [result.bits(direction) for direction in result.directions]
    rows: list[Row] = []
    for number, (start, end, tokens) in enumerate(_words(line), start=1):
        sums = [_cell(float(side[tokens].sum())) if tokens else MISSING for side in bits]
        known = str(int(result.known[tokens].all())) if tokens else MISSING
        place = [str(start), str(end), str(len(tokens))]
        rows.append([str(line.number), str(number), line.text[start:end], *sums, known, *place])
    names = [_BITS[direction] for direction in result.directions]
    return [*_FIRST_COLUMNS, *names, "known", "start", "end", "num_tokens"], rows


def _words(line: Line) -> Iterator[tuple[int, int, list[int]]]:
    """Start and end of each word between white space, in characters of the line, and the indices of its tokens."""
    starts = [start for start, _ in token_offsets(line.text, line.tokens)]
    words = list(re.finditer(r"\S+", line.text))
    for word, following in zip(words, [*words[1:], None], strict=True):
        until = following.start() if following else len(line.text) + 1
        yield word.start(), word.end(), list(range(bisect_left(starts, word.start()), bisect_left(starts, until)))


def _sentence_rows(line: Line, result: SentenceSurprisal, settings: TableSettings) -> tuple[Row, list[Row]]:
    names = [_names("log2_probability")[direction] for direction in result.directions]
    numbers = [line.number, len(line.tokens), len(line.tokens) - int(result.known.sum())]
    cells = [_cell(result.log2_probability(direction)) for direction in result.directions]
    return ["sentence_id", "num_tokens", "num_unknown", *names], [[*map(str, numbers), *cells]]


def _cell(value: Value) -> str:
    if isinstance(value, list):  # no token contains a space
        return " ".join(f"{token}:{probability:.4g}" for token, probability in value)
    return f"{value:z.6f}" if isinstance(value, float) else str(value)
