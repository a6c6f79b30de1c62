"""Planned runs read back by name: arm -> its scores by seed. What the plan does not name is not read."""

from __future__ import annotations

import functools
import statistics
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elmokit.elmo.elmo import Elmo
from elmokit.formats.names import FINGERPRINT_DIGITS
from elmokit.metrics.statistics import Statistic, paired_t
from elmokit.runs.logged_runs import LoggedRun, has_runs, read_runs
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.task_runs import TaskRun, is_task_run, read_task_run
from paper.plan import DATASETS, EARLIER, MODEL, SCALES, Arm, PlannedRun, Setup, flat_settings

NOT_CONVERGED = "not converged"
_RESOLVED = ("inputs.word_dim", "inputs.word_vectors", "inputs.elmo.model")
"""Settings that a run records in another form than it was given."""


@dataclass(frozen=True)
class ArmRuns:
    """The runs of an arm that have ended."""

    metric: str
    """Name of the score that decides the best epoch."""
    runs: tuple[TaskRun, ...]
    """In the order of the seeds."""

    def by_seed(self, test_set: str | None = None) -> dict[int, float]:
        """The score on a test file, or on the whole development set (None), of the runs that have one."""
        results = {run.seed: run.result for run in self.runs if run.result is not None}
        scores = {seed: one.dev if test_set is None else one.test.get(test_set, {}) for seed, one in results.items()}
        return {seed: of_seed[self.metric] for seed, of_seed in scores.items() if self.metric in of_seed}

    def score(self, test_set: str | None = None) -> Statistic | None:
        """Mean and deviation of these scores; None if there are none."""
        values = tuple(self.by_seed(test_set).values())
        return Statistic(values) if values else None

    @property
    def is_converged(self) -> bool:
        """Whether all runs have ended because their scores got no better."""
        return all(run.result is not None and run.result.stopped_by == "patience" for run in self.runs)


@dataclass(frozen=True)
class Evidence:
    """What tables are made from."""

    setup: Setup
    runs: Mapping[str, TaskRun]
    """Runs that have ended, by name."""
    results: Sequence[Path]
    """Files of results, or folders of them."""

    def arm(self, dataset: str, arm: Arm) -> ArmRuns | None:
        """The runs of an arm that are there; None if there are none. Raises ValueError for one of other settings."""
        planned = [run for run in self.setup.runs(dataset, arm) if run.name in self.runs]
        for run in planned:
            check_settings(self.runs[run.name], run)
        runs = tuple(self.runs[run.name] for run in planned)
        return ArmRuns(find_task(DATASETS[dataset].task).metric, runs) if runs else None


def make_setup(data_dir: Path, *, scale: str = "cpu", model: str = MODEL, seeds: int | None = None) -> Setup:
    """The setup of a plan. seeds: their number, from 0; None stands for that of the scale.

    Raises ValueError for less than one, and FileNotFoundError for a model that is not there.
    """
    if seeds is not None and seeds < 1:
        raise ValueError(f"{seeds} seeds; expected at least 1")
    found = SCALES[scale]
    return Setup(found, data_dir, model, fingerprint_of(model), tuple(range(found.seeds if seeds is None else seeds)))


def with_model(setup: Setup, model: str) -> Setup:
    """The same of another biLM."""
    return replace(setup, model=model, fingerprint=fingerprint_of(model))


def setups_by_model(setup: Setup, models: Iterable[str]) -> dict[str, Setup]:
    """The setups of biLMs, MODEL among them, that a table has side by side; the setup alone if it is of another."""
    named = {MODEL: setup}
    return named if setup.model != MODEL else named | {one: with_model(setup, one) for one in {*models} - {MODEL}}


@functools.cache
def fingerprint_of(model: str) -> str:
    """The first digits of a biLM's fingerprint; one of EARLIER need not be there. Raises FileNotFoundError."""
    known = EARLIER.get(model)
    return known[1] if known else Elmo.from_pretrained(model).fingerprint()[:FINGERPRINT_DIGITS]


