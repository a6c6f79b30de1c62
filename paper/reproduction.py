"""How a table or figure of a paper is reproduced: the record that each file `tableN.py` defines.

A new table costs a file `tableN.py` with a `REPRODUCTION`, and a line in `all_reproductions.py`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from elmokit.metrics.statistic import Statistic
    from paper.planned_runs import PlannedRun, Setup
    from paper.printed import PaperTable

Cells = TypeVar("Cells")


@dataclass(frozen=True)
class OurRow:
    """A row that we have measured."""

    row: str
    """Name of the row of the paper that it reproduces."""
    measured_on: str
    """The data, the model and the number of seeds, and how they differ from the paper's."""
    cells: tuple[Statistic | str | None, ...]
    """Our cells in the order of the paper's columns; None for what we have not measured."""
    is_extra: bool = False
    """Whether the paper has no such row: a control, or a system that it does not have. These rows come last."""


@dataclass(frozen=True)
class OurTable:
    """Numbers of ours that the paper's table has no columns for."""

    title: str
    about: str
    """What is measured, on which data, in which unit."""
    columns: tuple[str, ...]
    """Headings of the columns, without that of the rows' names."""
    rows: Mapping[str, tuple[Statistic | str | None, ...]]
    """Cells of each row by the row's name."""


def distinct_rows(rows: Iterable[tuple[str, Cells]]) -> dict[str, Cells]:
    """The rows by their names; a name that is taken gets a number, so that no row is lost: `NER`, `NER (2)`."""
    distinct: dict[str, Cells] = {}
    for name, cells in rows:
        names = (name if number == 1 else f"{name} ({number})" for number in itertools.count(1))
        distinct[next(free for free in names if free not in distinct)] = cells
    return distinct


def printed_table(table: PaperTable) -> OurTable:
    """A table of the paper that we have no numbers for, to stand below one that we have."""
    rows = {name: tuple(cell and cell.text for cell in cells) for name, cells in table.rows.items()}
    about = f"Printed in section {table.section}. {table.about}"
    return OurTable(table.name, " ".join([about, *table.statements, *table.notes]), table.columns, rows)


@dataclass(frozen=True)
class Request:
    """What a reproduction computes, and where its results go."""

    data_dir: Path
    """The folder with the data, as CONTRIBUTING.md describes it."""
    results_dir: Path
    """The folder of the results: what is there already is not computed again."""
    models: tuple[str, ...] = ()
    """Models or files of vectors to measure; none stands for the choice of the reproduction."""
    word_vectors: Path | None = None
    """Word vectors of the systems among them that read some."""
    language: str | None = None
    """en or ko: of a table with text in both, that in this one only."""


@dataclass(frozen=True)
class Reproduction:
    """How a table of a paper is reproduced: from what the user gives, or from what `compute` makes of data."""

    name: str
    """Name on the command line: table1."""
    paper: PaperTable
    """The table as printed."""
    reads: str
    """What the paths given to `measure` are, in words: `runs of elmokit train`."""
    measure: Callable[[Sequence[Path]], Sequence[OurRow]]
    """Paths -> our rows. Raises FileNotFoundError or ValueError for what cannot be read."""
    details: Callable[[Sequence[Path]], Sequence[OurTable]] | None = None
    """Paths -> tables that the page shows below the paper's."""
    compute: Callable[[Request], Sequence[Path]] | None = None
    """Computes what the results folder lacks, and returns the paths for `measure`; None if paths have to be given.

    Raises FileNotFoundError, naming the path, for data that are not there.
    """
    language_of: Callable[[str], str] | None = None
    """The language of the text that the `data` of a result names; None for tables that are of one language."""
    plan: Callable[[Setup], Sequence[PlannedRun]] | None = None
    """The runs of tasks that it is measured from; None if it needs none."""


def paths_of(reproduction: Reproduction, paths: Sequence[Path], request: Request) -> Sequence[Path]:
    """The paths that were given, or, if there are none, those of the results that the reproduction computes.

    Raises ValueError if there are none and it computes nothing, or if there are some and models or a language to
    compute from.
    """
    if paths and (request.models or request.language):
        wanted = "models" if request.models else "language"
        raise ValueError(f"give either the paths of results or the {wanted} to measure, not both")
    if paths:
        return paths
    if reproduction.compute is None:
        raise ValueError(f"{reproduction.name} is made from {reproduction.reads}; give their paths")
    request.results_dir.mkdir(parents=True, exist_ok=True)
    return reproduction.compute(request)
