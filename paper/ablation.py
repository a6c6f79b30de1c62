"""Ablations of the mix: arms of a task side by side on the development set, with their gains over no ELMo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paper.epochs_table import NO_ELMO, epochs_table
from paper.families import dev_score, families, gain_text, read_task_runs
from paper.reproduction import OurTable, Reproduction, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from paper.comparisons import Arm
    from paper.families import Family
    from paper.planned_runs import PlannedRun, Setup
    from paper.printed import PaperTable
    from paper.reproduction import OurRow


@dataclass(frozen=True)
class Ablation:
    """An experiment with a few arms, which differ in some of ELMo's settings."""

    name: str
    paper: PaperTable
    tasks: tuple[str, ...]
    vary: tuple[str, ...]
    """Names of the settings that differ, without their prefix `elmo.`."""
    arms: Mapping[str, tuple[Any, ...]]
    """The values of these settings, by the heading of the arm's column."""

    def plan(self, setup: Setup) -> list[PlannedRun]:
        """The runs without ELMo, and those of each arm."""
        arms = [self._settings(values) for values in self.arms.values()]
        return [run for task in self.tasks for arm in (("elmo=none",), *arms) for run in setup.runs(task, *arm)]

    def measured(self, paths: Sequence[Path]) -> list[Family]:
        """The families of runs that have at least two of the arms, without their other arms."""
        found = families(read_task_runs(paths), tuple(f"inputs.elmo.{name}" for name in self.vary))
        of_arms = [family.with_arms(self.arms.values()) for family in found]
        return [family for family in of_arms if len(family.arms) > 1]

    def rows(self, paths: Sequence[Path]) -> list[OurRow]:
        """None: the paper prints no numbers of it."""
        return []

    def details(self, paths: Sequence[Path]) -> list[OurTable]:
        """The scores of the arms, their gains over the runs without ELMo, and the score after each epoch."""
        scores: list[tuple[str, tuple[str | None, ...]]] = []
        gains: list[tuple[str, tuple[str | None, ...]]] = []
        found = self.measured(paths)
        for family in found:
            name = f"{family.row}: {family.measured_on()}"
            none = family.baselines.get(())
            arms = [family.arms.get(values) for values in self.arms.values()]
            cells = [dev_score(arm, family.metric) for arm in (none, *arms)]
            scores.append((name, tuple(None if cell is None else str(cell) for cell in cells)))
            gains.append((name, tuple(gain_text(none, arm, family.metric) for arm in arms)))
        about = "Gain in points over no ELMo, paired by seed, with its 95 % interval (Student's t)."
        return [
            OurTable("Scores", "On the development set, in percent.", (NO_ELMO, *self.arms), distinct_rows(scores)),
            OurTable("Gains", about, tuple(self.arms), distinct_rows(gains)),
            epochs_table((family, self._named_arms(family)) for family in found),
        ]

    def _named_arms(self, family: Family) -> list[tuple[str, Arm | None]]:
        arms = ((name, family.arms.get(values)) for name, values in self.arms.items())
        return [(NO_ELMO, family.baselines.get(())), *arms]

    def reproduction(self) -> Reproduction:
        """The record for the list of reproductions."""
        return Reproduction(
            name=self.name,
            paper=self.paper,
            reads=f"runs of `elmokit train` that differ in elmo.{' and elmo.'.join(self.vary)}",
            measure=self.rows,
            details=self.details,
            plan=self.plan,
        )

    def _settings(self, values: tuple[Any, ...]) -> tuple[str, ...]:
        pairs = zip(self.vary, values, strict=True)
        return tuple(f"elmo.{name}={str(value).lower()}" for name, value in pairs)
