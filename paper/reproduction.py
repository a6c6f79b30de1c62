"""How a table or figure of a paper is reproduced: the record that each file `tableN.py` defines.

A new table costs a file `tableN.py` with a `REPRODUCTION`, and a line in `all_reproductions.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from elmokit.formats.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from elmokit.metrics.statistics import Statistic
    from paper.plan import PlannedRun, Setup
    from paper.printed import PaperTable
    from paper.runs import Evidence

    Cell = Statistic | str | None
    """A number or a text; None for what we have not measured."""

Cells = TypeVar("Cells")


@dataclass(frozen=True)
class OurRow:
    """A row that we have measured."""

    row: str
    """Name of the row of the paper that it reproduces."""
    measured_on: str
    """The data, the model and the number of seeds, and how they differ from the paper's."""
    cells: tuple[Cell, ...]
    """Our cells in the order of the paper's columns."""
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
    rows: Mapping[str, tuple[Cell, ...]]
    """Cells of each row by the row's name."""


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


@dataclass(frozen=True)
class Reproduction:
    """How a table of a paper is reproduced: from what the user gives, or from what `compute` makes of data."""

    name: str
    """Name on the command line: table1."""
    paper: PaperTable
    """The table as printed."""
    reads: str
    """What it is made from, in words: `runs of elmokit train`."""
    measure: Callable[[Evidence], Sequence[OurRow]]
    """Our rows. Raises ValueError for what cannot be read."""
    details: Callable[[Evidence], Sequence[OurTable]] | None = None
    """Tables that the page shows below the paper's."""
    compute: Callable[[Request], Sequence[Path]] | None = None
    """Computes what the results folder lacks, and returns the paths of the results; None if paths have to be given.

    Raises FileNotFoundError, naming the path, for data that are not there.
    """
    plan: Callable[[Setup], Sequence[PlannedRun]] | None = None
    """The runs of tasks that it is measured from; None if it needs none."""
    model: str = DEFAULT_MODEL
    """The biLM of these runs, if the user names no other."""


def distinct_rows(rows: Iterable[tuple[str, Cells]]) -> dict[str, Cells]:
    """The rows by their names; a name that is taken gets a number, so that no row is lost: `NER`, `NER (2)`."""
    distinct: dict[str, Cells] = {}
    for name, cells in rows:
        names = (name if number == 1 else f"{name} ({number})" for number in itertools.count(1))
        distinct[next(free for free in names if free not in distinct)] = cells
    return distinct


def paths_of(reproduction: Reproduction, paths: Sequence[Path], request: Request) -> Sequence[Path]:
    """The paths that were given, or, if there are none, those of the results that the reproduction computes.

    Raises ValueError if there are none and it computes nothing, or if there are some and models to compute from.
    """
    if paths and request.models and reproduction.plan is None:
        raise ValueError("give either the paths of results or the models to measure, not both")
    if paths:
        return paths
    if reproduction.compute is None:
        raise ValueError(f"{reproduction.name} is made from {reproduction.reads}; give their paths")
    request.results_dir.mkdir(parents=True, exist_ok=True)
    return reproduction.compute(request)
