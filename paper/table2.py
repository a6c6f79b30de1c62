"""Table 2: how the layers are weighted: no ELMo, the top layer alone, and mixes with a strong or a weak penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper.epochs_table import NO_ELMO, epochs_table
from paper.families import dev_score, families, gain_text, is_usual, read_task_runs
from paper.printed import TABLE_2, TABLE_2_COVE
from paper.reproduction import OurRow, OurTable, Reproduction, distinct_rows, printed_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paper.comparisons import Arm
    from paper.families import Family
    from paper.planned_runs import PlannedRun, Setup

TASKS = ("named-entities", "semantic-roles", "entailment", "question-answering")
"""The paper's three, and named entities, of which it says that lambda makes no difference."""
VARY = ("inputs.elmo.layers", "inputs.elmo.penalty")
TOP = ("top", None)
LAMBDAS = (1.0, 0.1, 0.001, 0.0)
MIXES = tuple(("mix", penalty) for penalty in LAMBDAS)
LARGE, SMALL = ("mix", 1.0), ("mix", 0.001)


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs: without ELMo, with the top layer, and with each lambda."""
    runs: list[PlannedRun] = []
    for task in TASKS:
        runs += [*setup.runs(task, "elmo=none"), *setup.runs(task, "elmo.layers=top")]
        for penalty in LAMBDAS:
            runs += setup.runs(task, "elmo.layers=mix", f"elmo.penalty={penalty}")
    return runs


def measured(paths: Sequence[Path]) -> list[Family]:
    """The families of runs that have two of the paper's columns with ELMo, and all else as in a recipe."""
    runs = [run for run in read_task_runs(paths) if is_usual(run, but=("layers", "penalty"))]
    found = [family.with_arms((TOP, *MIXES)) for family in families(runs, VARY)]
    return [family for family in found if len({TOP, LARGE, SMALL} & set(family.arms)) > 1]


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """A row for each family, on the development set."""
    return [
        OurRow(
            row=family.row,
            measured_on=family.measured_on(),
            cells=tuple(dev_score(arm, family.metric) for arm in (family.baselines.get(()), *_paper_arms(family))),
            is_extra=family.row not in TABLE_2.rows,
        )
        for family in measured(paths)
    ]


def details(paths: Sequence[Path]) -> list[OurTable]:
    """All lambdas, the gains of one column over another with their intervals, each epoch's score, and CoVe's scores."""
    found = measured(paths)
    names = [f"{family.row}: {family.measured_on()}" for family in found]
    lambdas = [tuple(dev_score(family.arms.get(mix), family.metric) for mix in MIXES) for family in found]
    return [
        OurTable(
            "Every lambda",
            "Scores on the development set, all layers mixed.",
            tuple(f"lambda={penalty:g}" for penalty in LAMBDAS),
            distinct_rows(zip(names, lambdas, strict=True)),
        ),
        OurTable(
            "Differences between the columns",
            "Gain in points on the development set, paired by seed, with its 95 % interval (Student's t).",
            ("last layer over none", "all layers (0.001) over last layer", "lambda=0.001 over lambda=1"),
            distinct_rows(zip(names, map(_gains, found), strict=True)),
        ),
        epochs_table((family, _named_arms(family)) for family in found),
        *([printed_table(TABLE_2_COVE)] if found else []),
    ]


def _named_arms(family: Family) -> list[tuple[str, Arm | None]]:
    mixes = ((f"lambda={penalty:g}", family.arms.get(mix)) for penalty, mix in zip(LAMBDAS, MIXES, strict=True))
    return [(NO_ELMO, family.baselines.get(())), ("last layer", family.arms.get(TOP)), *mixes]


def _paper_arms(family: Family) -> list[Arm | None]:
    return [family.arms.get(values) for values in (TOP, LARGE, SMALL)]


def _gains(family: Family) -> tuple[str | None, ...]:
    top, large, small = _paper_arms(family)
    pairs = ((family.baselines.get(()), top), (top, small), (large, small))
    return tuple(gain_text(first, second, family.metric) for first, second in pairs)


REPRODUCTION = Reproduction(
    name="table2",
    paper=TABLE_2,
    reads="runs of `elmokit train` that differ in ELMo's layers and penalty",
    measure=our_rows,
    details=details,
    plan=plan,
)
