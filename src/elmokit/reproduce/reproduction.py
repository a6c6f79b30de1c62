"""How a table or figure of the paper is reproduced: the record that each file `tableN.py` defines.

A new table costs a file `tableN.py` with a `REPRODUCTION`, and a line in `all_reproductions.py`.
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
    """Name of the row of the paper that it reproduces."""
    measured_on: str
    """The data, the model and the number of seeds, and how they differ from the paper's."""
    cells: tuple[Statistic | str | None, ...]
    """Our cells in the order of the paper's columns; None for what we have not measured."""


@dataclass(frozen=True)
class Reproduction:
    """How a table of the paper is reproduced."""

    name: str
    """Name on the command line: table1."""
    paper: PaperTable
    """The table as printed."""
    reads: str
    """What the paths given to `measure` are, in words: `runs of elmokit train`."""
    measure: Callable[[Sequence[Path]], Sequence[OurRow]]
    """Paths -> our rows. Raises FileNotFoundError or ValueError for what cannot be read."""
