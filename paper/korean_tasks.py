"""Korean tasks with and without `mini-ko`: named entities of KLUE, and reviews of NSMC; the paper has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper.plan import DATASETS, ELMO, NO_ELMO, SIX_TASKS
from paper.published import KOREAN_TASKS
from paper.reproduction import OurRow, Reproduction
from paper.runs import gain_text, tested_pair

if TYPE_CHECKING:
    from paper.plan import PlannedRun, Setup
    from paper.runs import Evidence

TASKS = tuple(name for name in DATASETS if name not in SIX_TASKS)


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs without ELMo and with it."""
    return [run for task in TASKS for arm in (NO_ELMO, ELMO) for run in setup.runs(task, arm, tests=True)]


def our_rows(evidence: Evidence) -> list[OurRow]:
    """A row for each data set, on its test set."""
    rows: list[OurRow] = []
    for one in (tested_pair(evidence, task, "", NO_ELMO, ELMO) for task in TASKS):
        if one is not None:
            scores = (one.none.score(one.test_set), one.elmo.score(one.test_set))
            numbers = (one.test_set, one.none.metric, str(len(one.elmo.runs)))
            cells = (*numbers, *scores, gain_text(one.none, one.elmo, test_set=one.test_set))
            rows.append(OurRow(DATASETS[one.task].row, one.measured_on, cells, is_extra=True))
    return rows


REPRODUCTION = Reproduction(
    name="korean-tasks",
    paper=KOREAN_TASKS,
    reads="runs of `elmokit train` on Korean data",
    measure=our_rows,
    plan=plan,
    model="mini-ko",
)
