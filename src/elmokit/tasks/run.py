"""The config.json in a run's folder, with everything resolved. Imports no torch."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from elmokit.files.atomic import check_names
from elmokit.files.json import as_type
from elmokit.files.lines import is_read_once
from elmokit.runs.folder import CONFIG_NAME, TASK_FORMAT, checked_config, read_config, write_config
from elmokit.system.messages import printable
from elmokit.system.paths import expanded
from elmokit.tasks.config import InputConfig, Splits, TaskConfig, TrainingConfig
from elmokit.tasks.task import E, P, Task, find_task

BEST_FILE = "model.safetensors"
CHECKPOINT_FILE = "checkpoint.safetensors"
VERSION = 2
MAX_SYMBOLS = 1000
"""A CRF has a weight for each pair of symbols. The data sets of the paper have about a hundred symbols at most."""


@dataclass(frozen=True)
class TaskRecord:
    """The fields of a run's config.json."""

    task: str
    model: Any
    """The task's own frozen dataclass, as in `TaskConfig`."""
    inputs: InputConfig
    training: TrainingConfig
    elmo_fingerprint: str | None
    """Fingerprint of the frozen biLM, or of the vectors used instead; None without either."""
    symbols: list[str]
    """The labels (or genres) of the training set, as `Task.symbols` returns them."""
    files: Splits
    examples: dict[str, dict[str, Annotated[int, Meta(ge=0)]]]
    """For each split, the number of examples, and of skipped examples by reason."""
    digest: str | None = None
    """`data.digest` of the examples; None for a run that has not recorded it."""
    other_vectors: bool = False
    """Whether another system's vectors are used instead of ELMo's; False for a run that has not recorded it."""

    def __post_init__(self) -> None:
        if len(self.symbols) > MAX_SYMBOLS:
            raise ValueError(
                f"symbols has {len(self.symbols):,} entries; expected at most {MAX_SYMBOLS:,} labels of a training "
                "set: are they in another column?"
            )

    @property
    def config(self) -> TaskConfig:
        return TaskConfig(self.model, self.inputs, self.training)

    def with_elmo_model(self, model: str) -> TaskRecord:
        """The record with another name or path of the biLM. Raises ValueError for a run without ELMo."""
        if self.inputs.elmo is None:
            raise ValueError(
                f"the run has no ELMo, so it cannot read the biLM {printable(model)}; leave out --model, or elmo_model"
            )
        return replace(self, inputs=replace(self.inputs, elmo=replace(self.inputs.elmo, model=model)))

    def with_files(self, files: Splits) -> TaskRecord:
        """The record with the new paths of its files. If `files` has no test files, it keeps the old ones.

        Raises ValueError if the run began with a different number of training or development files.
        """
        before = self.files
        if (len(files.train), len(files.dev)) != (len(before.train), len(before.dev)):
            names = ", ".join(path.name for path in (*before.train, *before.dev))
            raise ValueError(f"the run began with {names}; say where all of these files are now, or none of them")
        return replace(self, files=replace(files, test=files.test or before.test))


def write_record(run_dir: Path, record: TaskRecord) -> None:
    files = {split: list(map(str, paths)) for split, paths in vars(record.files).items()}
    write_config(run_dir, asdict(record) | {"files": files}, format=TASK_FORMAT, version=VERSION)


def read_record(run_dir: Path, task: Task[Any, Any] | None = None) -> TaskRecord:
    """Read what `write_record` wrote.

    task: the run's task, if it is not one of `TASKS`.
    Raises FileNotFoundError if the folder is not a run, ValueError for a run of another kind or of a later version.
    """
    return record_of(read_config(run_dir), run_dir / CONFIG_NAME, task)


def record_of(config: Mapping[str, Any], where: str | Path, task: Task[Any, Any] | None = None) -> TaskRecord:
    """The record of an already parsed config.json. Raises ValueError, naming `where`, as `read_record` does."""
    values = checked_config(config, where=where, format=TASK_FORMAT, version=VERSION, command="train")
    record = as_type(values, TaskRecord, where=where)
    model_config = (task or find_task(record.task)).model_config
    return replace(record, model=as_type(record.model, model_config, where=where, part="field model"))


@contextmanager
def named_by(run_dir: Path, *, unless: object, if_moved: str = "") -> Generator[None]:
    """Add to errors about a run's data or biLM that its config.json names them.

    unless: what the user gave instead; if it is not None, errors stay as they are.
    if_moved: advice about a file that has moved, for the error about a missing file.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        if unless is not None:
            raise
        named = f"(named in {run_dir / CONFIG_NAME})"
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f"{error}{if_moved} {named}") from error
        raise ValueError(f"{error} {named}") from error


def find_data(task: Task[E, P], data: str | Path | Splits) -> Splits:
    """The files of a data set. Raises what `Task.find` raises, and ValueError for a file that can be read only once."""
    splits = data if isinstance(data, Splits) else task.find(expanded(data))
    for path in splits.paths:
        if is_read_once(path):
            raise ValueError(f"{path} can be read only once, and a resumed run reads it again; give a file")
        check_names(path.resolve())
    return splits
