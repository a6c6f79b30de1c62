"""The training runs that a table needs, as data: task, settings, seed, and the name of each run's folder.

A name follows from what differs from the recipe, so tables that need the same run share it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elmokit.tasks.all_tasks import task_recipe
from elmokit.tasks.config import config_to_json, with_settings
from paper.data_folders import unpacked
from paper.scales import TASK_DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Any

    from elmokit.tasks.config import TaskConfig
    from paper.scales import Scale

BASELINE_SHARE = 0.5
"""CPU seconds of a run without ELMo, as a share of those of a run with it: 0.33 (SNLI), 0.41 (SST-5) and 0.65 (SQuAD)
in the runs of `TaskData.seconds`."""
CONVERGED_EPOCHS = 20
"""Epochs of a run that ends when it gets no better: the mean of 18 in experiments/2026-11-22-reproduce, 15 to 24."""
FINETUNING_SECONDS = 300.0
"""CPU seconds of fine-tuning `mini-en` on a task's text and measuring perplexities: experiments/LOG.md, 2026-11-21."""


@dataclass(frozen=True)
class PlannedModel:
    """A biLM that is made before the runs that use it."""

    kind: str
    """random (new weights of the same sizes) or finetuned (one epoch on the training text of `task`)."""
    start: str
    """The model whose sizes it has, or whose weights it starts from."""
    start_fingerprint: str
    task: str = ""
    data: Path | None = None
    """The folder of the data set whose text it is fine-tuned on."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return "-".join(part for part in (self.kind, self.start_fingerprint, self.task) if part)

    def used_in(self, config: TaskConfig, folder: Path) -> TaskConfig:
        """A config that reads the model, which is in that folder."""
        return with_settings(config, [f"elmo.model={folder}"])


@dataclass(frozen=True)
class PlannedRun:
    """A run of `elmokit train`."""

    name: str
    """Name of its folder."""
    task: str
    data: Path
    """Folder of the data set."""
    config: TaskConfig
    model: PlannedModel | None
    """The biLM, if it has to be made; it takes the place of the config's."""
    scores_tests: bool
    """Whether the test files are scored."""
    seconds: float
    """Estimate of the CPU seconds on one core of an EPYC."""


@dataclass(frozen=True)
class Setup:
    """What all runs of a plan share."""

    scale: Scale
    data_dir: Path
    """Folder of all data."""
    model: str
    """The biLM: name of a bundled model, or a path."""
    fingerprint: str
    """The first digits of its fingerprint."""
    seeds: tuple[int, ...]

    def data(self, task: str) -> Path:
        """The folder of a task's data set."""
        return unpacked(self.data_dir / TASK_DATA[task].folder)

    def config(self, task: str, settings: Sequence[str] = (), *, recipe: str | None = None) -> TaskConfig:
        """The scale's config of a task, changed by settings."""
        vectors = self.data_dir / self.scale.word_vectors[task]
        word_vectors = unpacked(vectors.parent) / vectors.name
        own = (f"word_vectors={word_vectors}", f"elmo.model={self.model}", *self.scale.settings.get(task, ()))
        return task_recipe(task, recipe or self.scale.recipe, [*own, *settings])

    def runs(
        self,
        task: str,
        *settings: str,
        model: PlannedModel | None = None,
        recipe: str | None = None,
        tests: bool = False,
    ) -> list[PlannedRun]:
        """A run for each seed of a task with the scale's config, changed by `settings`."""
        config = self.config(task, settings, recipe=recipe)
        recipes = () if recipe in (None, self.scale.recipe) else (recipe,)
        words = (task, self.scale.name, *recipes, *self._arm(config, self.config(task, recipe=recipe), model))
        return [
            PlannedRun(
                name="-".join(map(str, (*words, seed))),
                task=task,
                data=self.data(task),
                config=with_settings(config, [f"seed={seed}"]),
                model=model,
                scores_tests=tests,
                seconds=_seconds(task, config),
            )
            for seed in self.seeds
        ]

    def _arm(self, config: TaskConfig, base: TaskConfig, model: PlannedModel | None) -> list[str]:
        """Words for the biLM, or `none`, and for each setting that differs from the recipe."""
        if config.inputs.elmo is None:
            base = replace(base, inputs=replace(base.inputs, elmo=None))
            return ["none", *_differences(base, config)]
        return ["elmo", self.fingerprint if model is None else model.name, *_differences(base, config)]


def cheapest_first(runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """Each run once, all tasks' first seeds before the second ones, and within a seed the shortest first."""
    distinct: dict[str, PlannedRun] = {}
    for run in runs:
        known = distinct.get(run.name)
        tests = run.scores_tests or (known is not None and known.scores_tests)
        distinct[run.name] = replace(run, scores_tests=tests)
    return sorted(distinct.values(), key=lambda run: (run.config.training.seed, run.seconds, run.name))


def _differences(base: TaskConfig, config: TaskConfig) -> list[str]:
    """`field.value` for each setting in which the second config differs, such as `penalty.1.0`."""
    before, after = flat_settings(base), flat_settings(config)
    short = {name: name.removeprefix("inputs.elmo.").removeprefix("training.") for name in after}
    return [f"{short[name]}.{value}".lower() for name, value in after.items() if before[name] != value]


def flat_settings(config: TaskConfig) -> dict[str, Any]:
    """All settings by name, `inputs.elmo.penalty` for instance; ELMo's are left out if there is no ELMo."""
    parts: dict[str, dict[str, Any]] = config_to_json(config)
    elmo: dict[str, Any] | None = parts["inputs"].pop("elmo")
    if elmo is not None:
        parts["inputs.elmo"] = elmo
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}


def _seconds(task: str, config: TaskConfig) -> float:
    data, training = TASK_DATA[task], config.training
    num_train = data.num_train * training.train_share
    if training.max_train_examples:
        num_train = min(num_train, training.max_train_examples)
    num_epochs = training.max_epochs
    if training.patience < num_epochs:
        num_epochs = CONVERGED_EPOCHS
        num_train = max(num_train, training.min_epoch_steps * training.batch_size)
    seconds = data.seconds * num_train / 1000 * num_epochs
    return seconds if config.inputs.elmo is not None else BASELINE_SHARE * seconds
