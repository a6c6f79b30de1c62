"""Training a task's model on a folder of data: reads the files, opens the inputs, creates the run, runs the loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from elmokit.layers.devices import find_device
from elmokit.runs.folder import METRICS_NAME, existing_run, new_run, start_writing
from elmokit.system.messages import first_token
from elmokit.system.python import expanded
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.checkpoint import MODEL_PREFIX
from elmokit.tasks.config import Splits, TaskConfig, with_settings
from elmokit.tasks.final_scores import finish
from elmokit.tasks.loop import TaskTraining
from elmokit.tasks.reading import (
    TaskExamples,
    dev_in_use,
    digest,
    read_data,
    report_alike_labels,
    report_foreign_labels,
    report_known_examples,
    sentences_of,
    with_development_set,
)
from elmokit.tasks.run_folder import (
    BEST_FILE,
    CHECKPOINT_FILE,
    IF_DATA_MOVED,
    TaskRecord,
    absolute_model,
    absolute_splits,
    check_is_unchanged,
    find_data,
    moved,
    named_by,
    read_record,
    write_record,
)
from elmokit.tasks.task import E, P, Task, recipe_config
from elmokit.tasks.weights import ModelParts, frozen_layers, load_parts, new_model, read_elmo, read_weights
from elmokit.tasks.word_table import VECTORS_FILE, WORDS_FILE, new_word_table, save_word_table
from elmokit.vectors.file_vector_source import FileVectorSource

EXAMPLES_FOR_SCALES = 500
"""Spread evenly over the training set, enough to estimate a mean."""
NO_TEST_FILE = "the data have no test file to score"
RESUMABLE = ("max_epochs", "patience", "min_steps")
"""Settings that may change when a run is resumed."""


def train(
    task: Task[E, P] | str,
    data: str | Path | Splits,
    *,
    run_dir: str | Path,
    config: TaskConfig | None = None,
    settings: Sequence[str] = (),
    test: bool = False,
    cache: str | Path | None = None,
    device: str | torch.device | None = None,
) -> Path:
    """Train on a folder's files, or on those that `data` names, into a new run folder; returns that folder.

    data: a `Splits` without a development file sets a tenth of the training files apart (see `dev_share`).
    config: all settings; None is the recipe `cpu`.
    settings: changes of that recipe, written as `field=value`.
    test: score the test files at the end. Settings are chosen by the development set, so this is for the last run.
        Without it, the test files only add their words to those whose vectors are kept (see `new_word_table`).
    cache: folder of the activations of frozen biLMs (`system.python.default_cache()`); None computes them again.
    Raises ValueError or OSError for files that cannot be read, ValueError for a folder that already holds a run, and
    `DivergenceError`, a ValueError, for a loss that is not finite.
    """
    task = find_task(task) if isinstance(task, str) else task
    device = find_device(device)
    run_dir = expanded(run_dir)
    with new_run(run_dir, files=(CHECKPOINT_FILE, BEST_FILE, METRICS_NAME, WORDS_FILE, VECTORS_FILE)):
        splits = find_data(task, data)
        if test and not splits.test:
            raise ValueError(f"{NO_TEST_FILE}; name one, or leave out --test, or test=True")
        config = with_development_set(_chosen(task, config, settings), splits)
        examples = read_data(task, splits, config)
        symbols = task.symbols(examples.train)
        if task.label_names is not None and len(symbols) == 1:
            raise ValueError(f"all training examples have the label {first_token(symbols[0])}; expected at least two")
        report_alike_labels(task, examples.train)
        report_foreign_labels(task, {"the development set": examples.dev} | (examples.test if test else {}), symbols)
        report_known_examples(task, examples)
        training, others = sentences_of(task, examples)
        if (elmo_input := config.inputs.elmo) is not None:
            elmo_input = replace(elmo_input, model=absolute_model(elmo_input.model))
            config = replace(config, inputs=replace(config.inputs, elmo=elmo_input))
        words = None
        if config.inputs.word_dim:
            words = new_word_table(config.inputs, training, others, seed=config.training.seed)  # of the file's width
            config = replace(config, inputs=replace(config.inputs, word_dim=words.vectors.shape[1]))
        elmo = read_elmo(config.inputs.elmo, cache=None if cache is None else Path(cache), device=device)
        record = TaskRecord(
            task=task.name,
            config=config,
            symbols=symbols,
            splits=absolute_splits(splits),
            fingerprint=None if (frozen := frozen_layers(elmo)) is None else frozen.fingerprint(),
            counts=examples.counts,
            digest=digest(task, examples),
            other_vectors=isinstance(elmo, FileVectorSource),
        )
        examples = examples if test else replace(examples, test={})
        loop = _new_loop(ModelParts(task, record, words, elmo), examples, run_dir=run_dir, device=device)
        start_writing(run_dir)  # what can be refused was refused before
        if words is not None:
            save_word_table(run_dir, words)
        write_record(run_dir, record)  # last, because a folder with a config.json is a run
        finish(loop, examples)
    return run_dir


def resume_task(
    run_dir: str | Path,
    settings: Sequence[str] = (),
    *,
    data: str | Path | Splits | None = None,
    elmo_model: str | Path | None = None,
    test: bool = False,
    task: Task[Any, Any] | None = None,
    cache: str | Path | None = None,
    device: str | torch.device | None = None,
) -> Path:
    """Continue a run after its last finished epoch; it ends as if it had never stopped.

    settings: only `max_epochs=N`, `patience=N` and `min_steps=N`.
    data, elmo_model: where the files and the biLM are now, if they have moved; others are refused.
    test: score the test files at the end, even if the run had ended before.
    Raises FileNotFoundError when the folder is not a run; ValueError or OSError when its checkpoint, or the weights of
    its best epoch, cannot be read: nothing is changed then; InUseError, an OSError, when another process has the run.
    """
    device = find_device(device)
    run_dir = expanded(run_dir)
    with existing_run(run_dir):
        before = read_record(run_dir, task)
        task = task or find_task(before.task)
        record = replace(before, config=_changed(before.config, settings))
        record = moved(record, task, data, elmo_model)
        if test and not record.splits.test:
            raise ValueError(f"{NO_TEST_FILE}; `elmokit evaluate`, or `load_task`, scores other files")
        with nullcontext() if data is not None else named_by(run_dir, if_moved=IF_DATA_MOVED):
            examples = read_data(task, record.splits, record.config)
            check_is_unchanged(task, record, examples)
        if test:
            report_foreign_labels(task, examples.test, record.symbols)
        cache = None if cache is None else Path(cache)
        parts = load_parts(run_dir, task, record, has_moved=elmo_model is not None, cache=cache, device=device)
        examples = examples if test else replace(examples, test={})
        if (run_dir / CHECKPOINT_FILE).exists():
            read_weights(run_dir / CHECKPOINT_FILE, parts, prefix=MODEL_PREFIX)
        loop = _new_loop(parts, examples, run_dir=run_dir, device=device)
        loop.load()
        if record != before:
            write_record(run_dir, record)
        finish(loop, examples)
    return run_dir


def _chosen(task: Task[E, P], config: TaskConfig | None, settings: Sequence[str]) -> TaskConfig:
    if config is None:
        return with_settings(recipe_config(task, "cpu"), settings)
    if settings:
        raise ValueError("settings change the recipe of a task; with a config, change the config (`task_recipe`)")
    if not isinstance(config.model, task.model_config):
        raise ValueError(
            f"the config is not of {task.name}: its model is a {type(config.model).__name__}; expected a "
            f"{task.model_config.__name__} (`task_recipe({task.name!r})` makes one)"
        )
    return config


def _changed(before: TaskConfig, settings: Sequence[str]) -> TaskConfig:
    config = with_settings(before, settings)
    changed = {name: getattr(config.training, name) for name in RESUMABLE}
    if config != replace(before, training=replace(before.training, **changed)):
        raise ValueError(f"a resumed run keeps its settings, except {', '.join(RESUMABLE)}")
    return config


def _new_loop(
    parts: ModelParts[E, P], examples: TaskExamples[E], *, run_dir: Path, device: str | torch.device | None
) -> TaskTraining[E, P]:
    """A loop at its start; the layers of all sentences are computed here."""
    task, config = parts.task, parts.record.config.training
    if (frozen := frozen_layers(parts.elmo)) is not None:
        training, others = sentences_of(task, examples)
        frozen.add([*training, *others])
    model = new_model(parts, device=device)
    spread = examples.train[:: max(1, len(examples.train) // EXAMPLES_FOR_SCALES)]
    sentences = [sentence for example in spread for sentence in task.sentences(example) if sentence]
    model.inputs.measure_scales(sentences)
    dev = dev_in_use(examples.dev, config)
    return TaskTraining(task, config, model, train=examples.train, dev=dev, run_dir=run_dir)
