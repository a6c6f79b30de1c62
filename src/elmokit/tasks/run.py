"""What the config.json in the folder of a run says, with everything resolved. Imports no torch."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from elmokit.files.atomic import check_names
from elmokit.files.json import as_type
from elmokit.files.lines import is_read_once
from elmokit.formats.find import is_model_name, resolve_model
from elmokit.runs.folder import CONFIG_NAME, TASK_FORMAT, checked_config, read_config, write_config
from elmokit.system.messages import printable
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
    """Whether vectors of another system are used in place of ELMo's; False for a run that has not recorded it."""

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
    values = checked_config(config, where=where, format=TASK_FORMAT, version=VERSION, command="train")
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

    Raises ValueError if the run began with another number of training or development files.
    """
    if data is not None:
        splits, before = absolute_splits(find_data(task, data)), record.splits
        if (len(splits.train), len(splits.dev)) != (len(before.train), len(before.dev)):
            names = ", ".join(path.name for path in (*before.train, *before.dev))
            raise ValueError(f"the run began with {names}; say where all of these files are now, or none of them")
        record = replace(record, splits=replace(splits, test=splits.test or record.splits.test))
    return record if elmo_model is None else with_elmo_model(record, absolute_model(str(elmo_model)))


def check_is_unchanged(task: Task[E, P], record: TaskRecord, examples: TaskExamples[E]) -> None:
    """Raise ValueError if the examples have changed since the run began and recorded their digest."""
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
