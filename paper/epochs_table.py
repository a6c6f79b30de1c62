"""How runs that may still have been improving got there: the development score after each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper.learning_curves import mean_curve
from paper.reproduction import OurTable, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paper.comparisons import Arm
    from paper.families import Family

NO_ELMO = "no ELMo"


def epochs_table(arms: Iterable[tuple[Family, Sequence[tuple[str, Arm | None]]]]) -> OurTable:
    """A row for each named arm of the families, each task's largest, in which a run could still have been improving."""
    families = list(arms)
    most: dict[str, int] = {}
    for family, _ in families:
        most[family.row] = max(most.get(family.row, 0), family.num_used)
    rows: list[tuple[str, tuple[str | None, ...]]] = []
    for family, named in families:
        for name, arm in named if family.unconverged and family.num_used == most[family.row] else ():
            curve = [] if arm is None else [score for _, score in mean_curve(arm)]
            if len(curve) > 1:
                scores = " ".join(f"{score:.1f}" for score in curve)
                row = f"{family.row}, {name}: {family.measured_on()}"
                rows.append((row, (scores, f"{curve[-1] - curve[-2]:+.2f}")))
    about = (
        "Score on the development set after each epoch, mean over the seeds as far as all have it, of each task's "
        "comparisons with most training examples if a run of theirs ended before it had stopped improving, and what "
        "the last epoch has brought in points: a score that still rises could pass another."
    )
    return OurTable("Scores after each epoch", about, ("after each epoch", "last epoch"), distinct_rows(rows))
