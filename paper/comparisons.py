"""Runs of tasks -> comparisons: the same task, data and settings without ELMo and with it. Imports no torch."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from elmokit.metrics.statistic import Statistic
from elmokit.system.messages import count, listed
from elmokit.tasks.all_tasks import TASKS, find_task
from elmokit.tasks.task_runs import last_two, read_task_run, unusual_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elmokit.runs.logged_runs import LoggedRun
    from elmokit.tasks.task_runs import RunResult, TaskRun


ADD_TEST_SCORES = "`elmokit train --resume RUN --test` adds them where the folder of the run is kept"
NOT_CONVERGED = "not converged"


@dataclass(frozen=True)
class Arm:
    """Finished runs that differ only in their seed, sorted by it."""

    runs: tuple[TaskRun, ...]

    @property
    def results(self) -> list[RunResult]:
        """The result of each run."""
        return [run.result for run in self.runs if run.result is not None]

    def score(self, name: str, *, test_set: str | None) -> Statistic | None:
        """A score on a test file, or on the development set (`test_set` is None); None if no run has it."""
        found = [result.dev if test_set is None else result.test.get(test_set, {}) for result in self.results]
        values = tuple(scores[name] for scores in found if name in scores)
        return Statistic(values) if values else None

    @property
    def is_converged(self) -> bool:
        """Whether all runs have ended because their scores got no better."""
        return all(run.is_converged for run in self.runs)

    @property
    def median_seconds(self) -> float:
        """Median over the runs of the seconds of training and evaluating."""
        return statistics.median(result.seconds for result in self.results)

    @property
    def median_processor_seconds(self) -> float | None:
        """Median CPU seconds of the runs that have recorded them; None if no run has."""
        known = [result.processor_seconds for result in self.results if result.processor_seconds is not None]
        return statistics.median(known) if known else None

    @property
    def machines(self) -> list[str]:
        """The distinct machines of the runs, as far as recorded."""
        return list(dict.fromkeys(result.machine for result in self.results if result.machine is not None))

    @property
    def sources(self) -> list[str]:
        """The distinct versions and commits of the package that made the runs, as far as recorded."""
        return list(dict.fromkeys(result.source for result in self.results if result.source is not None))


@dataclass(frozen=True)
class Comparison:
    """One task on one data set, without ELMo and with it."""

    task: str
    metric: str
    """Name of the score that decides the best epoch and is compared."""
    data: str
    """Name of the folder of the training data."""
    elmo_name: str
    """Position of ELMo, and the settings that distinguish this arm from others with the same baseline; not the biLM."""
    baseline: Arm
    elmo: Arm

    @property
    def test_sets(self) -> list[str | None]:
        """Names of the test files that both arms have scores of, of one seed at least; a single None if none is.

        None stands for the development set.
        """
        of_baseline, of_elmo = (
            {(name, run.seed): None for run in arm.runs if run.result is not None for name in run.result.test}
            for arm in (self.baseline, self.elmo)
        )
        return list(dict.fromkeys(name for name, seed in of_baseline if (name, seed) in of_elmo)) or [None]

    @property
    def is_tested(self) -> bool:
        """Whether both arms have scores of a test file."""
        return self.test_sets != [None]

    @property
    def is_converged(self) -> bool:
        """Whether all runs of both arms have ended because their scores got no better."""
        return self.baseline.is_converged and self.elmo.is_converged

    @property
    def rank(self) -> tuple[bool, int, int, bool]:
        """How much it counts among the comparisons of a task: the highest is the one that stands for the task.

        The recipe's model comes before others, then more training examples, more seeds, and converged runs.
        """
        run = self.elmo.runs[0]
        return not unusual_settings(self.baseline.runs[0]), run.num_used, len(self.elmo.runs), self.is_converged

    @property
    def dev_mean(self) -> float:
        """Mean score on the development set with ELMo: of comparisons of equal rank and biLM, the highest counts."""
        score = self.elmo.score(self.metric, test_set=None)
        return -math.inf if score is None else score.mean

    @property
    def sample(self) -> str:
        """Data, number of training examples, and unusual settings of the task's model, in words."""
        run = self.baseline.runs[0]
        return ", ".join((run.data, f"{run.num_used:,} examples", *unusual_settings(run)))

    def measured_on(self, *, with_seeds: bool) -> str:
        """The sample, the biLM and its place, the number of seeds, and whether runs have not converged, in words."""
        seeds = (count(len(self.elmo.runs), "seed"),) if with_seeds else ()
        unconverged = () if self.is_converged else (NOT_CONVERGED,)
        return ", ".join((self.sample, f"{self.elmo.runs[0].model} at {self.elmo_name}", *seeds, *unconverged))

    def paired(self, test_set: str | None) -> Comparison:
        """The comparison with those seeds alone of which both arms have a score of the test set (None: development)."""

        def seeds(arm: Arm) -> set[int]:
            return {
                run.seed
                for run in arm.runs
                if run.result is not None and (test_set is None or test_set in run.result.test)
            }

        shared = seeds(self.baseline) & seeds(self.elmo)
        baseline, elmo = (
            Arm(tuple(run for run in arm.runs if run.seed in shared)) for arm in (self.baseline, self.elmo)
        )
        return replace(self, baseline=baseline, elmo=elmo)


@dataclass(frozen=True)
class Results:
    """What `compare_runs` finds."""

    comparisons: list[Comparison]
    """The comparisons, in the order of `TASKS`."""
    notes: list[str]
    """Sentences about the runs that are in no comparison, with the reason."""


def gain(baseline: float, elmo: float) -> tuple[float, float | None]:
    """The gain in points, and in percent of the baseline's error (its distance from 100; None if that is zero)."""
    return elmo - baseline, 100 * (elmo - baseline) / (100 - baseline) if baseline < 100 else None


