"""The text of a task's data set as files for the biLM: one tokenised sentence per line, without the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elmokit.files.atomic import atomic_write
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.reading import read_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from elmokit.tasks.config import TaskConfig
    from elmokit.tasks.task import Task

_PARTS = {"question-answering": ("contexts", "questions")}
"""The names of an example's sentences, in their order, where the paper measures them apart."""


@dataclass(frozen=True)
class TaskTexts:
    """Files with the distinct sentences of a data set."""

    train: Path
    dev: Mapping[str, Path]
    """By the name of the part: contexts and questions of question answering, and an empty name otherwise."""
    num_predictions: int
    """Tokens of the training text, and one end for each sentence."""


def write_task_texts(name: str, data: Path, config: TaskConfig, folder: Path) -> TaskTexts:
    """Write the training and the development text of a task. Raises ValueError and OSError for unreadable data."""
    task = find_task(name)
    splits = task.find(data)
    folder.mkdir(parents=True, exist_ok=True)
    train = _examples(task, splits.train, config, split="train")
    dev = _examples(task, splits.dev, config, split="dev")
    sentences = _distinct(sentence for example in train for sentence in task.sentences(example))
    parts = {part: folder / f"dev-{part or 'text'}.txt" for part in _PARTS.get(name, ("",))}
    for number, (part, path) in enumerate(parts.items()):
        chosen = slice(number, number + 1) if part else slice(None)
        _write(path, _distinct(sentence for example in dev for sentence in task.sentences(example)[chosen]))
    _write(folder / "train.txt", sentences)
    return TaskTexts(folder / "train.txt", parts, sum(len(sentence) + 1 for sentence in sentences))


def _examples(task: Task[Any, Any], files: Sequence[Path], config: TaskConfig, *, split: str) -> list[Any]:
    return read_files(task, files, config.model, name=split, training=split == "train").examples


def _distinct(sentences: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tuple(sentence) for sentence in sentences if sentence))


def _write(path: Path, sentences: Iterable[Sequence[str]]) -> None:
    with atomic_write(path) as unfinished:
        unfinished.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
