"""Reads a task's examples from its files, and reports on stderr how many it skipped."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic

from elmokit.system.messages import distinct_names, first_token, join_names, printable
from elmokit.system.paths import expanded
from elmokit.tasks.config import Splits, TaskConfig, TrainingConfig
from elmokit.tasks.task import E, P, Reading, Task, find_task

DEV_SHARE = 0.1
"""Share of the training files to hold out if there is no development file and the config does not set a share."""

Sentences = list[tuple[str, ...]]


@dataclass(frozen=True)
class TaskExamples(Generic[E]):
    """The examples of a data set; `test` has a list for each file, by its name."""

    train: list[E]
    dev: list[E]
    test: dict[str, list[E]]
    counts: dict[str, dict[str, int]]
    """For each split, or test file, the number of examples, and of skipped examples by reason."""


def read_data(task: Task[E, P], splits: Splits, config: TaskConfig) -> TaskExamples[E]:
    """Read all files, and choose the training examples to use. Raises ValueError for a split without examples."""
    if config.training.dev_share:
        train, dev = _set_apart(task, (*splits.train, *splits.dev), config)
    else:
        train = read_files(task, splits.train, config.model, name="train", training=True)
        dev = read_files(task, splits.dev, config.model, name="dev")
    names = distinct_names(splits.test)
    test = {
        name: read_files(task, [path], config.model, name=f"test {name}")
        for name, path in zip(names, splits.test, strict=True)
    }
    counts = {"train": _counts(train), "dev": _counts(dev)}
    counts |= {f"test {name}": _counts(reading) for name, reading in test.items()}
    used = _used(train.examples, config.training)
    if len(used) < len(train.examples):
        counts["train"]["used"] = len(used)
    return TaskExamples(used, dev.examples, {name: reading.examples for name, reading in test.items()}, counts)


def read_files(
    task: Task[E, P], files: Iterable[Path], model_config: Any, *, name: str, training: bool = False
) -> Reading[E]:
    """Read several files as one. Messages on stderr call them `name`. Raises ValueError if they have no examples."""
    files = list(files)
    together = Reading[E]([], Counter())
    for path in files:
        reading = task.read(path, model_config, training)
        together.examples.extend(_of_several_documents(reading.examples))
        together.skipped.update(reading.skipped)
    report_skipped(name, together.skipped)
    if not together.examples:
        raise ValueError(f"no examples in {', '.join(map(str, files)) or f'{name}: it has no files'}")
    return together


def _of_several_documents(examples: list[Any]) -> list[Any]:
    """Remove the document of a file's examples if all share one, so that its sentences can be held out separately."""
    documents = {getattr(example, "document", "") for example in examples}
    if len(documents) > 1 or "" in documents:
        return examples
    return [replace(example, document="") for example in examples]


def report_skipped(name: str, skipped: Mapping[str, int]) -> None:
    for reason, number in skipped.items():
        print(f"{name}: skipped {number:,}: {reason}", file=sys.stderr)


