"""The folder of a run: config.json with everything resolved, and the result at the end of its log. Imports no torch."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from elmokit.files.atomic import check_names
from elmokit.files.json import as_type, picked
from elmokit.files.lines import is_read_once
from elmokit.formats.find import is_model_name, resolve_model, with_fingerprint
from elmokit.runs.folder import CONFIG_NAME, TASK_FORMAT, checked_config, read_config, write_config
from elmokit.runs.log import LoggedRun
from elmokit.system.messages import FormatError, printable
from elmokit.system.paths import expanded
from elmokit.tasks.config import InputConfig, Splits, TaskConfig, TrainingConfig
from elmokit.tasks.data import TaskExamples, digest
from elmokit.tasks.task import E, P, Task, find_task

BEST_FILE = "model.safetensors"
CHECKPOINT_FILE = "checkpoint.safetensors"
VERSION = 2
SPLITS = ("train", "dev", "test")
IF_MODEL_MOVED = "; if it has moved, say where it is: --model M, or elmo_model=M"
IF_DATA_MOVED = "; if the data have moved, say where they are: --data DIR or --train FILE ..., or data=DIR"
MAX_SYMBOLS = 1000
"""A CRF has a number for each pair of them; the data sets of the paper have some hundred at most."""


@dataclass(frozen=True)
class TaskRecord:
    """What config.json says about a run."""

    task: str
    config: TaskConfig
    symbols: list[str]
    """The labels (or genres) of the training set, as `Task.symbols` returns them."""
    splits: Splits
    fingerprint: str | None
    """Fingerprint of the frozen biLM, or of the vectors in its place; None without either."""
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: dict[str, dict[str, int]]())
    """For each split, the number of examples, and of skipped ones by reason."""
    digest: str | None = None
    """That of the examples, by `data.digest`; None for a run that has not recorded it."""
    other_vectors: bool = False
    """Whether vectors of another system stand in ELMo's place; False for a run that has not recorded it."""

    def __post_init__(self) -> None:
        if len(self.symbols) > MAX_SYMBOLS:
            raise ValueError(
                f"symbols has {len(self.symbols):,} entries; expected at most {MAX_SYMBOLS:,} labels of a training "
                "set: are they in another column?"
            )


def with_elmo_model(record: TaskRecord, model: str) -> TaskRecord:
    """The record with the biLM in another place. Raises ValueError for a run without ELMo."""
    inputs = record.config.inputs
    if inputs.elmo is None:
        raise ValueError(
            f"the run has no ELMo, so it cannot read the biLM {printable(model)}; leave out --model, or elmo_model"
        )
    inputs = replace(inputs, elmo=replace(inputs.elmo, model=model))
    return replace(record, config=replace(record.config, inputs=inputs))


def write_record(run_dir: Path, record: TaskRecord) -> None:
    """Write the record as the run's config.json."""
    values = {
        "task": record.task,
        **asdict(record.config),
        "elmo_fingerprint": record.fingerprint,
        "symbols": record.symbols,
        "files": {name: list(map(str, getattr(record.splits, name))) for name in SPLITS},
        "examples": record.counts,
        "digest": record.digest,
        "other_vectors": record.other_vectors,
    }
    write_config(run_dir, values, format=TASK_FORMAT, version=VERSION)


def read_record(run_dir: Path, task: Task[Any, Any] | None = None) -> TaskRecord:
    """Read the record of a run.

    task: the run's task, if it is not one of `TASKS`.
    Raises FileNotFoundError if the folder is not a run, ValueError for a run of another kind or of a later version.
    """
    return record_of(read_config(run_dir), run_dir / CONFIG_NAME, task)


def record_of(config: Mapping[str, Any], where: str | Path, task: Task[Any, Any] | None = None) -> TaskRecord:
    """The record of a config.json that was parsed already. Raises ValueError, naming `where`, as `read_record` does."""
    values = checked_config(config, where=where, format=TASK_FORMAT, version=VERSION, verb="train")
    found = as_type(values, _Config, where=where)
    model = as_type(found.model, (task or find_task(found.task)).model_config, where=where, part="field model")
    return TaskRecord(
        task=found.task,
        config=TaskConfig(model, found.inputs, found.training),
        symbols=found.symbols,
        splits=Splits(*(tuple(map(Path, getattr(found.files, name))) for name in SPLITS)),
        fingerprint=found.elmo_fingerprint,
        counts=found.examples,
        digest=found.digest,
        other_vectors=found.other_vectors,
    )


@dataclass(frozen=True)
class _Files:
    train: list[str]
    dev: list[str]
    test: list[str]


@dataclass(frozen=True)
class _Config:
    """config.json as it is written, without its format and version."""

    task: str
    model: dict[str, Any]
    inputs: InputConfig
    training: TrainingConfig
    elmo_fingerprint: str | None
    symbols: list[str]
    files: _Files
    examples: dict[str, dict[str, Annotated[int, Meta(ge=0)]]]
    digest: str | None = None
    other_vectors: bool = False

    def __post_init__(self) -> None:
        if len(self.symbols) > MAX_SYMBOLS:
            raise ValueError(f"symbols has {len(self.symbols):,} entries; expected at most {MAX_SYMBOLS:,}")


