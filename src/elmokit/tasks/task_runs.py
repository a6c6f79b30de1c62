"""Runs of tasks, read back: the record in config.json, and the result at the end of the log. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from elmokit.files.json_fields import Fields
from elmokit.formats.names import with_fingerprint
from elmokit.runs.folder import TASK_FORMAT
from elmokit.runs.logged_runs import LoggedRun
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import TrainingConfig
from elmokit.tasks.run_folder import TaskRecord, record_of


@dataclass(frozen=True)
class LearntMix:
    """A scalar mix after training."""

    gamma: float
    """Scale of the mix."""
    shares: tuple[float, ...]
    """Shares of the layers (weights after the softmax), lowest layer first; empty for a single layer."""


@dataclass(frozen=True)
class RunResult:
    """The scores at the end of a run, with the weights of its best epoch, and what it cost."""

    dev: Mapping[str, float]
    test: Mapping[str, Mapping[str, float]]
    """Scores by the name of the test file; empty if the run was not asked for them."""
    epoch: int
    """Number of the last epoch."""
    best_epoch: int
    seconds: float
    """Seconds of training and of evaluating after each epoch."""
    machine: str | None
    """The hardware; None if the run did not record it."""
    source: str | None
    """Version and commit of the package, `0.1.0, 6bd119a38672`; None if the run did not record them."""
    stopped_by: str
    """What ended training: "patience" or "max_epochs"."""
    mixes: Mapping[str, LearntMix]
    """The mixes by position, input or output; empty without ELMo."""


@dataclass(frozen=True)
class TaskRun:
    """A run of a task."""

    name: str
    """Name of the run's folder."""
    where: str
    """The run's folder, or the file and the run in it."""
    record: TaskRecord
    """What the run's config says."""
    result: RunResult | None
    """The result; None if the run has not ended."""
    curve: tuple[tuple[int, float], ...] = ()
    """Updates so far, and the score on the development set that decides the best epoch, after each epoch."""
    diverged: bool = False
    """Whether training ended because a loss or a gradient was not finite."""

    @property
    def seed(self) -> int:
        return self.record.config.training.seed

    @property
    def data(self) -> str:
        """Name of the folder of the training data."""
        return self.record.splits.train[0].parent.name

    @property
    def files(self) -> tuple[Path, ...]:
        """The training and development files, where they were."""
        return (*self.record.splits.train, *self.record.splits.dev)

    @property
    def num_examples(self) -> tuple[int, int]:
        """Numbers of examples in the training and development sets."""
        return self.record.counts["train"]["examples"], self.record.counts["dev"]["examples"]

    @property
    def num_used(self) -> int:
        """Number of training examples that the run uses."""
        counts = self.record.counts["train"]
        return counts.get("used", counts["examples"])

    @property
    def was_improving(self) -> bool:
        """Whether the best epoch is one of the last two, so that more epochs may have helped."""
        return self.result is not None and self.result.best_epoch >= self.result.epoch - 1

    @property
    def model(self) -> str:
        """The biLM, or the system in its place, with its fingerprint: `small-en (d864464f)`; `no ELMo` without one."""
        elmo, fingerprint = self.record.config.inputs.elmo, self.record.fingerprint
        if elmo is None:
            return "no ELMo"
        if not fingerprint:
            return f"{elmo.model} (trained with the task)"
        path = Path(elmo.model)
        return with_fingerprint(path.stem if self.record.other_vectors else path.name, fingerprint)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Settings except the seed and ELMo's, by name: `training.max_epochs`."""
        config = asdict(self.record.config)
        del config["training"]["seed"], config["inputs"]["elmo"]
        return {f"{part}.{name}": value for part, values in config.items() for name, value in values.items()}


def is_task_run(run: LoggedRun) -> bool:
    """Whether `elmokit train` wrote the run."""
    return run.config is not None and run.config.get("format") == TASK_FORMAT


def read_task_run(run: LoggedRun) -> TaskRun:
    """Read a logged run. Raises ValueError, naming the file, if it is not of a task, or its result lacks the metric."""
    if run.config is None:
        raise ValueError(f"{run.where} has no config.json; expected a run of `elmokit train`")
    record = record_of(run.config, run.config_where)
    metric = find_task(record.task).metric
    diverged = bool(run.records) and "diverged" in run.records[-1]
    curve = _curve(run, metric)
    return TaskRun(run.name, run.where, record, _result(run, metric, record.config.training, curve), curve, diverged)


def _curve(run: LoggedRun, metric: str) -> tuple[tuple[int, float], ...]:
    epochs = [line for line in run.lines if "step" in line]
    return tuple((line.integer("step"), line.fields("dev").number(metric)) for line in epochs)


def _result(
    run: LoggedRun, metric: str, training: TrainingConfig, curve: tuple[tuple[int, float], ...]
) -> RunResult | None:
    """The result in the last complete line; None if the run has not written one yet."""
    if not run.records or run.records[-1].get("result") is not True:
        return None
    line = run.lines[-1]
    test = line.fields("test")
    epoch, best_epoch = line.integer("epoch"), line.integer("best_epoch")
    if "stopped_by" in line:
        stopped_by = line.text("stopped_by")
    elif "converged" in line:  # as runs before 0.1.0 say it
        stopped_by = "patience" if line.read("converged", bool) else "max_epochs"
    else:
        has_waited = epoch - best_epoch >= training.patience and bool(curve) and curve[-1][0] >= training.min_steps
        stopped_by = "patience" if has_waited else "max_epochs"
    return RunResult(
        dev=_scores(line.fields("dev"), metric),
        test={name: _scores(test.fields(name), metric) for name in test.names},
        epoch=epoch,
        best_epoch=best_epoch,
        seconds=line.number("seconds"),
        machine=line.text("machine") if "machine" in line else None,
        source=f"{line.text('version')}, {line.text('commit')}" if "commit" in line else None,
        stopped_by=stopped_by,
        mixes=_mixes(line.fields("mixes")) if "mixes" in line else {},
    )


def _scores(scores: Fields, metric: str) -> dict[str, float]:
    scores.value(metric)  # raises if it is missing
    return {name: scores.number(name) for name in scores.names}


def _mixes(mixes: Fields) -> dict[str, LearntMix]:
    learnt: dict[str, LearntMix] = {}
    for position in mixes.names:
        mix = mixes.fields(position)
        name = next((name for name in ("shares", "weights") if name in mix), None)  # before 0.1.0, weights
        shares = mix.read(name, tuple[float, ...]) if name else ()
        learnt[position] = LearntMix(mix.number("gamma", least=-math.inf), shares)
    return learnt