def dev_in_use(examples: Sequence[E], config: TrainingConfig) -> Sequence[E]:
    """The examples of the development set that are scored while training."""
    limit = config.max_dev_examples
    if not 0 < limit < len(examples):
        return examples
    if config.spread_dev:
        return [examples[index * len(examples) // limit] for index in range(limit)]
    return examples[:limit]


def report_on(task: Task[E, P], data: TaskExamples[E], *, test: bool) -> None:
    """Report on stderr the labels that only held-out data of a new run have; `test`: check its test sets too.

    Raises ValueError if all training examples have the same label.
    """
    symbols = task.symbols(data.train)
    if task.symbols_are_labels and len(symbols) == 1:
        raise ValueError(f"all training examples have the label {first_token(symbols[0])}; expected at least two")
    report_foreign_labels(task, {"the development set": data.dev} | (data.test if test else {}), symbols)


def _set_apart(task: Task[E, P], files: Sequence[Path], config: TaskConfig) -> tuple[Reading[E], Reading[E]]:
    """Split the same files into training and development set by `dev_share`, each read for its purpose."""
    group = task.keep_together
    dev = read_files(task, files, config.model, name="training and development files")
    train = read_files(task, files, config.model, name="train", training=True)
    groups = list(dict.fromkeys(map(group, dev.examples)))
    share = config.training.dev_share
    chosen = [index for index in range(len(groups)) if int((index + 1) * share) > int(index * share)]
    if config.training.random_dev:
        drawn = random.Random("dev")  # not the training seed, so that all seeds are scored on the same set
        chosen = [drawn.randint(before + 1, last) for before, last in pairwise([-1, *chosen])]
    apart = {groups[index] for index in chosen}
    train_examples = [example for example in train.examples if group(example) not in apart]
    if not apart or not train_examples:
        raise ValueError(
            f"there are too few documents or sentences ({len(groups)}) to hold out {share:.0%} of them as the "
            "development set; give a development file: --dev FILE, or data=Splits(train=..., dev=...)"
        )
    dev_examples = [example for example in dev.examples if group(example) in apart]
    return Reading(train_examples, train.skipped), Reading(dev_examples)


def report_foreign_labels(task: Task[E, P], parts: Mapping[str, Iterable[E]], known: Iterable[str]) -> None:
    """Report on stderr, by name, each part that has no labels, or labels that the model does not know."""
    if not task.symbols_are_labels:
        return
    learnt = {*task.label_names(known)}
    for name, examples in parts.items():
        found = {*task.label_names(task.symbols(examples))}
        foreign = found - learnt
        if learnt and (foreign or not found):
            right = "these cannot be right" if found & learnt else "none in common, so nothing can be right"
            labels = f"the labels {join_names(sorted(foreign))}" if foreign else "no labels"
            model = f"the model knows {join_names(sorted(learnt))}"
            print(f"{printable(name)} has {labels}, and {model}: {right}", file=sys.stderr)


def _used(examples: list[E], config: TrainingConfig) -> list[E]:
    """Choose `train_share` of the examples, then at most `max_train_examples` of these, in the order of the file."""
    if config.train_share < 1:
        order = list(range(len(examples)))
        random.Random(f"share {config.seed}").shuffle(order)
        examples = [examples[index] for index in sorted(order[: max(1, round(config.train_share * len(order)))])]
    if 0 < config.max_train_examples < len(examples):
        chosen = random.Random(config.seed).sample(range(len(examples)), config.max_train_examples)
        examples = [examples[index] for index in sorted(chosen)]
    return examples


def sentences_of(task: Task[E, P], data: TaskExamples[E]) -> tuple[Sentences, Sentences]:
    """The distinct sentences of the training set, and the sentences that only the other sets have."""
    held_out = [example for part in (data.dev, *data.test.values()) for example in part]
    training = {tuple(sentence): None for example in data.train for sentence in task.sentences(example)}
    others = {tuple(sentence): None for example in held_out for sentence in task.sentences(example)}
    return list(training), [sentence for sentence in others if sentence not in training]


def digest(task: Task[E, P], data: TaskExamples[E], *, labels: bool = True) -> str:
    """A SHA-256 (hex) of the training and development sets. It covers the compared fields of the examples, in order.

    labels: False gives the digest of earlier versions, which covers only the sentences and the names of the labels.
    """
    found = hashlib.sha256()
    for part in (data.train, data.dev):
        for example in part:
            found.update(json.dumps([list(sentence) for sentence in task.sentences(example)]).encode())
            if labels and is_dataclass(example):
                found.update(repr([getattr(example, each.name) for each in fields(example) if each.compare]).encode())
        found.update(json.dumps(task.symbols(part)).encode())
    return found.hexdigest()


def task_sentences(task: Task[E, P] | str, data: str | Path | Splits, config: TaskConfig) -> Sentences:
    """Every distinct sentence that a run on a folder, or on files, needs vectors for (see `FileVectorSource`).

    Sentences of the training set come first. Raises ValueError or OSError for files that cannot be read.
    """
    task = find_task(task) if isinstance(task, str) else task
    splits = data if isinstance(data, Splits) else task.find(expanded(data))
    training, others = sentences_of(task, read_data(task, splits, with_development_set(config, splits)))
    return [*training, *others]


def with_development_set(config: TaskConfig, splits: Splits) -> TaskConfig:
    """The config; without development files, it holds out a random share of the training data."""
    if splits.dev:
        return config
    if not config.training.dev_share:
        print(f"no development file: {DEV_SHARE:.0%} of the training data is held out (dev_share)", file=sys.stderr)
    share = config.training.dev_share or DEV_SHARE
    return replace(config, training=replace(config.training, dev_share=share, random_dev=True))


def _counts(reading: Reading[E]) -> dict[str, int]:
    return {"examples": len(reading.examples), **reading.skipped}
