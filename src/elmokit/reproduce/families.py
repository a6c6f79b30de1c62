"""Runs of tasks -> families: arms that differ in a few settings only, each with its seeds, and those without ELMo."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.metrics.interval import paired_t
from elmokit.reproduce.comparisons import Arm
from elmokit.reproduce.scales import TASK_DATA
from elmokit.reproduce.task_runs import is_task_run, read_task_run
from elmokit.runs.logged_runs import read_runs
from elmokit.tasks.all_tasks import TASKS, find_task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elmokit.metrics.statistic import Statistic
    from elmokit.reproduce.task_runs import TaskRun
    from elmokit.runs.logged_runs import LoggedRun

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

    @property
    def metric(self) -> str:
        """Name of the score that decides the best epoch."""
        return find_task(self.task).metric

    @property
    def row(self) -> str:
        """The paper's name of the task."""
        return TASK_DATA[self.task].row

    def measured_on(self, *, num_examples: bool = True) -> str:
        """Data, number of training examples, biLM and seeds, in words."""
        runs = [run for arm in self.arms.values() for run in arm.runs]
        used = {run.num_used for run in runs}
        sizes = [f"{max(used):,} training examples"] if num_examples else []
        seeds = {len(arm.runs) for arm in self.arms.values()}
        counted = " or ".join(map(str, sorted(seeds)))
        return ", ".join([runs[0].data, *sizes, runs[0].model, f"{counted} seed{'' if seeds == {1} else 's'}"])


def read_task_runs(paths: Sequence[Path]) -> list[TaskRun]:
    """The runs of tasks that have ended, among the runs that `read_runs` finds; all others are passed over."""
    logged = [run for run in read_runs(paths) if is_task_run(run)]
    return [run for run in map(read_task_run, logged) if run.result is not None]


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
    is_made = Path(elmo.model).name.startswith(("random-", "finetuned-"))
    free: dict[str, Any] = {name: getattr(own, name) for name in ("model", *but)}
    return not is_made and any(usual is not None and replace(usual, **free) == own for usual in recipes)


def families(runs: Sequence[TaskRun], vary: Sequence[str]) -> list[Family]:
    """Group ended runs, in the order of the tasks; `vary` names settings, such as `inputs.elmo.penalty`.

    A penalty that varies counts only where layers are mixed. Of runs with one seed and the same settings, the first
    counts.
    """
    baselines: dict[str, dict[tuple[Any, ...], dict[int, TaskRun]]] = {}
    with_elmo: dict[tuple[str, str], dict[tuple[Any, ...], dict[int, TaskRun]]] = {}
    tasks: dict[str, str] = {}
    for run in runs:
        settings, elmo = run.settings(), _elmo_settings(run)
        common = _key({name: value for name, value in settings.items() if name not in vary} | _data(run))
        tasks[common] = run.record.task
        if elmo:
            rest = _key({name: value for name, value in elmo.items() if name not in vary})
            values = tuple(_value(name, settings | elmo) for name in vary)
            with_elmo.setdefault((common, rest), {}).setdefault(values, {}).setdefault(run.seed, run)
        else:
            values = tuple(settings.get(name) for name in vary if not name.startswith(ELMO))
            baselines.setdefault(common, {}).setdefault(values, {}).setdefault(run.seed, run)
    found = [Family(tasks[key[0]], _arms(arms), _arms(baselines.get(key[0], {}))) for key, arms in with_elmo.items()]
    return sorted(found, key=lambda family: list(TASKS).index(family.task))


def dev_score(arm: Arm | None, metric: str) -> Statistic | None:
    """The score on the whole development set, with the weights of the best epoch; None for no arm."""
    return None if arm is None else arm.score(metric, test_set=None)


def dev_differences(first: Arm, second: Arm, metric: str) -> list[float]:
    """The gain of the second arm on the development set, for each seed that both have."""
    scores = [
        {run.seed: run.result.dev[metric] for run in arm.runs if run.result is not None} for arm in (first, second)
    ]
    return [scores[1][seed] - scores[0][seed] for seed in scores[0] if seed in scores[1]]


def gain_text(first: Arm | None, second: Arm | None, metric: str) -> str | None:
    """The mean of `dev_differences` with its 95 % interval, or `one seed`, as a cell; None where it is not measured."""
    differences = dev_differences(first, second, metric) if first is not None and second is not None else []
    if len(differences) < 2:
        return f"{differences[0]:+.2f} (one seed)" if differences else None
    return str(paired_t(differences))


def _elmo_settings(run: TaskRun) -> dict[str, Any]:
    return {f"{ELMO}{name}": value for name, value in run.elmo_settings().items()}


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
