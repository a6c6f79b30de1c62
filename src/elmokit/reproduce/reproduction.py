"""A table or figure of the paper with ours next to it: what a file of this room defines, once per table.

A new table is a file `tableN.py` with a `REPRODUCTION`, and its line in `all_reproductions.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from elmokit.metrics.statistic import Statistic
    from elmokit.reproduce.paper import PaperTable


@dataclass(frozen=True)
class OurRow:
    """A row that we have measured."""

    row: str
    """Name of the paper's row that it reproduces."""
    measured_on: str
    """The data, the model and the number of seeds; how they differ from the paper's."""
    cells: tuple[Statistic | str | None, ...]
    """In the order of the paper's columns; None for what we have not measured."""


@dataclass(frozen=True)
class Reproduction:
    """How a table of the paper is reproduced."""

    name: str
    """As on the command line: table1."""
    paper: PaperTable
    reads: str
    """What the paths given to `measure` are, for people: `runs of elmokit train`."""
    measure: Callable[[Sequence[Path]], Sequence[OurRow]]
    """Paths -> our rows. Raises FileNotFoundError or ValueError for what cannot be read."""
