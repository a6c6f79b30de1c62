"""Intervals over test items, and ensembles, as `item_intervals.py` has kept them with the results of table 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from elmokit.metrics.interval import Interval
from paper.results import read_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.files.json_fields import Fields
    from paper.comparisons import Comparison

    RunNames = tuple[str, ...]

NAME = "table1"


def item_records(paths: Sequence[Path]) -> dict[RunNames, Fields]:
    """The records by what `names_of` gives for their runs; where more seeds were measured later, the last one alone."""
    newest: dict[tuple[str, ...], Fields] = {}
    for fields in read_results(paths, NAME):
        names = (fields.text(name) for name in ("task", "test_set", "model"))
        newest[*names, *fields.texts("elmo")[:1]] = fields
    return {_names_in(fields): fields for fields in newest.values()}


def names_of(paired: Comparison, test_set: str) -> RunNames:
    """Data, biLM, test set and runs of a comparison with the seeds of which both arms have a score."""
    arms = (",".join(run.name for run in arm.runs) for arm in (paired.baseline, paired.elmo))
    return (paired.data, paired.elmo.runs[0].model, test_set, *arms)


def interval_of(fields: Fields) -> Interval:
    """The interval of a record."""
    interval = fields.fields("interval")
    return Interval(*(interval.number(name, least=-math.inf) for name in ("estimate", "low", "high")))


def _names_in(fields: Fields) -> RunNames:
    names = (fields.text(name) for name in ("data", "model", "test_set"))
    return (*names, *(",".join(fields.texts(arm)) for arm in ("baseline", "elmo")))