def read_evidence(setup: Setup, paths: Sequence[Path]) -> Evidence:
    """Read the runs of tasks at the paths, or in the folders in them, as results are read by each table.

    Raises ValueError for two runs of one name with different contents, and for what cannot be read.
    """
    found: dict[str, LoggedRun] = {}
    runs: dict[str, TaskRun] = {}
    deeper = [[path] if has_runs(path) else sorted(filter(Path.is_dir, path.glob("*"))) for path in paths]
    for logged in read_runs([path for within in deeper for path in within if has_runs(path)]):
        run = read_task_run(logged) if is_task_run(logged) else None
        if run is not None and run.result is not None:
            known = found.setdefault(run.name, logged)
            if (known.config, known.records) != (logged.config, logged.records):
                raise ValueError(f"{known.where} and {run.where} are different runs of one name; give one of them")
            runs[run.name] = run
    if others := {run.seed for run in runs.values()} - {*setup.seeds}:
        warnings.warn(f"there are runs of more seeds; --seeds {max(others) + 1} reads them, too", stacklevel=2)
    return Evidence(setup, runs, paths)


def check_settings(found: TaskRun, planned: PlannedRun) -> None:
    """Raise ValueError if a run that was found under a planned name has other settings, or another biLM."""
    before, now = flat_settings(found.record.config), flat_settings(planned.config)
    names = [name for name in now if name not in _RESOLVED and before.get(name) != now[name]]
    names += ["the biLM"] if not (found.record.fingerprint or "").startswith(planned.fingerprint) else []
    if found.record.task != planned.task or names:
        raise ValueError(
            f"{found.where} holds a run with other settings ({', '.join(names) or 'task'}); move it away, or give "
            "another folder"
        )


def gains_by_seed(first: ArmRuns | None, second: ArmRuns | None, *, test_set: str | None = None) -> dict[int, float]:
    """The gain of the second arm for each seed of which both have the score; none of an arm that is not there."""
    before, after = (arm.by_seed(test_set) if arm else {} for arm in (first, second))
    return {seed: after[seed] - score for seed, score in before.items() if seed in after}


def gain_text(first: ArmRuns | None, second: ArmRuns | None, *, test_set: str | None = None) -> str | None:
    """The mean gain with its 95 % interval, or `one seed`, as a cell; None where it is not measured."""
    gains = list(gains_by_seed(first, second, test_set=test_set).values())
    if len(gains) == 1:
        return f"{gains[0]:+.2f} (one seed)"
    return str(paired_t(gains)) if gains else None


def measured_on(arms: Sequence[ArmRuns], *words: str) -> str:
    """Data, number of training examples, biLM, seeds, and whether runs have not converged, in words.

    Raises ValueError for runs of different data, which no row may compare.
    """
    runs = [run for arm in arms for run in arm.runs]
    if others := [run for run in runs if _data(run) != _data(runs[0])]:
        raise ValueError(f"{runs[0].where} and {others[0].where} are of different data, so they are not compared")
    with_elmo = next((run for run in runs if run.record.config.inputs.elmo is not None), runs[0])
    num_used = max(run.num_used for run in runs)
    numbers = sorted({len(arm.runs) for arm in arms})
    seeds = f"{' or '.join(map(str, numbers))} seed{'' if numbers == [1] else 's'}"
    unconverged = () if all(arm.is_converged for arm in arms) else (NOT_CONVERGED,)
    parts = (with_elmo.data, f"{num_used:,} training examples", with_elmo.model, *words, seeds, *unconverged)
    return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class Tested:
    """An arm without ELMo and one with it, with the seeds of which both have a test score."""

    task: str
    """Name of the data set."""
    words: str
    """What tells it from other pairs of its task."""
    none: ArmRuns
    elmo: ArmRuns

    @property
    def test_set(self) -> str:
        return DATASETS[self.task].test_set

    @property
    def measured_on(self) -> str:
        elmo = self.elmo.runs[0].record.config.inputs.elmo
        return measured_on([self.none, self.elmo], f"at {elmo.position}" if elmo else "", self.words)

    @property
    def gain(self) -> float:
        """In points."""
        gains = gains_by_seed(self.none, self.elmo, test_set=self.test_set)
        return statistics.fmean(gains.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The test set and the names of the runs, by which `bootstrap.item_records` knows the pair."""
        return (self.test_set, *(",".join(run.name for run in arm.runs) for arm in (self.none, self.elmo)))


def _data(run: TaskRun) -> tuple[object, ...]:
    """The names of the files, and how many examples they have; how many of them are used follows from settings."""
    return run.data, [path.name for path in run.files], run.num_examples
