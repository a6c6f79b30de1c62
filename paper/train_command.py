"""A run's record -> the `elmokit train` command that trains it again. Imports no torch."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import with_settings
from elmokit.tasks.task_runs import last_two
from paper.planned_runs import flat_settings

if TYPE_CHECKING:
    from elmokit.tasks.config import TaskConfig
    from elmokit.tasks.task_runs import TaskRun


def train_command(run: TaskRun) -> str:
    """The command with the nearest recipe and the settings that differ from it, but the seed: `--seed N`, `--run RUN`.

    Data are named with their last folder, word vectors and the folders of biLMs without any.
    """
    config, splits = run.record.config, run.record.splits
    words = ["elmokit", "train", run.record.task, "--run", "RUN"]
    for option, paths in (("--train", splits.train), ("--dev", splits.dev)):
        words += [word for path in paths for word in (option, last_two(path))]
    if run.result is not None and run.result.test:
        words += [word for path in splits.test for word in ("--test", last_two(path))]
    settings = {
        name: _settings(with_settings(recipe(), [f"elmo={_position(config)}"]), config)
        for name, recipe in find_task(run.record.task).recipes.items()
    }
    nearest = min(settings, key=lambda name: len(settings[name]))
    words += ["--recipe", nearest, "--elmo", _position(config), "--seed", "N"]
    return shlex.join([*words, *(["--set", *settings[nearest]] if settings[nearest] else [])])


def _position(config: TaskConfig) -> str:
    return "none" if config.inputs.elmo is None else config.inputs.elmo.position


def _settings(recipe: TaskConfig, config: TaskConfig) -> list[str]:
    """`field=value` for each setting in which a config differs from a recipe with ELMo at the same place."""
    usual = flat_settings(recipe)
    own = {name: value for name, value in flat_settings(config).items() if name != "training.seed"}
    return [f"{name}={_text(name, value)}" for name, value in own.items() if usual[name] != value]


def _text(name: str, value: object) -> str:
    """A value as `--set` reads it."""
    if name in ("inputs.word_vectors", "inputs.elmo.model"):
        return Path(str(value)).name
    return value if isinstance(value, str) else json.dumps(value)
