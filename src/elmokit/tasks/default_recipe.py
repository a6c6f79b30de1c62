"""The settings of a run and its data: where no recipe is given, Korean data gets a Korean one."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from elmokit.formats.names import bundled_models
from elmokit.tasks.config import with_settings
from elmokit.tasks.reading import TaskExamples, read_data, with_development_set
from elmokit.tasks.task import E, P, Task, recipe_config
from elmokit.text.scripts import script_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.tasks.config import Splits, TaskConfig

DEFAULT_RECIPE, KOREAN_RECIPE = "cpu", "cpu-ko"
KOREAN_MODEL, KOREAN_SCRIPT = "mini-ko", "HANGUL"
NUM_EXAMPLES_LOOKED_AT = 200
"""Examples that show in which script the training data is written."""


def config_and_data(
    task: Task[E, P], splits: Splits, config: TaskConfig | None, settings: Sequence[str]
) -> tuple[TaskConfig, TaskExamples[E]]:
    """The config to train with, and the examples as it reads them. Without a config it is a recipe, with `settings`.

    That is `cpu`; for training data that is mostly in Hangul it is `cpu-ko`, or, for a task that has no such recipe,
    `cpu` with the Korean biLM. stderr says so. Settings of the user come after all of this.
    """
    if config is not None and settings:
        raise ValueError("settings change the recipe of a task; with a config, change the config (`task_recipe`)")
    if config is not None and not isinstance(config.model, task.model_config):
        raise ValueError(
            f"the config is not of {task.name}: its model is a {type(config.model).__name__}; expected a "
            f"{task.model_config.__name__} (`task_recipe({task.name!r})` makes one)"
        )
    chosen = with_settings(recipe_config(task, DEFAULT_RECIPE), settings) if config is None else config
    chosen = with_development_set(chosen, splits)
    data = read_data(task, splits, chosen)
    if config is not None or not _is_korean(task, data.train):
        return chosen, data
    dev_share = chosen.training.dev_share
    korean = _korean_config(task, settings)
    korean = replace(korean, training=replace(korean.training, dev_share=dev_share))
    return korean, data if _reads_alike(korean, chosen) else read_data(task, splits, korean)


def _korean_config(task: Task[E, P], settings: Sequence[str]) -> TaskConfig:
    what = "most of the training data is written in Hangul"
    if KOREAN_RECIPE in task.recipes:
        print(
            f"{what}: the recipe is {KOREAN_RECIPE} (for another one: --recipe {DEFAULT_RECIPE}, or config=...)",
            file=sys.stderr,
        )
        return with_settings(recipe_config(task, KOREAN_RECIPE), settings)
    recipe = recipe_config(task, DEFAULT_RECIPE)
    if recipe.inputs.elmo is None or KOREAN_MODEL not in bundled_models():
        print(f"{what}; {task.name} has no Korean recipe, and {KOREAN_MODEL} is not installed", file=sys.stderr)
        return with_settings(recipe, settings)
    if with_settings(recipe, settings).inputs.elmo is not None:
        print(
            f"{what}: ELMo's vectors are those of {KOREAN_MODEL}, unless --model, or elmo.model=M, says otherwise; "
            f"{task.name} has no Korean recipe, so the other settings are those of {DEFAULT_RECIPE}, for English",
            file=sys.stderr,
        )
    return with_settings(recipe, [f"elmo.model={KOREAN_MODEL}", *settings])


def _is_korean(task: Task[E, P], examples: Sequence[E]) -> bool:
    some = islice(examples, NUM_EXAMPLES_LOOKED_AT)
    tokens = (token for example in some for sentence in task.sentences(example) for token in sentence)
    counts = script_counts(tokens)
    return 2 * counts[KOREAN_SCRIPT] > counts.total()


def _reads_alike(one: TaskConfig, other: TaskConfig) -> bool:
    """Whether the two configs read the same examples from the same files."""
    names = ("max_train_examples", "train_share", "seed")
    same = all(getattr(one.training, name) == getattr(other.training, name) for name in names)
    return same and one.model == other.model