@contextmanager
def named_by(run_dir: Path, *, if_moved: str = "") -> Generator[None]:
    """Errors of what a run's config.json names, its data and its biLM, say that it is named there.

    if_moved: what to do about a file that has moved, for the error of one that is missing.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}{if_moved} (named in {run_dir / CONFIG_NAME})") from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{error} (named in {run_dir / CONFIG_NAME})") from error


def find_data(task: Task[E, P], data: str | Path | Splits) -> Splits:
    """The files of a data set. Raises what `Task.find` does, and ValueError for a file that cannot be read again."""
    splits = data if isinstance(data, Splits) else task.find(expanded(data))
    for path in (*splits.train, *splits.dev, *splits.test):
        if is_read_once(path):
            raise ValueError(f"{path} can be read only once, and a resumed run reads it again; give a file")
        check_names(path.resolve())
    return splits


def moved(
    record: TaskRecord, task: Task[E, P], data: str | Path | Splits | None, elmo_model: str | Path | None
) -> TaskRecord:
    """The record with the places where its files and its biLM are now.

    Raises ValueError for other numbers of files than those of the training and development sets of the run.
    """
    if data is not None:
        splits, before = absolute_splits(find_data(task, data)), record.splits
        if (len(splits.train), len(splits.dev)) != (len(before.train), len(before.dev)):
            names = ", ".join(path.name for path in (*before.train, *before.dev))
            raise ValueError(f"the run began with {names}; say where all of these files are now, or none of them")
        record = replace(record, splits=replace(splits, test=splits.test or record.splits.test))
    return record if elmo_model is None else with_elmo_model(record, absolute_model(str(elmo_model)))


def check_is_unchanged(task: Task[E, P], record: TaskRecord, examples: TaskExamples[E]) -> None:
    """Raise ValueError if the examples are not those that the run began with, as far as it has recorded them."""
    if record.digest not in (None, digest(task, examples), digest(task, examples, labels=False)):
        raise ValueError(
            "the training or development set has changed since the run began; a run is resumed with the files that it "
            "began with"
        )


def absolute_model(model: str) -> str:
    """What config.json says of a biLM: the name of a model, or an absolute path."""
    path = resolve_model(model)
    return model if is_model_name(model) else str(path.resolve())


def absolute_splits(splits: Splits) -> Splits:
    """The files by their absolute paths; files that are links keep their names."""
    return Splits(*(tuple(path.parent.resolve() / path.name for path in getattr(splits, name)) for name in SPLITS))


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
    curve: list[tuple[int, float]] = []
    last: _Line | None = None
    for line in run.records:
        last = picked(line.values, _Line, where=line.where)
        if last.step is not None:
            curve.append((last.step, _of_metric(last.dev, metric, line.where)))
    result = None
    if last is not None and last.result:
        for scores in (last.dev, *last.test.values()):
            _of_metric(scores, metric, run.records[-1].where)
        training = record.config.training
        num_steps = curve[-1][0] if curve else 0
        has_waited = last.epoch - last.best_epoch >= training.patience and num_steps >= training.min_steps
        stopped_by = "patience" if (has_waited if last.converged is None else last.converged) else "max_epochs"
        result = RunResult(
            dev=last.dev,
            test=last.test,
            epoch=last.epoch,
            best_epoch=last.best_epoch,
            seconds=last.seconds,
            machine=last.machine,
            source=None if last.commit is None else f"{last.version}, {last.commit}",
            stopped_by=last.stopped_by or stopped_by,
            mixes={position: LearntMix(mix.gamma, mix.shares or mix.weights) for position, mix in last.mixes.items()},
        )
    diverged = bool(run.records) and "diverged" in run.records[-1].values
    return TaskRun(run.name, run.where, record, result, tuple(curve), diverged)


@dataclass(frozen=True)
class _Mix:
    gamma: float
    shares: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    """What runs before 0.1.0 call the shares."""


@dataclass(frozen=True)
class _Line:
    """What is read of a line of metrics.jsonl, which is an epoch, the result, or about a run that diverged."""

    epoch: int = 0
    step: int | None = None
    best_epoch: int = 0
    dev: dict[str, float] = field(default_factory=dict[str, float])
    test: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    mixes: dict[str, _Mix] = field(default_factory=dict[str, _Mix])
    result: bool = False
    stopped_by: str | None = None
    converged: bool | None = None
    """What runs before 0.1.0 record in place of `stopped_by`."""
    seconds: float = 0.0
    machine: str | None = None
    version: str | None = None
    commit: str | None = None


def _of_metric(scores: Mapping[str, float], metric: str, where: str) -> float:
    if metric not in scores:
        raise FormatError(where, f"has no {metric}; expected the scores of the task")
    return scores[metric]
