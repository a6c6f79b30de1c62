"""The supervised training loop. It scores the model after each epoch, and keeps the best weights and a checkpoint."""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic

import torch
from torch import nn

from elmokit.files.json import parse_json
from elmokit.files.safetensors import read_layout
from elmokit.layers.scalar_mix import ScalarMix, SingleLayer
from elmokit.runs.folder import METRICS_NAME
from elmokit.runs.log import append_json_line, read_log
from elmokit.runs.tensor_files import (
    DivergenceError,
    check_tensors,
    expected_optimizer_tensors,
    load_optimizer,
    optimizer_tensors,
    read_tensors,
    tensors_under,
    write_tensors,
)
from elmokit.system.batches import batched
from elmokit.system.progress_bar import progress_bar
from elmokit.tasks.config import TrainingConfig
from elmokit.tasks.run import BEST_FILE, CHECKPOINT_FILE
from elmokit.tasks.task import E, P, Task
from elmokit.tasks.task_model import TaskModel

DEV_NAME = "the development set"
MODEL_PREFIX = "model."
AVERAGE_PREFIX = "average."
LENGTH_NOISE = 0.1
"""An example's sort key differs from its length by at most this share, so that batches change between epochs."""


class TaskTraining(Generic[E, P]):
    """A run in progress: `load` continues from the checkpoint in its folder, `run` trains to the end."""

    def __init__(
        self,
        task: Task[E, P],
        config: TrainingConfig,
        model: TaskModel,
        *,
        train: Sequence[E],
        dev: Sequence[E],
        run_dir: Path,
    ) -> None:
        self.task = task
        self.config = config
        self.model = model
        self.train = train
        self.dev = dev
        self.run_dir = run_dir
        self.progress: TaskProgress = TaskProgress()
        self.optimizer: Final = _new_optimizer(self.model, config)
        self.parameters: Final = [value for value in self.model.parameters() if value.requires_grad]
        self.cuda_devices: Final = list({value.device for value in self.parameters if value.is_cuda})
        self.average: Final = MovingAverage(self.parameters, config)

    def load(self) -> None:
        """Continue after the last finished epoch, if there is one. Check the whole checkpoint before using it.

        Raises FormatError, a ValueError, or OSError, naming the file, if a file is damaged or missing.
        """
        path = self.run_dir / CHECKPOINT_FILE
        if not path.exists():
            epochs = [record.integer("epoch") for record in read_log(self.run_dir / METRICS_NAME).records]
            if max(epochs, default=0) > 1:  # an epoch is logged before its checkpoint
                raise FileNotFoundError(
                    f"{path} is missing, and the run has finished more than one epoch; put back a copy"
                )
            return
        progress, tensors, expected = read_progress(path), read_tensors(path), self.model.state_dict()
        others = {name: tensor for name, tensor in tensors.items() if not name.startswith(MODEL_PREFIX)}
        weights = tensors_under(MODEL_PREFIX, tensors)
        check_tensors(path, weights, expected)
        check_tensors(path, others, self.average.values | expected_optimizer_tensors(self.optimizer, found=others))
        if progress.best_epoch:
            check_tensors(self.run_dir / BEST_FILE, read_tensors(self.run_dir / BEST_FILE), expected)
        self.model.load_state_dict(weights)
        load_optimizer(self.optimizer, others)
        for name, value in self.average.values.items():
            value.copy_(others[name])
        self.progress = progress

    def run(self) -> TaskProgress:
        """Train until the last epoch, or until patience runs out."""
        while not self.progress.stopped_by(self.config):
            began = clocks()
            loss, step = self._one_epoch()
            rate = self._learning_rate(step - 1)
            with self.average.in_place_of_the_weights():
                scores = self.scores(self.dev, label=DEV_NAME)
                score = scores[self.task.metric]
                if not math.isfinite(score):
                    raise ValueError(f"{self.task.metric} of the development set is {score}; expected a finite number")
                self.progress = self.progress.after(score, config=self.config, step=step, began=began)
                if self.progress.best_epoch == self.progress.epoch:
                    write_tensors(self.run_dir / BEST_FILE, self.model.state_dict())
            self._log(loss, rate, scores)
            self._write_checkpoint()
        return self.progress

    def scores(self, examples: Sequence[E], *, label: str) -> Mapping[str, float]:
        """Score the model's predictions. A progress bar shows the label meanwhile."""
        predictions = predict_all(self.task, self.model, examples, batch_size=self.config.batch_size, label=label)
        return self.task.score(examples, predictions)

    def _one_epoch(self) -> tuple[float, int]:
        """Train for an epoch. Return the mean loss of its batches, and the number of steps so far."""
        groups = self._batches()
        step = self.progress.step
        total = 0.0
        self.model.train()
        with (
            torch.random.fork_rng(self.cuda_devices),
            progress_bar(unit="step", total=len(groups), label=f"epoch {self.progress.epoch + 1}", keep=False) as bar,
        ):
            seed = self.config.seed * 1_000_003 + self.progress.epoch
            torch.default_generator.manual_seed(seed)
            if any(value.device.type != "cpu" for value in self.parameters):  # otherwise, leave GPUs alone
                torch.manual_seed(seed)
            for number, group in enumerate(groups, start=1):
                total += self._one_step(group, step)
                step += 1
                bar.set_postfix_str(f"loss {total / number:.4f}", refresh=False)
                bar.update()
        if not all(bool(torch.isfinite(value).all()) for value in self.parameters):
            raise self._diverged("a weight", step - 1)  # in an earlier step, the next loss would have shown it
        return total / len(groups), step

    def _batches(self) -> list[list[E]]:
        """The batches of an epoch: all examples once, or several times to reach `min_epoch_steps`."""
        seed = f"{self.config.seed} {self.progress.epoch}"
        groups = training_batches(self.task, self.train, size=self.config.batch_size, seed=seed)
        once = len(groups)
        while len(groups) < self.config.min_epoch_steps:
            again = f"{seed} {len(groups) // once}"
            groups += training_batches(self.task, self.train, size=self.config.batch_size, seed=again)
        return groups

    def _one_step(self, examples: list[E], step: int) -> float:
        config = self.config
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model(examples) + self.model.inputs.penalty()
        value = loss.item()
        if not math.isfinite(value):
            raise self._diverged("the loss", step)
        loss.backward()
        if config.clip_value:
            nn.utils.clip_grad_value_(self.parameters, config.clip_value)
        if config.clip_norm:
            norm = nn.utils.clip_grad_norm_(self.parameters, config.clip_norm)
            if not bool(torch.isfinite(norm)):
                raise self._diverged("the gradient", step)
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate(step)
        self.optimizer.step()
        self.average.update(step)
        return value

    def _learning_rate(self, step: int) -> float:
        config = self.config
        return config.learning_rate * self.progress.rate_factor * config.decay ** (step // config.decay_steps)

    def _write_checkpoint(self) -> None:
        tensors = {f"{MODEL_PREFIX}{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= self.average.values | optimizer_tensors(self.optimizer)
        metadata = {"progress": json.dumps(asdict(self.progress))}
        write_tensors(self.run_dir / CHECKPOINT_FILE, tensors, metadata=metadata)

    def _log(self, loss: float, rate: float, scores: Mapping[str, float]) -> None:
        now = self.progress
        record = {
            "epoch": now.epoch,
            "step": now.step,
            "loss": loss,
            "learning_rate": rate,
            "dev": dict(scores),
            "best_epoch": now.best_epoch,
            "seconds": round(now.seconds, 1),
            "processor_seconds": round(now.processor_seconds, 1),
        }
        append_json_line(self.run_dir / METRICS_NAME, record)
        best = f"best {now.best_score:.2f} of epoch {now.best_epoch}"
        score = f"{self.task.metric} {scores[self.task.metric]:.2f} on {len(self.dev):,} development examples"
        print(
            f"epoch {now.epoch}: loss {loss:.4f}, {score} ({best}), {now.seconds:,.0f} s", file=sys.stderr, flush=True
        )

    def _diverged(self, what: str, step: int) -> DivergenceError:
        return DivergenceError(
            f"epoch {self.progress.epoch + 1}, step {step}: {what} is not finite, so training has diverged; start "
            "another run with a lower learning_rate, or clip the gradient (clip_norm)"
        )


def training_batches(task: Task[E, P], examples: Sequence[E], *, size: int, seed: str) -> list[list[E]]:
    """All examples once, in batches of similar length, in an order that depends only on the seed."""
    randomness = random.Random(seed)
    keys = [num_tokens(task, example) * randomness.uniform(1 - LENGTH_NOISE, 1 + LENGTH_NOISE) for example in examples]
    order = sorted(range(len(examples)), key=lambda index: (keys[index], randomness.random()))
    batches = list(batched((examples[index] for index in order), size=size))
    randomness.shuffle(batches)
    return batches


def predict_all(
    task: Task[E, P], model: TaskModel, examples: Sequence[E], *, batch_size: int, label: str | None = None
) -> list[P]:
    """One prediction per example, in the order of the examples. The model is in eval mode meanwhile.

    label: text of the progress bar.
    """
    was_training = model.training
    model.eval()
    order = sorted(range(len(examples)), key=lambda index: -num_tokens(task, examples[index]))
    predictions: dict[int, P] = {}
    try:
        with torch.no_grad(), progress_bar(unit="example", total=len(examples), label=label, keep=False) as bar:
            for group in batched(order, size=batch_size):
                predicted = model.predict([examples[index] for index in group])
                predictions.update(zip(group, predicted, strict=True))
                bar.update(len(group))
    finally:
        model.train(was_training)
    return [predictions[index] for index in range(len(examples))]


def num_tokens(task: Task[E, P], example: E) -> int:
    return sum(map(len, task.sentences(example)))


class MovingAverage:
    """Exponential moving average of the weights. The loop scores and keeps it instead of the weights.

    If the config has no `average_decay`, it is empty and does nothing.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], config: TrainingConfig) -> None:
        self.parameters = parameters
        self.config = config
        averaged = parameters if config.average_decay else ()
        self.values: Final = {
            f"{AVERAGE_PREFIX}{number}": value.detach().clone() for number, value in enumerate(averaged)
        }
        """Averages by their names in a checkpoint."""

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the average with the weights after a step. Steps are counted from 0.

        With warm-up, the decay grows with the steps, as TensorFlow's does with `num_updates`.
        """
        if self.values:
            decay = self.config.average_decay
            if self.config.average_warm_up:
                decay = min(decay, (1 + step) / (10 + step))
            for average, parameter in zip(self.values.values(), self.parameters, strict=True):
                average.lerp_(parameter, 1 - decay)

    @contextmanager
    def in_place_of_the_weights(self) -> Generator[None]:
        """Swap the weights with their average inside a `with` block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for parameter, average in zip(self.parameters, self.values.values(), strict=bool(self.values)):
            kept = parameter.clone()
            parameter.copy_(average)
            average.copy_(kept)


def _new_optimizer(module: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimiser of the trained weights. Mixes do not decay; biases decay only with `decay_biases`."""
    undecayed = {
        id(value)
        for part in module.modules()
        if isinstance(part, ScalarMix | SingleLayer)
        for value in part.parameters()
    }
    if not config.decay_biases:
        undecayed |= {id(value) for value in module.parameters() if value.ndim < 2}
    trained = [value for value in module.parameters() if value.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [value for value in trained if id(value) not in undecayed], "weight_decay": config.weight_decay},
        {"params": [value for value in trained if id(value) in undecayed], "weight_decay": 0.0},
    ]
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(groups, lr=config.learning_rate, rho=0.95, eps=config.adadelta_epsilon)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.learning_rate, fused=True)


