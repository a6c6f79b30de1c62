"""What the loop, the verbs and `load_task` know of a task: a record of functions. Imports no torch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from elmokit.tasks.config import Splits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from elmokit.tasks.config import TaskConfig
    from elmokit.tasks.inputs import TokenInputs
    from elmokit.tasks.task_model import TaskModel

E = TypeVar("E")  # an example: what a reader gives, for instance a sentence with its tags
P = TypeVar("P")  # a prediction about one example


@dataclass
class Reading(Generic[E]):
    """The examples of a file, and how many there were of each kind that nothing can be done with."""

    examples: list[E]
    skipped: Counter[str] = field(default_factory=lambda: Counter[str]())


@dataclass(frozen=True)
class Task(Generic[E, P]):
    """The six tasks differ in these functions, and in nothing else."""

    name: str
    """As the command line and the folders call it, for instance `named-entities`."""
    metric: str
    """Of `score`'s numbers, the one that says which epoch is best; higher is better, in percent."""
    find: Callable[[Path], Splits]
    """Files of a folder, by the names that its data set gave them; ValueError says which were expected."""
    read: Callable[[Path, Any, bool], Reading[E]]
    """(file, model config, whether for training) -> examples."""
    sentences: Callable[[E], Sequence[Sequence[str]]]
    """Every token list that the model will ask its inputs for: what words there are, and what is cached."""
    symbols: Callable[[Iterable[E]], list[str]]
    """What the model must know of the training set by name, in a fixed order: the labels of most tasks, coreference's
    genres; empty where a task has none."""
    build: Callable[[Any, TokenInputs, Sequence[str]], TaskModel]
    """(model config, inputs, symbols) -> the model, with fresh weights. Imports torch when it is called."""
    score: Callable[[Sequence[E], Sequence[P]], Mapping[str, float]]
    """Names -> numbers, as the official scorer has them."""
    recipes: Mapping[str, Callable[[], TaskConfig]]
    """`paper`: the published sizes. `cpu`: minutes on two cores."""
    model_config: type[Any]
    """Of `TaskConfig.model`."""
    from_text: Callable[[str], E]
    """A line of raw text as an example without labels (tokens by `elmokit.tokenize`); ValueError if it is not one."""
    from_json: Callable[[Mapping[str, Any]], E]
    """The fields of a JSON line as an example without labels, for what a line of text cannot say."""
    to_text: Callable[[E, P], str]
    """The example and its prediction in the format of the field: lines, without the end of the last one. Where a blank
    line ends a sentence, that is the last one."""
    to_json: Callable[[E, P], dict[str, Any]]
    """The same as JSON."""


def find_splits(folder: Path, names: Sequence[tuple[str, str, str]], *, task_name: str) -> Splits:
    """The first of the data sets (train, dev and test file) whose first two files are there; the test file is optional.

    ValueError, with the names, if there is none.
    """
    for train, dev, test in names:
        if (folder / train).is_file() and (folder / dev).is_file():
            held_out = folder / test
            return Splits((folder / train,), (folder / dev,), (held_out,) if held_out.is_file() else ())
    known = "; ".join(", ".join(files) for files in names)
    raise ValueError(f"{folder} has no data set of {task_name}; expected files of one of these names: {known}")


def recipe(task: Task[Any, Any], name: str) -> TaskConfig:
    """ValueError for a name that the task does not have."""
    if name not in task.recipes:
        raise ValueError(f"unknown recipe {name!r} of {task.name}; there are {', '.join(task.recipes)}")
    return task.recipes[name]()
