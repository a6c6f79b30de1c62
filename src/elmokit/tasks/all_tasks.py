"""The six tasks by name. A task's module is imported when the task is asked for, so the list does not import torch."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from elmokit.system.messages import did_you_mean
from elmokit.tasks.config import TaskConfig, with_settings
from elmokit.tasks.task import Task, recipe_config

TASKS = {
    "named-entities": "ner",
    "semantic-roles": "srl",
    "coreference": "coref",
    "entailment": "nli",
    "question-answering": "qa",
    "sentiment": "sst",
}
"""Name -> short name. The module `task` in the folder of that name defines the task as `TASK`."""


def find_task(name: str) -> Task[Any, Any]:
    """Import the task of that name, or short name (`ner`), in any case.

    Raises ValueError, suggesting the nearest name, if there is none.
    """
    known = name.lower().replace("_", "-")
    for task, short_name in TASKS.items():
        if known in (task, short_name):
            return importlib.import_module(f"elmokit.tasks.{task.replace('-', '_')}.task").TASK
    hint = did_you_mean(known, [*TASKS, *TASKS.values()])
    raise ValueError(f"no task {name!r}; {hint}the tasks are {named_tasks()}")


def named_tasks() -> str:
    """The names of all tasks in one line, each followed by its short name."""
    return ", ".join(f"{name} ({short_name})" for name, short_name in TASKS.items())


def task_recipe(task: str, name: str = "cpu", settings: Sequence[str] = ()) -> TaskConfig:
    """The config of a task's recipe (`cpu` trains in minutes, `paper` has the published sizes), changed by `settings`.

    settings: changes written as `field=value`. Raises ValueError for an unknown task, recipe or field, and for a wrong
    value.
    """
    return with_settings(recipe_config(find_task(task), name), settings)