@dataclass(frozen=True)
class TaskProgress:
    """How far a run has come, and how well it went."""

    epoch: int = 0
    """Number of finished epochs."""
    step: int = 0
    """Number of optimiser steps so far."""
    rate_factor: float = 1.0
    """Factor on the learning rate, from halving it."""
    epochs_since_halving: int = 0
    """Epochs without a better score since the best one or the last halving."""
    best_epoch: int = 0
    """Number of the epoch with the best score, counted from 1."""
    best_score: float | None = None
    """Best score on the development set; None before the first epoch."""
    seconds: float = 0.0
    """Wall-clock seconds of training and evaluating."""
    processor_seconds: float = 0.0
    """CPU seconds of the same, over all threads, without other programs."""

    def after(self, score: float, *, config: TrainingConfig, step: int, began: tuple[float, float]) -> TaskProgress:
        """The progress after one more epoch with this score; `began` is what `clocks()` returned before the epoch."""
        seconds, processor_seconds = (now - before for now, before in zip(clocks(), began, strict=True))
        done = replace(
            self,
            epoch=self.epoch + 1,
            step=step,
            seconds=self.seconds + seconds,
            processor_seconds=self.processor_seconds + processor_seconds,
        )
        if self.best_score is None or score > self.best_score:
            return replace(done, best_epoch=done.epoch, best_score=score, epochs_since_halving=0)
        waited = self.epochs_since_halving + 1
        if config.halve_after and waited >= config.halve_after:
            return replace(done, epochs_since_halving=0, rate_factor=self.rate_factor / 2)
        return replace(done, epochs_since_halving=waited)

    def stopped_by(self, config: TrainingConfig) -> str | None:
        """What ends the run now: "patience" (also if both do), or "max_epochs"; None if training continues."""
        if self.epoch - self.best_epoch >= config.patience and self.step >= config.min_steps:
            return "patience"
        return "max_epochs" if self.epoch >= config.max_epochs else None


def clocks() -> tuple[float, float]:
    """Wall-clock and CPU seconds from an arbitrary start; only differences are meaningful."""
    return time.monotonic(), time.process_time()


def read_progress(path: Path) -> TaskProgress:
    """Read the progress from a checkpoint's header. Raises FileNotFoundError, and FormatError for a damaged one."""
    return parse_json(read_layout(path).metadata.get("progress", ""), TaskProgress, where=path, part="progress")
