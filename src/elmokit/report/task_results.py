"""Runs of tasks -> comparisons: the same task, data and settings without ELMo and with it. Imports no torch."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.runs.folder import METRICS_NAME, has_format
from elmokit.runs.metrics_log import read_log
from elmokit.tasks.all_tasks import TASKS, find_task
from elmokit.tasks.config import config_to_json
from elmokit.tasks.run_folder import FORMAT, read_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class RunResult:
    """What a run has measured at its end, with the weights of its best epoch."""

    dev: Mapping[str, float]
    test: Mapping[str, Mapping[str, float]]
    """Of each test file."""
    best_epoch: int
    seconds: float
    """Of training and of evaluating after each epoch."""
    processor_seconds: float | None
    """The same on the processors' clock; None of runs that did not record it, as is the machine."""
    machine: str | None
    mixes: Mapping[str, Mapping[str, Any]]
    """For input and output, gamma and the softmaxed weights, lowest layer first; empty without ELMo."""


@dataclass(frozen=True)
class TaskRun:
    """A run's folder, read."""

    path: Path
    task: str
    seed: int
    common: dict[str, Any]
    """Data and settings that both arms of a comparison share: all but the seed and what concerns ELMo."""
    elmo: dict[str, Any]
    """Settings of ELMo, as `ElmoInput` has them, and its fingerprint; empty without it."""
    counts: Mapping[str, Mapping[str, int]]
    """For each split, its examples, and how many were left out for which reason."""
    num_labels: int
    result: RunResult | None
    """None of a run that has not ended."""

    @property
    def data(self) -> str:
        """The folder that the training data lay in."""
        return Path(self.common["data"]["train"][0]).parent.name


@dataclass(frozen=True)
class Statistic:
    """A number over the runs of an arm that have it."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """Of a sample (n - 1); None of a single value."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Arm:
    """Runs that differ in nothing but their seed, in its order; all have ended."""

    runs: tuple[TaskRun, ...]

    @property
    def results(self) -> list[RunResult]:
        return [run.result for run in self.runs if run.result is not None]

    def score(self, name: str, *, test_set: str | None) -> Statistic | None:
        """On a test file, or on the development set; None where no run has it."""
        found = [result.dev if test_set is None else result.test.get(test_set, {}) for result in self.results]
        values = tuple(scores[name] for scores in found if name in scores)
        return Statistic(values) if values else None

    @property
    def median_seconds(self) -> float:
        return statistics.median(result.seconds for result in self.results)

    @property
    def median_processor_seconds(self) -> float | None:
        """Of the runs that have recorded it; None if none has."""
        known = [result.processor_seconds for result in self.results if result.processor_seconds is not None]
        return statistics.median(known) if known else None

    @property
    def machines(self) -> list[str]:
        return list(dict.fromkeys(result.machine for result in self.results if result.machine is not None))


@dataclass(frozen=True)
class Comparison:
    """One task on one data set, without ELMo and with it."""

    task: str
    metric: str
    """The score that tells the best epoch, and that the comparison is about."""
    data: str
    elmo_name: str
    """Where ELMo is, and what else tells this arm from the others that have the same baseline."""
    baseline: Arm
    elmo: Arm

    @property
    def test_sets(self) -> list[str | None]:
        """Names of the test files; None, the development set, where there is none."""
        return list(self.baseline.results[0].test) or [None]


@dataclass(frozen=True)
class Results:
    comparisons: list[Comparison]
    """In the order of `TASKS`."""
    notes: list[str]
    """Runs that are in no comparison, and why."""


def gain(baseline: float, elmo: float) -> tuple[float, float | None]:
    """Points, and percent of the baseline's error (its distance from 100), None where that is none."""
    return elmo - baseline, 100 * (elmo - baseline) / (100 - baseline) if baseline < 100 else None


def is_task_run(path: Path) -> bool:
    """Whether a folder, or the folder of a metrics.jsonl, is of `elmokit train`."""
    return has_format(_folder(path), FORMAT)


def compare_runs(paths: Sequence[Path]) -> Results:
    """Group runs by task, data and settings; each arm with ELMo is compared with the runs without it.

    Word vectors and data are the same if their names (and those of the data's folders) and the numbers of examples are.
    Raises ValueError for files that cannot be read, for two runs of one arm with the same seed, and where no run can be
    compared with another.
    """
    runs = [read_task_run(path) for path in paths]
    notes = [f"{run.path} has not ended" for run in runs if run.result is None]
    groups: dict[str, list[TaskRun]] = {}
    for run in runs:
        if run.result is not None:
            groups.setdefault(_key([run.task, run.common]), []).append(run)
    comparisons: list[Comparison] = []
    for group in groups.values():
        arms = _arms(group)
        baseline = arms.pop(_key({}), None)
        if baseline is None or not arms:
            notes.append(_lone(group, list(groups.values())))
        else:
            comparisons += [_comparison(baseline, arm, list(arms.values())) for arm in arms.values()]
    if not comparisons:
        raise ValueError(f"nothing to compare: {'; '.join(notes)}. Expected ended runs with ELMo and without it")
    names = list(TASKS)
    comparisons.sort(key=lambda one: (names.index(one.task), one.data, one.elmo_name))
    return Results(comparisons, notes)


