"""The six tasks by name. A task's module is imported when the task is asked for, so the list does not import torch."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from elmokit.system.messages import did_you_mean
from elmokit.tasks.config import TaskConfig, with_settings
from elmokit.tasks.task import Task, recipe_config

TASKS = {
    "named-entities": "elmokit.tasks.named_entities.task",
    "semantic-roles": "elmokit.tasks.semantic_roles.task",
    "coreference": "elmokit.tasks.coreference.task",
    "entailment": "elmokit.tasks.entailment.task",
    "question-answering": "elmokit.tasks.question_answering.task",
    "sentiment": "elmokit.tasks.sentiment.task",
}
"""Name -> the module that defines the task as `TASK`."""
SHORT_NAMES = {
    "ner": "named-entities",
    "srl": "semantic-roles",
    "coref": "coreference",
    "nli": "entailment",
    "qa": "question-answering",
    "sst": "sentiment",
}
"""What people call them -> name."""


def find_task(name: str) -> Task[Any, Any]:
    """Import the task of that name, or short name (`ner`), in any case.

    Raises ValueError, suggesting the nearest name, if there is none.
    """
    known = name.lower().replace("_", "-")
    known = SHORT_NAMES.get(known, known)
    if known not in TASKS:
        hint = did_you_mean(known, [*TASKS, *SHORT_NAMES])
        raise ValueError(f"no task {name!r}; {hint}the tasks are {named_tasks()}")
    return importlib.import_module(TASKS[known]).TASK


def named_tasks() -> str:
    """The names of all tasks in one line, each followed by its short name, if it has one."""
    short_names = {name: f" ({short})" for short, name in SHORT_NAMES.items()}
    return ", ".join(name + short_names.get(name, "") for name in TASKS)


def task_recipe(task: str, name: str = "cpu", settings: Sequence[str] = ()) -> TaskConfig:
    """The config of a task's recipe (`cpu` trains in minutes, `paper` has the published sizes), changed by `settings`.

    settings: changes written as `field=value`. Raises ValueError for an unknown task, recipe or field, and for a wrong
    value.
    """
    return with_settings(recipe_config(find_task(task), name), settings)
