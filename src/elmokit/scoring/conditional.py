"""Conditional surprisal of a file: what a continuation costs given its prefix, and the prefix given that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.scoring.minimal_pairs import Sentences, read_pairs
from elmokit.scoring.surprisal_table import MISSING, Row

if TYPE_CHECKING:
    from elmokit.elmo.surprisal import ConditionalSurprisal, Unit

_EXPECTED = "a prefix, a tab, and a continuation"
_PARTS = ("prefix", "continuation")


def read_prefixes(path: Path | str, *, raw_text: bool = False) -> Iterator[Sentences]:
    """Prefix and continuation of each line, which a tab separates. Blank lines are skipped; a prefix may be empty.

    Raises ValueError, naming the line, for a line without a continuation, and for a file without pairs.
    """
    return read_pairs(path, raw_text=raw_text, expected=_EXPECTED, first_may_be_empty=True)


def conditional_rows(results: Iterable[ConditionalSurprisal], unit: Unit = "bits") -> Iterator[Row]:
    """A row of the columns' names, and then a row for each pair.

    `surprisal` is of the continuation given the prefix, `backward` of the prefix given the continuation; if there is
    one direction, its column is `surprisal`.
    """
    for number, result in enumerate(results, start=1):
        if number == 1:
            names = ("surprisal", "backward")[: len(result.whole.directions)]
            yield ["pair_id", *(f"{part}_{what}" for part in _PARTS for what in ("tokens", "unknown")), *names]
        known = result.whole.known[: len(result.prefix)], result.whole.known[len(result.prefix) :]
        counts = [str(count) for of_part in known for count in (len(of_part), len(of_part) - int(of_part.sum()))]
        totals = [
            f"{result.total(way, unit=unit):z.6f}" if len(result.bits(way)) else MISSING
            for way in result.whole.directions
        ]
        yield [str(number), *counts, *totals]
