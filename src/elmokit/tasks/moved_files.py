"""Where the data and the biLM of a task's run are, as config.json names them, and where they are when it is resumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from elmokit.files.atomic import check_names
from elmokit.files.lines import is_read_once
from elmokit.formats.names import is_model_name, resolve_model
from elmokit.tasks.config import Splits
from elmokit.tasks.reading import TaskExamples, digest
from elmokit.tasks.run_folder import TaskRecord, with_elmo_model
from elmokit.tasks.task import E, P, Task


def find_data(task: Task[E, P], data: str | Path | Splits) -> Splits:
    """The files of a data set. Raises what `Task.find` does, and ValueError for a file that cannot be read again."""
    splits = data if isinstance(data, Splits) else task.find(Path(data).expanduser())
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
    """Raise ValueError if the sentences are not those that the run began with, as far as it has recorded them."""
    if record.digest not in (None, digest(task, examples)):
        before, now = (counts.get("train", {}).get("examples", 0) for counts in (record.counts, examples.counts))
        numbers = f": {before:,} training examples then, {now:,} now" if before != now else ""
        raise ValueError(
            f"the training or development set has changed since the run began{numbers}; a run is resumed with the "
            "files that it began with"
        )


def absolute_model(model: str) -> str:
    """What config.json says of a biLM: the name of a model, or an absolute path."""
    path = resolve_model(model)
    return model if is_model_name(model) else str(path.resolve())


def absolute_splits(splits: Splits) -> Splits:
    """The files by their absolute paths."""
    train, dev, test = (tuple(path.resolve() for path in files) for files in (splits.train, splits.dev, splits.test))
    return Splits(train, dev, test)
