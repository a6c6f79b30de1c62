"""Table 3: where ELMo's vectors go: at the input of the first encoder, at its output, or at both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper.epochs_table import NO_ELMO, epochs_table
from paper.families import dev_score, families, gain_text, read_task_runs
from paper.printed import TABLE_3
from paper.reproduction import OurRow, OurTable, Reproduction, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paper.comparisons import Arm
    from paper.families import Family
    from paper.planned_runs import PlannedRun, Setup

TASKS = ("semantic-roles", "coreference", "entailment", "question-answering", "sentiment")
"""The paper's three; coreference, of which it says that the input alone is best; and sentiment, which has ELMo at both
places."""
VARY = ("inputs.elmo.position",)
POSITIONS = ("input", "both", "output")
"""In the order of the paper's columns."""


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs: without ELMo, and with ELMo at each place."""
    return [
        run
        for task in TASKS
        for setting in ("elmo=none", *(f"elmo={position}" for position in POSITIONS))
        for run in setup.runs(task, setting)
    ]


def measured(paths: Sequence[Path]) -> list[Family]:
    """The families of runs in which the position varies."""
    found = [
        family.with_arms((position,) for position in POSITIONS) for family in families(read_task_runs(paths), VARY)
    ]
    return [family for family in found if len(family.arms) > 1]


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """A row for each family, on the development set."""
    return [
        OurRow(
            row=family.row,
            measured_on=family.measured_on(),
            cells=tuple(dev_score(family.arms.get((position,)), family.metric) for position in POSITIONS),
            is_extra=family.row not in TABLE_3.rows,
        )
        for family in measured(paths)
    ]


def details(paths: Sequence[Path]) -> list[OurTable]:
    """The scores without ELMo, the gains of one place over another with their intervals, and each epoch's score."""
    rows: list[tuple[str, tuple[str | None, ...]]] = []
    found = measured(paths)
    for family in found:
        none = family.baselines.get(())
        at_input, both, output = (family.arms.get((position,)) for position in POSITIONS)
        pairs = ((none, at_input), (at_input, both), (output, both))
        score = dev_score(none, family.metric)
        gains = (gain_text(first, second, family.metric) for first, second in pairs)
        rows.append((f"{family.row}: {family.measured_on()}", (None if score is None else str(score), *gains)))
    about = "Score without ELMo, and gains in points on the development set, paired by seed, with 95 % intervals."
    columns = (NO_ELMO, "input over none", "both over input", "both over output")
    return [
        OurTable("Differences between the places", about, columns, distinct_rows(rows)),
        epochs_table((family, _named_arms(family)) for family in found),
    ]


def _named_arms(family: Family) -> list[tuple[str, Arm | None]]:
    return [(NO_ELMO, family.baselines.get(())), *((place, family.arms.get((place,))) for place in POSITIONS)]


REPRODUCTION = Reproduction(
    name="table3",
    paper=TABLE_3,
    reads="runs of `elmokit train` that differ in ELMo's position",
    measure=our_rows,
    details=details,
    plan=plan,
)