def read_task_run(path: Path) -> TaskRun:
    """FileNotFoundError or ValueError, naming the file, for what is not a run of a task."""
    folder = _folder(path)
    record = read_record(folder)
    metric = find_task(record.task).metric
    config = config_to_json(record.config)
    inputs, training = config["inputs"], config["training"]
    inputs["word_vectors"] = Path(inputs["word_vectors"]).name
    elmo: dict[str, Any] = inputs.pop("elmo") or {}
    if elmo:
        elmo |= {"model": Path(elmo["model"]).name, "fingerprint": record.fingerprint}
    splits = {"train": record.splits.train, "dev": record.splits.dev, "test": record.splits.test}
    data = {name: [_last_two(file) for file in files] for name, files in splits.items()}
    seed = training.pop("seed")
    settings = {f"{part}.{name}": value for part, values in config.items() for name, value in values.items()}
    return TaskRun(
        path=folder,
        task=record.task,
        seed=seed,
        common={"data": data, "examples": record.counts, **settings},
        elmo=elmo,
        counts=record.counts,
        num_labels=len(record.symbols),
        result=_result(folder / METRICS_NAME, metric),
    )


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _last_two(file: Path) -> str:
    """Folder and name: where the data lie differs from machine to machine."""
    return "/".join(file.parts[-2:])


def _result(path: Path, metric: str) -> RunResult | None:
    """The result in the last whole line; None when the run has not written one yet."""
    records = read_log(path).records
    if not records or records[-1].get("result") is not True:
        return None
    record = records[-1]
    try:
        result = RunResult(
            dev=_scores(record["dev"], metric),
            test={name: _scores(scores, metric) for name, scores in record["test"].items()},
            best_epoch=record["best_epoch"],
            seconds=float(record["seconds"]),
            processor_seconds=float(record["processor_seconds"]) if "processor_seconds" in record else None,
            machine=str(record["machine"]) if "machine" in record else None,
            mixes=record.get("mixes", {}),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}, line {len(records)}: not the result of a run ({error})") from error
    return result


def _scores(scores: Mapping[str, float], metric: str) -> dict[str, float]:
    if metric not in scores:
        raise ValueError(f"the scores {', '.join(scores)} lack {metric}")
    for name, value in scores.items():
        if isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}; expected a number")
    return dict(scores)


def _arms(group: Sequence[TaskRun]) -> dict[str, Arm]:
    seeds: dict[str, dict[int, TaskRun]] = {}
    for run in group:
        arm = seeds.setdefault(_key(run.elmo), {})
        if run.seed in arm:
            raise ValueError(
                f"{arm[run.seed].path} and {run.path} are runs of the same settings and the same seed, {run.seed}; "
                "give one of them"
            )
        arm[run.seed] = run
    return {key: Arm(tuple(arm[seed] for seed in sorted(arm))) for key, arm in seeds.items()}


def _comparison(baseline: Arm, elmo: Arm, rivals: Sequence[Arm]) -> Comparison:
    run = baseline.runs[0]
    own = elmo.runs[0].elmo
    told = [name for name in own if name != "position" and any(arm.runs[0].elmo[name] != own[name] for arm in rivals)]
    name = ", ".join([own["position"], *(f"{name} {own[name]}" for name in told)])
    return Comparison(run.task, find_task(run.task).metric, run.data, name, baseline, elmo)


def _lone(group: Sequence[TaskRun], groups: Sequence[Sequence[TaskRun]]) -> str:
    """What a group of one arm lacks, and how the nearest runs of the other arm differ."""
    run, has_elmo = group[0], bool(group[0].elmo)
    names = ", ".join(str(one.path) for one in group)
    missing = "without" if has_elmo else "with"
    others = [one for rivals in groups for one in rivals if one.task == run.task and bool(one.elmo) != has_elmo]
    differences = [_differences(run.common, other.common) for other in others]
    nearest = min(differences, key=len) if differences else []
    why = f"; the nearest of {run.task} differ in {', '.join(nearest)}" if nearest else ""
    return f"{names}: no run {missing} ELMo of the same data and settings{why}"


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of settings, and both values where these are short."""
    names = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
    return [
        name if isinstance(one.get(name), dict) else f"{name} ({one.get(name)}, not {other.get(name)})"
        for name in names
    ]


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True)
