"""`TaskConfig` from and to JSON, and `field=value` settings on top of one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from elmokit.runs.settings import change_settings, check_known
from elmokit.tasks.inputs import InputConfig
from elmokit.tasks.task import TaskConfig, TrainingConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elmokit.tasks.task import Task


def with_settings(config: TaskConfig, settings: Sequence[str]) -> TaskConfig:
    """Settings of the model, the inputs and the training, such as `learning_rate=0.01` or `model.dropout_rate=0.3`.

    ValueError, naming the setting, for unknown fields, fields that two of the three have, and wrong values.
    """
    parts = {"model": config.model, "inputs": config.inputs, "training": config.training}
    return TaskConfig(**change_settings(parts, settings))


def recipe(task: Task[Any, Any], name: str) -> TaskConfig:
    """ValueError for a name that the task does not have."""
    if name not in task.recipes:
        raise ValueError(f"unknown recipe {name!r} of {task.name}; there are {', '.join(task.recipes)}")
    return task.recipes[name]()


def config_to_json(config: TaskConfig) -> dict[str, Any]:
    return dataclasses.asdict(config)


def config_from_json(record: Mapping[str, Any], model_config: type[Any]) -> TaskConfig:
    """What `config_to_json` wrote; unknown fields are errors, and missing ones have their defaults."""
    return TaskConfig(
        model=_part(record["model"], model_config),
        inputs=_part(record["inputs"], InputConfig),
        training=_part(record["training"], TrainingConfig),
    )


def _part(values: Mapping[str, Any], kind: type[Any]) -> Any:
    for name in values:
        check_known(name, [entry.name for entry in dataclasses.fields(kind)])
    return kind(**{name: _tuples(value) for name, value in values.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, cast("list[Any]", value))) if isinstance(value, list) else value