def compare_runs(logged: Sequence[LoggedRun]) -> Results:
    """Group runs as `comparisons_among` does. Raises ValueError, with the reasons, if no runs can be compared."""
    results = comparisons_among(logged)
    if not results.comparisons:
        raise ValueError(
            f"nothing to compare: {'; '.join(results.notes)}. Expected ended runs with ELMo and without it"
        )
    return results


def comparisons_among(logged: Sequence[LoggedRun]) -> Results:
    """Group runs by task, data and settings, and compare each arm with ELMo with the runs without it.

    Word vectors are the same if their file names are; data are the same if the names of files and folders and the
    numbers of examples are. Raises ValueError for runs that cannot be read, and for two runs of an arm with the same
    seed.
    """
    runs = [read_task_run(run) for run in logged]
    unended = [run for run in runs if run.result is None]
    notes = [f"{run.where} has {'diverged' if run.diverged else 'not ended'}" for run in unended]
    if untested := [run.where for run in runs if run.lacks_test_scores]:
        has = "has" if len(untested) == 1 else "have"
        notes.append(f"{count(len(untested), 'run')} {has} no test scores ({ADD_TEST_SCORES}): {listed(untested)}")
    groups: dict[str, list[TaskRun]] = {}
    for run in runs:
        if run.result is not None:
            groups.setdefault(_key([run.record.task, _common(run)]), []).append(run)
    comparisons: list[Comparison] = []
    for group in groups.values():
        arms = _arms(group)
        baseline = arms.pop(_key({}), None)
        if baseline is None or not arms:
            notes.append(_lone(group, list(groups.values())))
        else:
            seeds = {run.seed for run in baseline.runs}
            paired = [arm for arm in arms.values() if any(run.seed in seeds for run in arm.runs)]
            notes += [_unpaired(arm, baseline) for arm in arms.values() if arm not in paired]
            comparisons += [_comparison(baseline, arm, list(arms.values())) for arm in paired]
    names = list(TASKS)
    comparisons.sort(key=lambda comparison: (names.index(comparison.task), comparison.data, comparison.elmo_name))
    return Results(comparisons, notes)


def _arms(group: Sequence[TaskRun]) -> dict[str, Arm]:
    seeds: dict[str, dict[int, TaskRun]] = {}
    for run in group:
        arm = seeds.setdefault(_key(run.elmo_settings), {})
        if run.seed in arm:
            raise ValueError(
                f"{arm[run.seed].where} and {run.where} are runs of the same settings and the same seed, {run.seed}; "
                "give one of them"
            )
        arm[run.seed] = run
    return {key: Arm(tuple(arm[seed] for seed in sorted(arm))) for key, arm in seeds.items()}


def _comparison(baseline: Arm, elmo: Arm, rivals: Sequence[Arm]) -> Comparison:
    run = baseline.runs[0]
    own = elmo.runs[0].elmo_settings
    others = [arm.runs[0].elmo_settings for arm in rivals]
    unnamed = ("position", "model", "fingerprint")
    unusual = unusual_settings(elmo.runs[0])
    named = [name for name in own if name not in unnamed and any(other[name] != own[name] for other in others)]
    named = [name for name in named if f"{name} {own[name]}" in unusual]
    recipes = [word for word in unusual if word.startswith("recipe ") and word not in unusual_settings(run)]
    return Comparison(
        task=run.record.task,
        metric=find_task(run.record.task).metric,
        data=run.data,
        elmo_name=", ".join([own["position"], *recipes, *(f"{name} {own[name]}" for name in named)]),
        baseline=baseline,
        elmo=elmo,
    )


def _unpaired(arm: Arm, baseline: Arm) -> str:
    """Why an arm without a seed of the baseline's is not compared."""
    names = ", ".join(run.where for run in arm.runs)
    seeds, others = (", ".join(str(run.seed) for run in one.runs) for one in (arm, baseline))
    return f"{names}: the runs without ELMo of the same data and settings have other seeds ({others}, not {seeds})"


def _lone(group: Sequence[TaskRun], groups: Sequence[Sequence[TaskRun]]) -> str:
    """Why a group with a single arm is not compared, and how the nearest runs of the other arm differ."""
    run = group[0]
    task, has_elmo = run.record.task, _has_elmo(run)
    others = [other for rivals in groups for other in rivals if other.record.task == task]
    differences = [_differences(_common(run), _common(other)) for other in others if _has_elmo(other) != has_elmo]
    nearest = min(differences, key=len) if differences else []
    why = f"; the nearest of {task} differ in {', '.join(nearest)}" if nearest else ""
    missing = "without" if has_elmo else "with"
    return f"{', '.join(run.where for run in group)}: no run {missing} ELMo of the same data and settings{why}"


def _has_elmo(run: TaskRun) -> bool:
    return run.record.config.inputs.elmo is not None


def _common(run: TaskRun) -> dict[str, Any]:
    """Data and settings that both arms of a comparison share: all except the seed and ELMo's.

    Skipped examples are compared by their number only, because the words for the reason may change between versions.
    """
    splits = {"train": run.record.splits.train, "dev": run.record.splits.dev, "test": run.record.splits.test}
    data = {name: [last_two(path) for path in paths] for name, paths in splits.items()}
    examples = {split: sorted(counts.values()) for split, counts in run.record.counts.items()}
    return {"data": data, "examples": examples, **run.settings}


def _differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """Names of the settings that differ, with both values if they are short."""
    names = [name for name in dict.fromkeys([*left, *right]) if left.get(name) != right.get(name)]
    return [
        name if isinstance(left.get(name), dict) else f"{name} ({left.get(name)}, not {right.get(name)})"
        for name in names
    ]


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True)
