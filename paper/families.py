"""Runs of tasks -> families: arms that differ in a few settings only, each with its seeds, and those without ELMo."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.metrics.interval import paired_t
from elmokit.runs.logged_runs import has_runs, read_runs
from elmokit.tasks.all_tasks import TASKS, find_task
from elmokit.tasks.task_runs import is_task_run, read_task_run, unusual_settings
from paper.comparisons import NOT_CONVERGED, Arm
from paper.results import result_files
from paper.scales import TASK_DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from elmokit.metrics.statistic import Statistic
    from elmokit.runs.logged_runs import LoggedRun
    from elmokit.tasks.task_runs import TaskRun

ELMO = "inputs.elmo."
"""Prefix of the names of ELMo's settings."""


@dataclass(frozen=True)
class Family:
    """Runs of a task that share data and settings, except for the seed, ELMo's presence, and the settings that vary."""

    task: str
    arms: Mapping[tuple[Any, ...], Arm]
    """Runs with ELMo, by the values of the settings that vary."""
    baselines: Mapping[tuple[Any, ...], Arm]
    """Runs without ELMo, by the values of those that vary and are not ELMo's."""
    unusual: tuple[str, ...] = ()
    """What all arms with ELMo have in common and no recipe has, in words: see `unusual_settings`."""

    @property
    def metric(self) -> str:
        """Name of the score that decides the best epoch."""
        return find_task(self.task).metric

    @property
    def row(self) -> str:
        """The paper's name of the task."""
        return TASK_DATA[self.task].row

    @property
    def num_used(self) -> int:
        """Number of training examples, of the arm that has most."""
        return max(run.num_used for arm in self.arms.values() for run in arm.runs)

    @property
    def unconverged(self) -> tuple[str, ...]:
        """The words `not converged` if a run ended for another reason than that its score got no better."""
        arms = (*self.arms.values(), *self.baselines.values())
        return () if all(arm.is_converged for arm in arms) else (NOT_CONVERGED,)

    def with_arms(self, arms: Iterable[tuple[Any, ...]]) -> Family:
        """The family with no other arms than these, as far as it has them."""
        return replace(self, arms={values: self.arms[values] for values in arms if values in self.arms})

    def measured_on(self, *, num_examples: bool = True) -> str:
        """Data, number of training examples, biLM, unusual settings, seeds, and `not converged`, in words."""
        run = next(iter(self.arms.values())).runs[0]
        sizes = [f"{self.num_used:,} training examples"] if num_examples else []
        seeds = {len(arm.runs) for arm in self.arms.values()}
        counted = " or ".join(map(str, sorted(seeds)))
        counted += f" seed{'' if seeds == {1} else 's'}"
        return ", ".join((run.data, *sizes, run.model, *self.unusual, counted, *self.unconverged))


def read_task_runs(paths: Sequence[Path]) -> list[TaskRun]:
    """The runs of tasks that have ended, among the runs that `read_runs` finds; all others are passed over.

    Paths with results alone have no runs.
    """
    logged = [run for run in read_runs(with_runs(paths)) if is_task_run(run)]
    return [run for run in map(read_task_run, logged) if run.result is not None]


def with_runs(paths: Sequence[Path]) -> list[Path]:
    """The paths without those that have results, `results.jsonl`, and no runs."""
    return [path for path in paths if has_runs(path) or not result_files(path)]


def largest_families(found: Sequence[Family]) -> list[Family]:
    """Of the families of each task, the one with most training examples and then most runs; of equals, the last.

    One whose arms have unusual settings in common counts only where there is no other.
    """
    largest: dict[str, Family] = {}
    for family in sorted(found, key=lambda one: (not one.unusual, one.num_used, _num_runs(one))):
        largest[family.task] = family
    return [family for family in found if largest[family.task] is family]


def _num_runs(family: Family) -> int:
    return sum(len(arm.runs) for arm in family.arms.values())


def usual_runs(logged: Sequence[LoggedRun]) -> list[LoggedRun]:
    """The runs of tasks among these that `is_usual` names."""
    return [run for run in logged if is_task_run(run) and is_usual(read_task_run(run))]


def is_usual(run: TaskRun, *, but: Sequence[str] = ()) -> bool:
    """Whether a run has no ELMo, or a pretrained biLM with the settings of ELMo in one of the task's recipes.

    but: fields of `ElmoInput` that may differ.
    """
    elmo = run.record.config.inputs.elmo
    if elmo is None:
        return True
    recipes = [recipe().inputs.elmo for recipe in find_task(run.record.task).recipes.values()]
    own = replace(elmo, model="")
    is_pretrained = not Path(elmo.model).name.startswith(("random-", "finetuned-")) and not run.record.other_vectors
    free: dict[str, Any] = {name: getattr(own, name) for name in ("model", *but)}
    return is_pretrained and any(usual is not None and replace(usual, **free) == own for usual in recipes)


