"""Rates of bundled models on homonym_ko: Korean nouns in Wikipedia, one half of the sentences judged by the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elmokit.analysis.polysemy import Rate
from elmokit.files.json_fields import Fields, read_json_object

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
    command: str
    rates: dict[str, Rate]
    same_form: dict[str, Rate]
    """Rates among occurrences with the same particle; empty if they were not measured."""


def read_recorded(model: Path) -> Recorded | None:
    """The rates on homonym_ko in `measurements.json` of a model's folder; None if there are none.

    The file has the form `{"homonym_ko": {NAME: {"hits": ..., "total": ...}, ...}, "command": ...}`, and optionally
    `homonym_ko_same_form` in the same form. Raises FormatError, naming the field, for anything else.
    """
    path = (model.parent if model.is_file() else model) / MEASUREMENTS
    if not path.is_file():
        return None
    measurements = Fields(path, read_json_object(path))
    if _TASK not in measurements:
        return None
    command, rates = measurements.text("command"), _rates(measurements, _TASK)
    return Recorded(path, command, rates, _rates(measurements, _SAME_FORM) if _SAME_FORM in measurements else {})


def _rates(measurements: Fields, task: str) -> dict[str, Rate]:
    rows = measurements.fields(task)
    return {name: _rate(rows.fields(name)) for name in measurements.object(task)}


def _rate(row: Fields) -> Rate:
    total = row.integer("total", least=1, most=1 << 31)
    return Rate(row.number("hits", most=total), total, "guessed" in row and row.boolean("guessed"))
