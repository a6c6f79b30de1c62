"""Training a task's model on a folder of data: reads the files, opens the inputs, creates the run, runs the loop."""

from __future__ import annotations

import platform
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from elmokit.layers.devices import find_device
from elmokit.layers.scalar_mix import ScalarMix
from elmokit.model.bundled import bundled_models, resolve_model
from elmokit.runs.folder import METRICS_NAME, existing_run, new_run, start_writing
from elmokit.runs.metrics_log import append_json_line, keep_records, read_log
from elmokit.runs.tensor_files import read_tensors
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.batching import predict_all
from elmokit.tasks.config import Splits, with_settings
from elmokit.tasks.default_recipe import config_and_data
from elmokit.tasks.inputs import TokenInputs
from elmokit.tasks.loop import MODEL_PREFIX, Training, nothing_changed
from elmokit.tasks.old_runs import current_tensors
from elmokit.tasks.reading import TaskData, dev_in_use, digest, read_data, report_foreign_labels, sentences_of
from elmokit.tasks.resources import frozen_layers, read_elmo, read_words, with_word_dim
from elmokit.tasks.run_folder import (
    BEST_FILE,
    CHECKPOINT_FILE,
    IF_DATA_MOVED,
    IF_MODEL_MOVED,
    TaskRecord,
    named_by,
    read_record,
    with_elmo_model,
    write_record,
)
from elmokit.tasks.task import E, P
from elmokit.tasks.weights import check_shapes
from elmokit.tasks.words import VECTORS_FILE, WORDS_FILE, load_word_table, save_word_table
from elmokit.text.lines import is_read_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from elmokit.model.bilm import BiLM
    from elmokit.model.frozen_layers import FrozenLayers
    from elmokit.tasks.config import TaskConfig
    from elmokit.tasks.task import Task
    from elmokit.tasks.task_model import TaskModel
    from elmokit.tasks.words import WordTable

EXAMPLES_FOR_SCALES = 500
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
    cache: Path | None = None,
    device: str | torch.device | None = None,
) -> Path:
    """Train on a folder's files, or on those that `data` names, into a new run folder; returns that folder.

    data: a `Splits` without a development file sets a tenth of the training files apart (see `dev_share`).
    config: all settings; None is the recipe `cpu`, or a Korean one for data in Hangul (see `config_and_data`).
    settings: changes of that recipe, written as `field=value`.
    test: score the test files at the end. Settings are chosen by the development set, so this is for the last run.
        Without it, the test files only add their words to those whose vectors are kept (see `new_word_table`).
    cache: folder of the activations of frozen biLMs (`vectors.cache_folder.default_cache()`); None computes them again.
    Raises ValueError or OSError for files that cannot be read, ValueError for a folder that already holds a run, and
    `DivergenceError`, a ValueError, for a loss that is not finite.
    """
    task = find_task(task) if isinstance(task, str) else task
    device = find_device(device)
    run_dir = Path(run_dir).expanduser()
    remains = [path for path in (run_dir / CHECKPOINT_FILE, run_dir / BEST_FILE) if path.exists()]
    with new_run(run_dir, remains=remains, files=(METRICS_NAME, WORDS_FILE, VECTORS_FILE)):
        splits = _found(task, data)
        if test and not splits.test:
            raise ValueError(f"{NO_TEST_FILE}; name one, or leave out --test, or test=True")
        config, examples = config_and_data(task, splits, config, settings)
        symbols = task.symbols(examples.train)
        report_foreign_labels(task, examples.dev, symbols, name="the development set")
        training, others = sentences_of(task, examples)
        if (elmo_input := config.inputs.elmo) is not None:
            elmo_input = replace(elmo_input, model=_absolute(elmo_input.model))
            config = replace(config, inputs=replace(config.inputs, elmo=elmo_input))
        words = read_words(config.inputs, training, others, seed=config.training.seed)
        elmo = read_elmo(config.inputs.elmo, cache=cache, device=device)
        record = TaskRecord(
            task=task.name,
            config=replace(config, inputs=with_word_dim(config.inputs, words)),
            symbols=symbols,
            splits=_absolute_splits(splits),
            fingerprint=None if (frozen := frozen_layers(elmo)) is None else frozen.fingerprint(),
            counts=examples.counts,
            digest=digest(task, examples),
        )
        examples = examples if test else replace(examples, test={})
        loop = _new_loop(task, record, examples, words, elmo, run_dir=run_dir, device=device)
        _create(run_dir, record, words)  # the folder is a run from here on, so what can be refused was refused before
        _finish(loop, record, examples)
    return run_dir


