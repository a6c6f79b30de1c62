"""Trains a task's model on a folder of data, in a new run or a resumed one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

import torch
from torch import Tensor, nn

from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import lasting_name
from elmokit.formats.read import read_bilm
from elmokit.layers.devices import describe_machine, find_device, on_meta_device, seeded
from elmokit.layers.scalar_mix import ScalarMix
from elmokit.model.bilm import BiLM
from elmokit.model.vector_source import VectorSource
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME, existing_run, new_run, start_writing
from elmokit.runs.log import append_json_line, keep_records, provenance, read_log
from elmokit.runs.tensor_files import check_tensors, read_tensors, tensors_under
from elmokit.system.messages import FormatError, printable
from elmokit.system.paths import expanded
from elmokit.tasks.config import ElmoInput, Splits, TaskConfig, with_settings
from elmokit.tasks.data import (
    TaskExamples,
    dev_in_use,
    digest,
    read_data,
    report_foreign_labels,
    report_on,
    sentences_of,
    with_development_set,
)
from elmokit.tasks.inputs import (
    VECTORS_FILE,
    WORDS_FILE,
    TokenInputs,
    WordTable,
    load_word_table,
    new_word_table,
    save_word_table,
)
from elmokit.tasks.loop import DEV_NAME, MODEL_PREFIX, TaskTraining
from elmokit.tasks.run import (
    BEST_FILE,
    CHECKPOINT_FILE,
    TaskRecord,
    find_data,
    named_by,
    read_record,
    write_record,
)
from elmokit.tasks.task import E, P, Task, find_task
from elmokit.tasks.task_model import TaskModel
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import recognise

EXAMPLES_FOR_SCALES = 500
"""Training examples that measure the layers' scales, spread evenly over the set; enough to estimate a mean."""
IF_MODEL_MOVED = "; if it has moved, say where it is: --model M, or elmo_model=M"
IF_DATA_MOVED = "; if the data have moved, say where they are: --data DIR or --train FILE ..., or data=DIR"
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
    """Train on the files of a folder, or on the files in a `Splits`. Return the new run folder.

    data: a `Splits` without a development file holds out a tenth of the training files (see `dev_share`).
    config: all settings; None is the recipe `cpu`.
    settings: changes of that recipe, written as `field=value`.
    test: score the test files at the end. Choose settings by the development set, and use this for the last run only.
        Without it, the test files only add their words to the kept word vectors (see `new_word_table`).
    cache: folder of the activations of frozen biLMs (`system.paths.default_cache()`); None computes them again.
    Raises ValueError or OSError for files that cannot be read, ValueError for a folder that already holds a run, and
    `DivergenceError`, a ValueError, for a loss that is not finite.
    """
    task = find_task(task) if isinstance(task, str) else task
    device = find_device(device)
    run_dir = expanded(run_dir)
    with new_run(run_dir, files=(CHECKPOINT_FILE, BEST_FILE, METRICS_NAME, WORDS_FILE, VECTORS_FILE)):
        files = find_data(task, data)
        if test and not files.test:
            raise ValueError(f"{NO_TEST_FILE}; name one, or leave out --test, or test=True")
        config = with_development_set(_chosen(task, config, settings), files)
        examples = read_data(task, files, config)
        report_on(task, examples, test=test)
        parts = _new_parts(task, config, files, examples, cache=cache, device=device)
        examples = examples if test else replace(examples, test={})
        loop = _new_loop(parts, examples, run_dir)
        start_writing(run_dir)  # all checks of the input come before this
        if parts.words is not None:
            save_word_table(run_dir, parts.words)
        write_record(run_dir, parts.record)  # last, because a folder with a config.json is a run
        _run_to_the_end(loop, examples)
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
    data, elmo_model: where the files and the biLM are now, if they have moved; different ones raise ValueError.
    test: score the test files at the end, even if the run had ended before.
    Raises FileNotFoundError when the folder is not a run; ValueError or OSError when its checkpoint, or the weights of
    its best epoch, cannot be read (nothing is changed then); InUseError, an OSError, when another process uses the run.
    """
    device = find_device(device)
    run_dir = expanded(run_dir)
    with existing_run(run_dir):
        before = read_record(run_dir, task)
        task = task or find_task(before.task)
        record = replace(before, **vars(_changed(before.config, settings)))
        if data is not None:
            record = record.with_files(find_data(task, data).absolute())
        if elmo_model is not None:
            record = record.with_elmo_model(lasting_name(str(elmo_model)))
        if test and not record.files.test:
            raise ValueError(f"{NO_TEST_FILE}; `elmokit evaluate`, or `load_task`, scores other files")
        with named_by(run_dir, unless=data, if_moved=IF_DATA_MOVED):
            examples = read_data(task, record.files, record.config)
            if record.digest not in (None, digest(task, examples), digest(task, examples, labels=False)):
                raise ValueError(
                    "the training or development set has changed since the run began; resume the run with the files "
                    "that it began with"
                )
        if test:
            report_foreign_labels(task, examples.test, record.symbols)
        examples = examples if test else replace(examples, test={})
        parts = ModelParts[Any, Any].of_run(run_dir, task, record, elmo_model=elmo_model, cache=cache, device=device)
        if (run_dir / CHECKPOINT_FILE).exists():
            parts.read_weights(run_dir / CHECKPOINT_FILE, prefix=MODEL_PREFIX)  # checked before allocating memory
        loop = _new_loop(parts, examples, run_dir)
        loop.load()
        if record != before:
            write_record(run_dir, record)
        _run_to_the_end(loop, examples)
    return run_dir


def _chosen(task: Task[E, P], config: TaskConfig | None, settings: Sequence[str]) -> TaskConfig:
    if config is None:
        return with_settings(task.recipe("cpu"), settings)
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


def _new_parts(
    task: Task[E, P],
    config: TaskConfig,
    files: Splits,
    examples: TaskExamples[E],
    *,
    cache: str | Path | None,
    device: torch.device,
) -> ModelParts[E, P]:
    """The parts of a new run's model. The record resolves the biLM's place and the width of the word vectors."""
    inputs, words = config.inputs, None
    if inputs.elmo is not None:
        inputs = replace(inputs, elmo=replace(inputs.elmo, model=lasting_name(inputs.elmo.model)))
    if inputs.word_dim:
        words = new_word_table(inputs, *sentences_of(task, examples), seed=config.training.seed)
        inputs = replace(inputs, word_dim=words.vectors.shape[1])
    elmo = read_elmo(inputs.elmo, cache=cache, device=device)
    frozen = frozen_layers(elmo)
    record = TaskRecord(
        task.name,
        model=config.model,
        inputs=inputs,
        training=config.training,
        elmo_fingerprint=None if frozen is None else frozen.fingerprint(),
        symbols=task.symbols(examples.train),
        files=files.absolute(),
        examples=examples.counts,
        digest=digest(task, examples),
        other_vectors=isinstance(elmo, FileVectorSource),
    )
    return ModelParts(task, record, words, elmo, device)


def _new_loop(parts: ModelParts[E, P], examples: TaskExamples[E], run_dir: Path) -> TaskTraining[E, P]:
    """A loop before its first epoch. This also computes the layers of all sentences."""
    task, config = parts.task, parts.record.training
    if (frozen := frozen_layers(parts.elmo)) is not None:
        training, others = sentences_of(task, examples)
        frozen.add([*training, *others])
    model = parts.new_model()
    spread = examples.train[:: max(1, len(examples.train) // EXAMPLES_FOR_SCALES)]
    sentences = [sentence for example in spread for sentence in task.sentences(example) if sentence]
    model.inputs.measure_scales(sentences)
    dev = dev_in_use(examples.dev, config)
    return TaskTraining(task, config, model, train=examples.train, dev=dev, run_dir=run_dir)


def _run_to_the_end(loop: TaskTraining[E, P], examples: TaskExamples[E]) -> None:
    """Train until the run stops, and log the result.

    If the log already has the result, it stays as it is, unless test files are scored: these may have changed.
    """
    log = loop.run_dir / METRICS_NAME
    earlier = _results(log)
    epoch, had_ended = loop.progress.epoch, loop.progress.stopped_by(loop.config) is not None
    keep_records(log, lambda record: record.integer("epoch") <= epoch and (had_ended or "result" not in record.values))
    loop.run()
    if had_ended and _results(log) and not examples.test:
        print(f"the run in {loop.run_dir} has ended already; its scores are in {log}", file=sys.stderr, flush=True)
        return
    loop.model.load_state_dict(read_tensors(loop.run_dir / BEST_FILE))
    test = {name: loop.scores(part, label=printable(name)) for name, part in examples.test.items()}
    same_weights = {"epoch": epoch, "best_epoch": loop.progress.best_epoch}
    kept = [result.get("test", {}) for result in earlier if same_weights.items() <= result.items()]
    result = _result(loop, dev=loop.scores(examples.dev, label=DEV_NAME), test=test or (kept or [{}])[-1])
    keep_records(log, lambda record: "result" not in record.values)
    append_json_line(log, result)
    for name, scores in test.items():
        shown = ", ".join(f"{score} {number:.2f}" for score, number in scores.items())
        said = f"{name}, with the weights that are best on the development set: {shown}"
        print(said, file=sys.stderr, flush=True)


def _results(log: Path) -> list[dict[str, Any]]:
    return [record.values for record in read_log(log).records if "result" in record.values]


def _result(
    loop: TaskTraining[E, P], *, dev: Mapping[str, float], test: Mapping[str, Mapping[str, float]]
) -> dict[str, object]:
    """The last line of the log; the loop's model has the weights of the best epoch."""
    model, progress = loop.model, loop.progress
    mixes: dict[str, dict[str, object]] = {}
    for position, mix in model.inputs.mixes().items():
        mixes[position] = {"gamma": round(mix.gamma.item(), 6)}
        if isinstance(mix, ScalarMix):
            mixes[position]["shares"] = [round(share.item(), 6) for share in mix.shares]
    return {
        "epoch": progress.epoch,
        "best_epoch": progress.best_epoch,
        "result": True,
        "stopped_by": progress.stopped_by(loop.config),
        "dev": dev,
        "test": test,
        "mixes": mixes,
        "seconds": round(progress.seconds, 1),
        "processor_seconds": round(progress.processor_seconds, 1),
        "machine": describe_machine(next(model.parameters()).device),
        **provenance(),
    }


