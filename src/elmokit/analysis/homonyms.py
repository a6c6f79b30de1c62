"""Rates on homonym_ko: Korean nouns of several senses in Wikipedia, each of one half judged by the other half."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.analysis.polysemes import Occurrence, senses_of
from elmokit.analysis.polysemy import Rate, measure
from elmokit.model.formats.native import folder_of
from elmokit.system.json_fields import Fields, parse_json_object, read_json_object
from elmokit.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elmokit.analysis.polysemy import Measured
    from elmokit.model.elmo import Elmo

MEASUREMENTS = "measurements.json"
"""File in the folder of a bundled model: what was measured of the model."""

WHAT_IT_IS = (
    "Korean nouns of several senses in sentences of Wikipedia: is the nearest occurrence of the word, in the other "
    "half of the sentences, one with the same sense? The senses were assigned by words nearby, which favours the bag. "
    "The word's particles differ and tell some senses apart, even to a static vector."
)

_TASK = "homonym_ko"
_SAME_FORM = "homonym_ko_same_form"


@dataclass(frozen=True)
class Recorded:
    """The rates of a model on homonym_ko, as they were measured when it was bundled."""

    path: Path
    command: str
    """What measured them."""
    rates: dict[str, Rate]
    same_form: dict[str, Rate]
    """Of occurrences that have the same particle; none if that was not measured."""


def read_homonyms(path: str | os.PathLike[str]) -> list[Occurrence]:
    """The occurrences of a file of JSON lines: word (the noun alone), sense, index, tokens.

    The token is the word with its particle, so forms differ within a word, and a static vector tells some senses apart.
    ValueError names the line that is something else.
    """
    lines = list(read_lines(path))  # to its end, so that the file is closed when a line is refused
    return [_occurrence(line, f"{os.fspath(path)}, line {number}") for number, line in enumerate(lines, start=1)]


def measure_homonyms(elmo: Elmo, train: Sequence[Occurrence], test: Sequence[Occurrence]) -> list[Measured]:
    """For each of test: is the nearest of the same word in train one of its sense? By chance, baselines and layers.

    ValueError if train lacks a sense of test, or has no other sense of the word.
    """
    known = {(occurrence.word, occurrence.sense) for occurrence in train}
    for word, sense in {(occurrence.word, occurrence.sense) for occurrence in test}:
        if (word, sense) not in known or len({other for one, other in known if one == word}) < 2:
            raise ValueError(f"the train half needs {word!r} as {sense!r}, and in another sense")
    occurrences = [*train, *test]
    encoded = elmo.encode([list(occurrence.tokens) for occurrence in occurrences], layers="all")
    return measure(encoded, occurrences, num_known=len(train))


def of_one_form(train: Sequence[Occurrence], test: Sequence[Occurrence]) -> tuple[list[Occurrence], list[Occurrence]]:
    """Both halves with the word's form, particle included, for the word, so that particles give nothing away.

    Of test without those whose form train does not have in their sense and in another.
    """
    known, asked = ([replace(one, word=one.tokens[one.index]) for one in half] for half in (train, test))
    senses = {one.word: set(senses_of(one.word, known)) for one in asked}
    return known, [one for one in asked if one.sense in senses[one.word] and len(senses[one.word]) > 1]


def as_record(rates: Mapping[str, Rate]) -> dict[str, dict[str, float]]:
    """For JSON, as `read_recorded` reads it: hits and total of each rate, by name."""
    return {
        name: {"hits": round(rate.correct, 3), "total": rate.total, "guessed": rate.guessed}
        for name, rate in rates.items()
    }


def read_recorded(model: Path) -> Recorded | None:
    """What `measurements.json` in a model's folder says of homonym_ko; None if there is nothing.

    It is `{"homonym_ko": {NAME: {"hits": ..., "total": ...}, ...}, "command": ...}`, and may hold homonym_ko_same_form
    alike; FormatError names what is otherwise.
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
        raise fields.error("index", f"is {index}, which is not the index of {word!r} in {' '.join(tokens)!r}")
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