def resume_task(
    run_dir: str | Path,
    settings: Sequence[str] = (),
    *,
    data: str | Path | Splits | None = None,
    elmo_model: str | Path | None = None,
    from_start: bool = False,
    test: bool = False,
    task: Task[Any, Any] | None = None,
    cache: Path | None = None,
    device: str | torch.device | None = None,
) -> Path:
    """Continue a run after its last finished epoch; it ends as if it had never stopped.

    settings: only `max_epochs=N`, `patience=N` and `min_steps=N`.
    data, elmo_model: where the files and the biLM are now, if they have moved; others are refused.
    test: score the test files at the end, even if the run had ended before.
    from_start: train again from the first epoch if the checkpoint cannot be read.
    Raises FileNotFoundError when the folder is not a run; ValueError when its checkpoint, or the weights of its best
    epoch, cannot be read: nothing is changed then; InUseError, an OSError, when another process has the run.
    """
    device = find_device(device)
    run_dir = Path(run_dir).expanduser()
    with existing_run(run_dir):
        before = read_record(run_dir, task)
        task = task or find_task(before.task)
        record = replace(before, config=_changed(before.config, settings))
        record = _moved(record, task, data, elmo_model)
        with nullcontext() if data is not None else named_by(run_dir, if_moved=IF_DATA_MOVED):
            if test and not record.splits.test:
                raise ValueError(f"{NO_TEST_FILE}; `elmokit evaluate`, or `load_task`, scores other files")
            examples = read_data(task, record.splits, record.config)
            _check_is_unchanged(task, record, examples)
        with nullcontext() if elmo_model is not None else named_by(run_dir, if_moved=IF_MODEL_MOVED):
            elmo = read_elmo(record.config.inputs.elmo, cache=cache, device=device)
        examples = examples if test else replace(examples, test={})
        words = load_word_table(run_dir) if record.config.inputs.word_dim else None
        check_elmo(record, elmo, run_dir)
        if not from_start and (run_dir / CHECKPOINT_FILE).exists():
            with nothing_changed():
                check_shapes(run_dir / CHECKPOINT_FILE, task, record, words, elmo, prefix=MODEL_PREFIX)
        loop = _new_loop(task, record, examples, words, elmo, run_dir=run_dir, device=device)
        loop.load(from_start=from_start)
        if record != before:
            write_record(run_dir, record)
        _finish(loop, record, examples)
    return run_dir


def _moved(
    record: TaskRecord, task: Task[E, P], data: str | Path | Splits | None, elmo_model: str | Path | None
) -> TaskRecord:
    """The record with the places where its files and its biLM are now."""
    if data is not None:
        splits, before = _absolute_splits(_found(task, data)), record.splits
        if (len(splits.train), len(splits.dev)) != (len(before.train), len(before.dev)):
            names = ", ".join(path.name for path in (*before.train, *before.dev))
            raise ValueError(f"the run began with {names}; say where all of these files are now, or none of them")
        record = replace(record, splits=replace(splits, test=splits.test or record.splits.test))
    return record if elmo_model is None else with_elmo_model(record, _absolute(str(elmo_model)))


def _found(task: Task[E, P], data: str | Path | Splits) -> Splits:
    splits = data if isinstance(data, Splits) else task.find(Path(data).expanduser())
    _check_can_be_read_again(splits)
    return splits


def _check_can_be_read_again(splits: Splits) -> None:
    """Raise ValueError for a file that config.json cannot name, or that a resumed run would not find."""
    for path in (*splits.train, *splits.dev, *splits.test):
        if is_read_once(path):
            raise ValueError(f"{path} can be read only once, and a resumed run reads it again; give a file")
        try:
            str(path.resolve()).encode()
        except UnicodeEncodeError:
            raise ValueError(f"{path} has a name that is not UTF-8, which config.json cannot hold; rename it") from None


def _check_is_unchanged(task: Task[E, P], record: TaskRecord, examples: TaskData[E]) -> None:
    """Raise ValueError if the sentences are not those that the run began with, as far as it has recorded them."""
    if record.digest not in (None, digest(task, examples)):
        before, now = (counts.get("train", {}).get("examples", 0) for counts in (record.counts, examples.counts))
        numbers = f": {before:,} training examples then, {now:,} now" if before != now else ""
        raise ValueError(
            f"the training or development set has changed since the run began{numbers}; a run is resumed with the "
            "files that it began with"
        )


def _changed(before: TaskConfig, settings: Sequence[str]) -> TaskConfig:
    config = with_settings(before, settings)
    if config != replace(before, training=replace(before.training, **_resumable(config))):
        raise ValueError(f"a resumed run keeps its settings, except {', '.join(RESUMABLE)}")
    return config