@dataclass(frozen=True)
class ModelParts(Generic[E, P]):
    """The parts of a task's model; `words` and `elmo` are None for a config without them."""

    task: Task[E, P]
    record: TaskRecord
    words: WordTable | None
    elmo: VectorSource | BiLM | None
    device: torch.device

    @classmethod
    def of_run(
        cls,
        run_dir: Path,
        task: Task[E, P],
        record: TaskRecord,
        *,
        elmo_model: object = None,
        cache: str | Path | None = None,
        device: torch.device,
    ) -> ModelParts[E, P]:
        """Open the parts of a run. Raises ValueError if the biLM is not the one that the run was trained with.

        elmo_model: what the user gave instead of the biLM that config.json names.
        """
        with named_by(run_dir, unless=elmo_model, if_moved=IF_MODEL_MOVED):
            elmo = read_elmo(record.inputs.elmo, cache=cache, device=device)
        words = load_word_table(run_dir) if record.inputs.word_dim else None
        frozen = frozen_layers(elmo)
        if frozen is not None and (found := frozen.fingerprint()) != record.elmo_fingerprint:
            raise ValueError(
                f"{run_dir} was trained with the biLM of fingerprint {record.elmo_fingerprint}; the one given has "
                f"{found}, so its vectors are different; give the biLM that it was trained with"
            )
        return cls(task, record, words, elmo, device)

    def new_model(self) -> TaskModel:
        """A model with fresh weights from the seed.

        The seed is set again after the inputs, so that the rest of the model starts the same with and without ELMo.
        """
        seed = self.record.training.seed
        with seeded(seed):
            inputs = TokenInputs(self.record.inputs, words=self.words, elmo=self.elmo)
        with seeded(seed):
            model = self.task.build(self.record.model, inputs, self.record.symbols)
        return model.to(self.device)

    def read_weights(self, path: Path, *, prefix: str = "") -> dict[str, Tensor]:
        """Read the weights in a file, and compare them with a model built on the meta device, without memory.

        prefix: prefix of the model's tensors in the file; if it is empty, the file has no other tensors.
        Raises FormatError for a model that cannot be built, and what `check_tensors` raises.
        """
        weights = tensors_under(prefix, read_tensors(path))
        try:
            with on_meta_device():
                inputs = TokenInputs(self.record.inputs, words=self.words, elmo=self.elmo)
                model = self.task.build(self.record.model, inputs, self.record.symbols)
        except (ValueError, RuntimeError, OverflowError) as error:  # torch limits the size of a tensor
            raise FormatError(path.with_name(CONFIG_NAME), f"does not describe a model: {error}") from None
        check_tensors(path, weights, model.state_dict())
        return weights


def read_elmo(
    config: ElmoInput | None, *, cache: str | Path | None, device: str | torch.device | None
) -> VectorSource | BiLM | None:
    """Open the biLM to train, the activations of a frozen one, or another system's vectors; None without ELMo.

    Raises ValueError if the config wants to train vectors from a file, and what reading a model raises.
    """
    if config is None:
        return None
    if recognise(config.model) is not None:
        if config.train:
            raise ValueError(
                f"elmo.train is true, but {config.model} holds fixed vectors; give a model, or set elmo.train=false"
            )
        return FileVectorSource(config.model)
    if config.train:
        return read_bilm(config.model)
    folder = None if cache is None else Path(cache)
    return CachedActivations(Elmo.from_pretrained(config.model, device=device), folder=folder)


def frozen_layers(elmo: VectorSource | BiLM | None) -> VectorSource | None:
    """The layers that do not change; None without ELMo, and for a biLM that is trained with the task."""
    return None if isinstance(elmo, nn.Module) else elmo
