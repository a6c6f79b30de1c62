"""How a table or figure of a paper is reproduced: the record that each `tableN.py` defines, and all of them by name.

A new table costs a file `tableN.py` with a `REPRODUCTION`, or its arms in one with a `TABLE`, and a line in
`REPRODUCTIONS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmokit.metrics.statistics import Statistic
from elmokit.system.messages import find_named
from paper.plan import MODEL, PlannedRun, Setup
from paper.printed import PaperTable
from paper.runs import Evidence

Cell = Statistic | str | None
"""A number or a text; None for what we have not measured."""
REPRODUCTIONS = {
    "table1": "table1.REPRODUCTION",
    "table2": "table2.TABLE",
    "table3": "table3.TABLE",
    "table4": "table4.REPRODUCTION",
    "table5": "table5.TABLE",
    "senses-supervised": "senses_supervised.TABLE",
    "table6": "table6.TABLE",
    "table6-ko": "table6.KOREAN_TABLE",
    "table7": "table7.REPRODUCTION",
    "figure1": "figure1.REPRODUCTION",
    "figure2": "figure2.REPRODUCTION",
    "perplexity": "perplexity_curve.REPRODUCTION",
    "gamma": "ablations.GAMMA_TABLE",
    "layernorm": "ablations.LAYER_NORM_TABLE",
    "dropout": "ablations.DROPOUT_TABLE",
    "blimp": "blimp.REPRODUCTION",
    "reading-times": "reading_times.REPRODUCTION",
    "polysemy-ko": "polysemy_ko.REPRODUCTION",
    "wic": "wic.TABLE",
    "kobest": "wic.KOBEST_TABLE",
    "korean-tasks": "ablations.KOREAN_TABLE",
}
"""Name on the command line -> the module in this folder, which is imported when it is asked for, and its name there: a
`Reproduction`, or a table that has a method `reproduction`."""


@dataclass(frozen=True)
class OurRow:
    """A row that we have measured."""

    row: str
    """Name of the row of the paper that it reproduces. Other rows, controls and other systems, come last."""
    measured_on: str
    """The data, the model and the number of seeds, and how they differ from the paper's."""
    cells: tuple[Cell, ...]
    """Our cells in the order of the paper's columns."""


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
    """How a table of a paper is measured: from runs of its plan, or from what `compute` makes of data."""

    name: str
    """Name on the command line: table1."""
    paper: PaperTable
    measure: Callable[[Evidence], Sequence[OurRow]] | None
    """Our rows; None for a figure, of which the paper prints no values. Raises ValueError for what cannot be read."""
    details: Callable[[Evidence], Sequence[OurTable]] | None = None
    """Tables that the page shows below the paper's."""
    compute: Callable[[Request], None] | None = None
    """Adds what it lacks to the results folder's `results.jsonl`; None if runs have to be trained.

    Raises FileNotFoundError, naming the path, for data that are not there.
    """
    plan: Callable[[Setup], Sequence[PlannedRun]] | None = None
    """The runs of tasks that it is measured from; None if it needs none."""
    model: str = MODEL
    """The biLM of these runs, if the user names no other."""

    @property
    def source(self) -> str:
        """What it is made from, in words."""
        what = f"results of `python -m paper {self.name}`"
        return what if self.plan is None else f"runs of `python -m paper train {self.name}`"


def find_reproduction(name: str) -> Reproduction:
    """Import the reproduction of that name. Raises ValueError, suggesting the nearest name, if there is none."""
    module, attribute = find_named(REPRODUCTIONS, name, what="reproduction").split(".")
    found = getattr(importlib.import_module(f"paper.{module}"), attribute)
    return found if isinstance(found, Reproduction) else found.reproduction()