def new_model(
    task: Task[E, P],
    record: TaskRecord,
    words: WordTable | None,
    elmo: FrozenLayers | BiLM | None,
    *,
    device: str | torch.device | None,
) -> TaskModel:
    """A model with fresh weights from the seed, which is set again after the inputs.

    So the rest of the model starts as similarly as it can with ELMo and without.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(record.config.training.seed)
        inputs = TokenInputs(record.config.inputs, words=words, elmo=elmo)
        torch.manual_seed(record.config.training.seed)
        model = task.build(record.config.model, inputs, record.symbols)
    return model.to(find_device(device))


def check_elmo(record: TaskRecord, elmo: FrozenLayers | BiLM | None, run_dir: Path) -> None:
    """Raise ValueError if the biLM is not the one that the task was trained with."""
    frozen = frozen_layers(elmo)
    if frozen is not None and (found := frozen.fingerprint()) != record.fingerprint:
        raise ValueError(
            f"{run_dir} was trained with the biLM of fingerprint {record.fingerprint}; the one given has {found}, so "
            "its vectors are different; give the biLM of the training"
        )


def _new_loop(
    task: Task[E, P],
    record: TaskRecord,
    examples: TaskData[E],
    words: WordTable | None,
    elmo: FrozenLayers | BiLM | None,
    *,
    run_dir: Path,
    device: str | torch.device | None,
) -> Training[E, P]:
    """A loop at its start; the layers of all sentences are computed here."""
    if (frozen := frozen_layers(elmo)) is not None:
        training, others = sentences_of(task, examples)
        frozen.add([*training, *others])
    model = new_model(task, record, words, elmo, device=device)
    model.inputs.measure_scales(_for_scales(task, examples.train))
    config = record.config.training
    dev = dev_in_use(examples.dev, config)
    return Training(task, config, model, train=examples.train, dev=dev, run_dir=run_dir)


def _finish(loop: Training[E, P], record: TaskRecord, examples: TaskData[E]) -> None:
    """Train to the end, and log the scores of the best weights, unless the log has them already."""
    done_before = loop.progress.finished(loop.config)
    metrics = loop.run_dir / METRICS_NAME
    last_epoch = loop.progress.epoch
    keep_records(
        metrics, lambda record: record.integer("epoch") <= last_epoch and (done_before or "result" not in record)
    )
    loop.run()
    results = [record for record in read_log(metrics).records if "result" in record]
    if not results or (examples.test and not results[-1].get("test")):
        model = loop.model
        model.load_state_dict(current_tensors(read_tensors(loop.run_dir / BEST_FILE).tensors, record.config.inputs))
        result = _result(loop, examples)
        keep_records(metrics, lambda record: "result" not in record)
        append_json_line(metrics, result)


def _result(loop: Training[E, P], examples: TaskData[E]) -> dict[str, object]:
    """The last line of the log; the loop's model has the weights of the best epoch."""
    task, model, progress, batch_size = loop.task, loop.model, loop.progress, loop.config.batch_size
    return {
        "epoch": progress.epoch,
        "best_epoch": progress.best_epoch,
        "result": True,
        "converged": progress.converged(loop.config),
        "dev": _scores(task, model, examples.dev, batch_size),
        "test": {name: _scores(task, model, part, batch_size) for name, part in examples.test.items()},
        "mixes": _mixes(model.inputs),
        "seconds": round(progress.seconds, 1),
        "processor_seconds": round(progress.processor_seconds, 1),
        "machine": _machine(model),
    }


def _for_scales(task: Task[E, P], examples: Sequence[E]) -> list[Sequence[str]]:
    """Sentences of examples spread evenly over the training set, enough to estimate a mean."""
    step = max(1, len(examples) // EXAMPLES_FOR_SCALES)
    return [sentence for example in examples[::step] for sentence in task.sentences(example) if sentence]


def _scores(task: Task[E, P], model: TaskModel, examples: list[E], batch_size: int) -> dict[str, float]:
    return dict(task.score(examples, predict_all(task, model, examples, batch_size=batch_size)))


def _mixes(inputs: TokenInputs) -> dict[str, dict[str, object]]:
    """What ELMo's mixes at the input and at the output have learnt: weights after the softmax, lowest layer first."""
    learnt: dict[str, dict[str, object]] = {}
    for position, mix in inputs.mixes().items():
        learnt[position] = {"gamma": round(mix.gamma.item(), 6)}
        if isinstance(mix, ScalarMix):
            learnt[position]["weights"] = [round(weight.item(), 6) for weight in mix.weights.softmax(dim=0)]
    return learnt


def _machine(module: nn.Module) -> str:
    """The hardware that a run has used at its end, to which its times refer."""
    device = next(module.parameters()).device
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} threads"
    return f"{name}, torch {torch.__version__}"


def _create(run_dir: Path, record: TaskRecord, words: WordTable | None) -> None:
    """Write what a run knows before its first step; config.json comes last, so a folder with one is complete."""
    start_writing(run_dir)
    if words is not None:
        save_word_table(run_dir, words)
    write_record(run_dir, record)


def _resumable(config: TaskConfig) -> dict[str, Any]:
    return {name: getattr(config.training, name) for name in RESUMABLE}


def _absolute(model: str) -> str:
    return model if model in bundled_models() else str(resolve_model(model).resolve())


def _absolute_splits(splits: Splits) -> Splits:
    train, dev, test = (tuple(path.resolve() for path in files) for files in (splits.train, splits.dev, splits.test))
    return Splits(train, dev, test)
