"""Tables of arms: a task's runs side by side, which differ in a few settings, and how one arm gains over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paper.plan import DATASETS, MODEL, Arm, PlannedRun, Setup
from paper.printed import PaperTable
from paper.reproduction import Cell, OurRow, OurTable, Reproduction
from paper.runs import ArmRuns, Evidence, gain_text, measured_on

Pairs = Sequence[tuple[str, str]]
"""Names of two arms, of which the first should be better."""
PAIRED = "paired by seed, with its 95 % interval (Student's t)"


@dataclass(frozen=True)
class Claim:
    """What the paper says about arms: the first of each pair is better."""

    text: str
    pairs: Mapping[str, Pairs]
    """By the row of each task that the claim is about."""
    shown: Mapping[str, Pairs] = field(default_factory=dict[str, Pairs])
    """The same of other tasks: shown, not counted."""


@dataclass(frozen=True)
class Ablation:
    """Arms of some tasks."""

    name: str
    paper: PaperTable
    tasks: tuple[str, ...]
    arms: tuple[Arm, ...]
    columns: tuple[str, ...] = ()
    """The names of the arms that the paper's table has, in its order."""
    differences: Pairs = ()
    """Arms whose difference is shown; empty for each arm and the first."""
    tests: bool = False
    """Whether scores are those of test sets."""
    model: str = MODEL

    def plan(self, setup: Setup) -> list[PlannedRun]:
        return [run for task in self.tasks for arm in self.arms for run in setup.runs(task, arm, tests=self.tests)]

    def measured(self, evidence: Evidence) -> dict[str, tuple[str, dict[str, ArmRuns]]]:
        """By task, the name of its row, and the arms that have runs; tasks with fewer than two are left out."""
        measured: dict[str, tuple[str, dict[str, ArmRuns]]] = {}
        for task in self.tasks:
            found = {arm.name: evidence.arm(task, arm) for arm in self.arms}
            arms = {name: runs for name, runs in found.items() if runs is not None}
            if len(arms) > 1:
                measured[task] = f"{DATASETS[task].row}: {measured_on(list(arms.values()))}", arms
        return measured

    def rows(self, evidence: Evidence) -> list[OurRow]:
        """A row for each task with the paper's columns, on the development set."""
        rows: list[OurRow] = []
        for name, arms in self.measured(evidence).values() if self.columns else ():
            row, _, words = name.partition(": ")
            cells = tuple(arms[column].score() if column in arms else None for column in self.columns)
            rows.append(OurRow(row, words, cells))
        return rows

    def details(self, evidence: Evidence) -> list[OurTable]:
        """All scores, unless the paper's table has them, and differences."""
        found = self.measured(evidence)
        names = tuple(arm.name for arm in self.arms)
        scores = {
            name: tuple(arms[arm].score(self._test_set(task)) if arm in arms else None for arm in names)
            for task, (name, arms) in found.items()
        }
        shown = {} if set(names[1:]) <= set(self.columns) else scores
        table = OurTable("Scores", f"On the {self._where} set, in percent.", names, shown)
        return [table, self.differences_table(evidence)]

    def differences_table(self, evidence: Evidence) -> OurTable:
        """The score of the first arm, and the differences."""
        first, *others = (arm.name for arm in self.arms)
        pairs = self.differences or [(name, first) for name in others]
        rows: dict[str, tuple[Cell, ...]] = {}
        for task, (name, arms) in self.measured(evidence).items():
            test_set = self._test_set(task)
            gains = (gain_text(arms.get(worse), arms.get(better), test_set=test_set) for better, worse in pairs)
            rows[name] = (arms[first].score(test_set) if first in arms else None, *gains)
        about = f"The score of the first arm, then gains in points, on the {self._where} set, {PAIRED}."
        return OurTable("Differences", about, (first, *(f"{better} over {worse}" for better, worse in pairs)), rows)

    def reproduction(self) -> Reproduction:
        return Reproduction(self.name, self.paper, self.rows, self.details, plan=self.plan, model=self.model)

    @property
    def _where(self) -> str:
        return "test" if self.tests else "development"

    def _test_set(self, task: str) -> str | None:
        return DATASETS[task].test_set if self.tests else None