def families(runs: Sequence[TaskRun], vary: Sequence[str]) -> list[Family]:
    """Group ended runs, in the order of the tasks; `vary` names settings, such as `inputs.elmo.penalty`.

    A penalty that varies counts only where layers are mixed. Of runs with one seed and the same settings, the first
    counts. Runs with another system's vectors in ELMo's place are passed over.
    """
    baselines: dict[str, dict[tuple[Any, ...], dict[int, TaskRun]]] = {}
    with_elmo: dict[tuple[str, str], dict[tuple[Any, ...], dict[int, TaskRun]]] = {}
    tasks: dict[str, str] = {}
    for run in runs:
        if run.record.other_vectors:
            continue
        settings, elmo = run.settings, _elmo_settings(run)
        common = _key({name: value for name, value in settings.items() if name not in vary} | _data(run))
        tasks[common] = run.record.task
        if elmo:
            rest = _key({name: value for name, value in elmo.items() if name not in vary})
            values = tuple(_value(name, {**settings, **elmo}) for name in vary)
            with_elmo.setdefault((common, rest), {}).setdefault(values, {}).setdefault(run.seed, run)
        else:
            values = tuple(settings.get(name) for name in vary if not name.startswith(ELMO))
            baselines.setdefault(common, {}).setdefault(values, {}).setdefault(run.seed, run)
    found: list[Family] = []
    for (common, _), seeds in with_elmo.items():
        arms = _arms(seeds)
        unusual = unusual_settings(next(iter(arms.values())).runs[0], but=vary)
        found.append(Family(tasks[common], arms, _arms(baselines.get(common, {})), unusual))
    return sorted(found, key=lambda family: list(TASKS).index(family.task))


def dev_score(arm: Arm | None, metric: str) -> Statistic | None:
    """The score on the whole development set, with the weights of the best epoch; None for no arm."""
    return None if arm is None else arm.score(metric, test_set=None)


def gains_by_seed(first: Arm, second: Arm, metric: str, *, test_set: str | None = None) -> dict[int, float]:
    """The gain of the second arm for each seed of which both have the score.

    test_set: name of a test file; None stands for the development set.
    """
    found: list[dict[int, float]] = []
    for arm in (first, second):
        results = {run.seed: run.result for run in arm.runs if run.result is not None}
        scores = {seed: one.dev if test_set is None else one.test.get(test_set, {}) for seed, one in results.items()}
        found.append({seed: one[metric] for seed, one in scores.items() if metric in one})
    return {seed: found[1][seed] - score for seed, score in found[0].items() if seed in found[1]}


def gain_text(first: Arm | None, second: Arm | None, metric: str, *, test_set: str | None = None) -> str | None:
    """The mean gain of the second arm with its 95 % interval, or `one seed`, as a cell; None where it is not measured.

    test_set: as in `gains_by_seed`.
    """
    if first is None or second is None:
        return None
    differences = list(gains_by_seed(first, second, metric, test_set=test_set).values())
    if len(differences) < 2:
        return f"{differences[0]:+.2f} (one seed)" if differences else None
    return str(paired_t(differences))


def _elmo_settings(run: TaskRun) -> dict[str, Any]:
    return {f"{ELMO}{name}": value for name, value in run.elmo_settings.items()}


def _value(name: str, settings: Mapping[str, Any]) -> Any:
    """A setting that varies; None for the penalty of layers that are not mixed, which means nothing."""
    if name == f"{ELMO}penalty" and settings[f"{ELMO}layers"] != "mix":
        return None
    return settings.get(name)


def _data(run: TaskRun) -> dict[str, Any]:
    """What the data are; how many of the training examples are used follows from settings."""
    splits = run.record.splits
    files = {name: [path.name for path in paths] for name, paths in (("train", splits.train), ("dev", splits.dev))}
    examples = {split: counts["examples"] for split, counts in run.record.counts.items() if split in ("train", "dev")}
    return {"task": run.record.task, "data": run.data, "files": files, "examples": examples}


def _arms(arms: Mapping[tuple[Any, ...], Mapping[int, TaskRun]]) -> dict[tuple[Any, ...], Arm]:
    return {values: Arm(tuple(seeds[seed] for seed in sorted(seeds))) for values, seeds in arms.items()}


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True)
