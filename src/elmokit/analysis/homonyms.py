"""Rates on homonym_ko: Korean nouns with several senses in Wikipedia, one half of the sentences judged by the other."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.analysis.polysemes import Occurrence, senses_of, words_of
from elmokit.analysis.polysemy import Rate, measure_senses
from elmokit.files.json_fields import Fields, parse_json_object, read_json_object
from elmokit.files.lines import read_lines, split_tokens
from elmokit.formats.native import folder_of
from elmokit.system.messages import FormatError, first_token
from elmokit.text.corpora.cells import whole_number
from elmokit.text.corpora.tables import table_rows

if TYPE_CHECKING:
    from elmokit.analysis.polysemy import SenseRates
    from elmokit.elmo.elmo import Elmo

MEASUREMENTS = "measurements.json"
"""Name of the file in a bundled model's folder with the measurements of that model."""

WHAT_IT_IS = (
    "Korean nouns with several senses in sentences from Wikipedia: does the nearest occurrence of the word, in the "
    "other half of the sentences, have the same sense? The senses were assigned by words nearby, which favours the "
    "bag of words. Particles differ between occurrences and give some senses away, even to a static vector."
)

_TASK = "homonym_ko"
_SAME_FORM = "homonym_ko_same_form"


@dataclass(frozen=True)
class Recorded:
    """The rates of a model on homonym_ko, measured when it was bundled."""

    path: Path
    """The file that they were read from."""
    command: str
    """The command that measured them."""
    rates: dict[str, Rate]
    same_form: dict[str, Rate]
    """Rates among occurrences with the same particle; empty if they were not measured."""


def read_homonyms(path: str | os.PathLike[str]) -> list[Occurrence]:
    """The occurrences in a file of JSON lines: word (the noun without its particle), sense, index, tokens.

    The token at `index` is the noun with its particle, so the forms of a word differ, and a static vector can tell
    some senses apart. Raises ValueError, naming the line, where a line is anything else.
    """
    lines = list(read_lines(path))  # to its end, so that the file is closed when a line is refused
    return [_occurrence(line, f"{os.fspath(path)}, line {number}") for number, line in enumerate(lines, start=1)]


def read_examples(path: str | os.PathLike[str]) -> list[Occurrence]:
    """The occurrences in a table with the columns word, sense, index and tokens (separated by spaces).

    The token at `index` begins with the word. Raises ValueError, naming the line, where a line is anything else.
    """
    occurrences: list[Occurrence] = []
    columns = [["word"], ["sense"], ["index"], ["tokens"]]
    for row in table_rows(read_lines(path), name=os.fspath(path), columns=columns):
        word, sense, column, text = row.cells
        tokens, index = tuple(split_tokens(text)), whole_number(column)
        if index is None or index >= len(tokens) or not tokens[index].startswith(word):
            raise FormatError(
                row.where, f"{first_token(column)} is not the index of {first_token(word)} in {first_token(text)}"
            )
        occurrences.append(Occurrence(word, "pragmatic", sense, index, tokens))
    return occurrences


def measure_homonyms(elmo: Elmo, train: Sequence[Occurrence], test: Sequence[Occurrence]) -> list[SenseRates]:
    """How often the nearest train occurrence of a test occurrence's word has its sense: chance, baselines and layers.

    Raises ValueError if the train half lacks a sense of the test half, or has no other sense of that word.
    """
    known = {(occurrence.word, occurrence.sense) for occurrence in train}
    num_senses = Counter(word for word, _ in known)
    for word, sense in dict.fromkeys((occurrence.word, occurrence.sense) for occurrence in test):
        if (word, sense) not in known or num_senses[word] < 2:
            raise ValueError(
                f"the train half needs {first_token(word)} in the sense {sense[:40]!r} and in another sense"
            )
    occurrences = [*train, *test]
    encoded = elmo.encode([list(occurrence.tokens) for occurrence in occurrences], layers="all")
    return measure_senses(encoded, occurrences, num_known=len(train))


def of_one_form(train: Sequence[Occurrence], test: Sequence[Occurrence]) -> tuple[list[Occurrence], list[Occurrence]]:
    """Both halves with `word` set to the form with its particle, so that particles give nothing away.

    Test occurrences are left out if the train half does not have their form in the same sense and in another one.
    """
    known, asked = (
        [replace(occurrence, word=occurrence.tokens[occurrence.index]) for occurrence in half] for half in (train, test)
    )
    senses = {form: set(senses_of(form, known)) for form in words_of(asked)}
    return known, [
        occurrence
        for occurrence in asked
        if occurrence.sense in senses[occurrence.word] and len(senses[occurrence.word]) > 1
    ]


def as_record(rates: Mapping[str, Rate]) -> dict[str, dict[str, float]]:
    """The rates in the JSON form that `read_recorded` reads: hits and total of each rate, by name."""
    return {
        name: {"hits": round(rate.correct, 3), "total": rate.total, "guessed": rate.guessed}
        for name, rate in rates.items()
    }


def read_recorded(model: Path) -> Recorded | None:
    """The rates on homonym_ko in `measurements.json` of a model's folder; None if there are none.

    The file has the form `{"homonym_ko": {NAME: {"hits": ..., "total": ...}, ...}, "command": ...}`, and optionally
    `homonym_ko_same_form` in the same form. Raises FormatError, naming the field, for anything else.
    """
    path = folder_of(model) / MEASUREMENTS
    if not path.is_file():
        return None
    measurements = Fields(path, read_json_object(path))
    if _TASK not in measurements:
        return None
    return Recorded(
        path,
        measurements.text("command"),
        rates=_rates(measurements, _TASK),
        same_form=_rates(measurements, _SAME_FORM) if _SAME_FORM in measurements else {},
    )


def _occurrence(line: str, where: str) -> Occurrence:
    fields = Fields(where, parse_json_object(line, where=where))
    word, sense, index = fields.text("word"), fields.text("sense"), fields.integer("index")
    tokens = tuple(fields.tokens("tokens"))
    if index >= len(tokens) or not tokens[index].startswith(word):
        raise fields.error(
            "index", f"is {index}, which is not the index of {first_token(word)} in {first_token(' '.join(tokens))}"
        )
    return Occurrence(word, "noun/noun", sense, index, tokens)


def _rates(measurements: Fields, task: str) -> dict[str, Rate]:
    rows = measurements.fields(task)
    return {name: _rate(rows.fields(name)) for name in measurements.object(task)}


def _rate(row: Fields) -> Rate:
    total = row.integer("total", least=1, most=1 << 31)
    hits = row.number_or_none("hits", most=total)
    if hits is None:
        raise row.error("hits", "is missing")
    return Rate(hits, total, "guessed" in row and row.boolean("guessed"))
