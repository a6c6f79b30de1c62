"""The supervised loop: epochs of steps, a score on the development set after each epoch, the best weights kept.

`checkpoint.safetensors` is the state after the last epoch: weights, optimiser, moving average, and the progress as
JSON in its header; a single file, so that it is replaced atomically. Random numbers follow from the seed and the epoch.
"""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

import torch
from torch import Tensor, nn

from elmokit.layers.scalar_mix import ScalarMix, SingleLayer
from elmokit.runs.folder import METRICS_NAME
from elmokit.runs.metrics_log import append_json_line, read_log
from elmokit.runs.tensor_files import read_tensors, write_tensors
from elmokit.runs.training import (
    DivergenceError,
    check_tensors,
    expected_optimizer_tensors,
    load_optimizer,
    optimizer_tensors,
    tensors_under,
)
from elmokit.system.json_fields import Fields, parse_json_object
from elmokit.system.progress import progress_bar
from elmokit.system.safetensors import read_layout
from elmokit.tasks.batching import predict_all, training_batches
from elmokit.tasks.old_runs import current_tensors
from elmokit.tasks.run_folder import BEST_FILE, CHECKPOINT_FILE
from elmokit.tasks.task import E, P

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from elmokit.tasks.config import TrainingConfig
    from elmokit.tasks.task import Task
    from elmokit.tasks.task_model import TaskModel


MODEL_PREFIX = "model."
AVERAGE_PREFIX = "average."


@dataclass(frozen=True)
class Clock:
    """Wall-clock and CPU seconds from an arbitrary start; only differences are meaningful."""

    seconds: float
    processor_seconds: float

    @classmethod
    def now(cls) -> Clock:
        """Read both clocks."""
        return cls(time.monotonic(), time.process_time())


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
    """CPU seconds of the same, of all threads; they exclude other programs."""

    def after(self, score: float, *, config: TrainingConfig, step: int, began: Clock) -> TaskProgress:
        """The progress after one more epoch, which began at `began` and reached that score on the development set."""
        now = Clock.now()
        done = replace(
            self,
            epoch=self.epoch + 1,
            step=step,
            seconds=self.seconds + now.seconds - began.seconds,
            processor_seconds=self.processor_seconds + now.processor_seconds - began.processor_seconds,
        )
        if self.best_score is None or score > self.best_score:
            return replace(done, best_epoch=done.epoch, best_score=score, epochs_since_halving=0)
        waited = self.epochs_since_halving + 1
        if config.halve_after and waited >= config.halve_after:
            return replace(done, epochs_since_halving=0, rate_factor=self.rate_factor / 2)
        return replace(done, epochs_since_halving=waited)

    def converged(self, config: TrainingConfig) -> bool:
        """Whether the score has not improved for `patience` epochs, after at least `min_steps` steps."""
        return self.epoch - self.best_epoch >= config.patience and self.step >= config.min_steps

    def finished(self, config: TrainingConfig) -> bool:
        """Whether the last epoch is done, or the run has converged."""
        return self.epoch >= config.max_epochs or self.converged(config)


@dataclass(frozen=True)
class _Checkpoint:
    """All of a checkpoint, checked."""

    progress: TaskProgress
    weights: dict[str, Tensor]
    """By the names of today."""
    others: dict[str, Tensor]
    """Of the optimiser, and the moving average."""


class Training(Generic[E, P]):
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
        self.progress = TaskProgress()
        self.optimizer = _new_optimizer(self.model, config)
        self.parameters = [value for value in self.model.parameters() if value.requires_grad]
        self.cuda_devices = list({value.device for value in self.parameters if value.is_cuda})
        self.average = [value.detach().clone() for value in self.parameters] if config.average_decay else []

    def load(self, *, from_start: bool = False) -> None:
        """Continue after the last finished epoch, if there is one.

        Raises ValueError, and changes nothing, when the checkpoint or the weights of the best epoch cannot be read;
        with `from_start` the run stays at its start instead, and a checkpoint that can be read is the ValueError.
        """
        try:
            with nothing_changed():
                checkpoint = self._read_checkpoint()
        except ValueError:
            if from_start:
                return
            raise
        if checkpoint is None:
            return
        if from_start:
            raise ValueError(
                f"{self.run_dir / CHECKPOINT_FILE} can be read: leave out --from-start to continue from it"
            )
        self.progress = checkpoint.progress
        self.model.load_state_dict(checkpoint.weights)
        load_optimizer(self.optimizer, checkpoint.others)
        average = tensors_under(AVERAGE_PREFIX, checkpoint.others)
        self.average = [average[str(index)].to(old.device) for index, old in enumerate(self.average)]

    def run(self) -> TaskProgress:
        """Train until the last epoch, or until patience runs out."""
        while not self.progress.finished(self.config):
            began = Clock.now()
            loss, step = self._one_epoch()
            rate = self._learning_rate(step - 1)
            scores = self._evaluate()
            score = scores[self.task.metric]
            self.progress = self.progress.after(score, config=self.config, step=step, began=began)
            if self.progress.best_epoch == self.progress.epoch:
                self._save_best()
            self._log(loss, rate, scores)
            self._save_checkpoint()
        return self.progress

    def _one_epoch(self) -> tuple[float, int]:
        """Train for an epoch; the mean loss of its batches, and the number of steps so far."""
        groups = self._batches()
        step = self.progress.step
        total = 0.0
        self.model.train()
        with (
            torch.random.fork_rng(self.cuda_devices),
            progress_bar(unit="step", total=len(groups), label=f"epoch {self.progress.epoch + 1}", keep=False) as bar,
        ):
            torch.manual_seed(self.config.seed * 1_000_003 + self.progress.epoch)
            for number, group in enumerate(groups, start=1):
                total += self._one_step(group, step)
                step += 1
                bar.set_postfix_str(f"loss {total / number:.4f}", refresh=False)
                bar.update()
        if not all(bool(torch.isfinite(value).all()) for value in self.parameters):
            raise self._diverged("a weight", step - 1)  # the loss of another step would have shown it
        return total / len(groups), step

    def _batches(self) -> list[list[E]]:
        """The batches of an epoch: all examples once, or as often as `min_epoch_steps` takes."""
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
        self._update_average(step)
        return value

    def _learning_rate(self, step: int) -> float:
        config = self.config
        return config.learning_rate * self.progress.rate_factor * config.decay ** (step // config.decay_steps)

    @torch.no_grad()
    def _update_average(self, step: int) -> None:
        """With the warm-up, the decay grows with the steps, like TensorFlow's with `num_updates`."""
        if self.average:
            decay = self.config.average_decay
            if self.config.average_warm_up:
                decay = min(decay, (1 + step) / (10 + step))
            for average, parameter in zip(self.average, self.parameters, strict=True):
                average.lerp_(parameter, 1 - decay)

    def _evaluate(self) -> Mapping[str, float]:
        with _Swapped(self.parameters, self.average):
            predictions = predict_all(self.task, self.model, self.dev, batch_size=self.config.batch_size)
        scores = self.task.score(self.dev, predictions)
        if not math.isfinite(scores[self.task.metric]):
            raise ValueError(f"{self.task.metric} of the development set is {scores[self.task.metric]}")
        return scores

    def _save_best(self) -> None:
        with _Swapped(self.parameters, self.average):
            write_tensors(self.run_dir / BEST_FILE, self.model.state_dict())

    def _read_checkpoint(self) -> _Checkpoint | None:
        """All of it, checked; None of a run that was stopped in its first epoch.

        FormatError, a ValueError, and OSError name the file that is damaged or gone.
        """
        path = self.run_dir / CHECKPOINT_FILE
        if not path.exists():
            if _last_logged_epoch(self.run_dir / METRICS_NAME) > 1:  # an epoch is logged before its checkpoint
                raise FileNotFoundError(f"{path} is missing, and the run has finished more than one epoch")
            return None
        progress = read_progress(path)
        tensors = read_tensors(path).tensors
        others = {name: tensor for name, tensor in tensors.items() if not name.startswith(MODEL_PREFIX)}
        weights = self._checked_weights(path, tensors_under(MODEL_PREFIX, tensors))
        average = {f"{AVERAGE_PREFIX}{index}": tensor for index, tensor in enumerate(self.average)}
        check_tensors(path, others, average | expected_optimizer_tensors((self.optimizer,), others, every=False))
        if progress.best_epoch:
            self._checked_weights(self.run_dir / BEST_FILE, read_tensors(self.run_dir / BEST_FILE).tensors)
        return _Checkpoint(progress, weights, others)

    def _checked_weights(self, path: Path, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        weights = current_tensors(tensors, self.model.inputs.config)
        check_tensors(path, weights, self.model.state_dict())
        return weights

    def _save_checkpoint(self) -> None:
        tensors = {f"{MODEL_PREFIX}{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"{AVERAGE_PREFIX}{index}": tensor for index, tensor in enumerate(self.average)}
        tensors |= optimizer_tensors(self.optimizer)
        progress = {"progress": json.dumps(asdict(self.progress))}
        write_tensors(self.run_dir / CHECKPOINT_FILE, tensors, metadata=progress)

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
        score = f"{self.task.metric} {scores[self.task.metric]:.2f}"
        print(
            f"epoch {now.epoch}: loss {loss:.4f}, {score} ({best}), {now.seconds:,.0f} s", file=sys.stderr, flush=True
        )

    def _diverged(self, what: str, step: int) -> DivergenceError:
        return DivergenceError(
            f"epoch {self.progress.epoch + 1}, step {step}: {what} is not finite, so training has diverged; start "
            "another run with a lower learning_rate, or clip the gradient (clip_norm)"
        )


@contextmanager
def nothing_changed() -> Generator[None]:
    """Errors of files that a run is to be continued from say that nothing was changed, and what can be done."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise ValueError(
            f"{error}. Nothing was changed; put back a copy of the file, or train again from the first epoch with "
            "--from-start"
        ) from error


def _last_logged_epoch(log: Path) -> int:
    """0 if there is none. Raises FormatError for a line without an epoch."""
    lines = enumerate(read_log(log).records, start=1)
    return max((Fields(f"{log}, line {number}", record).integer("epoch") for number, record in lines), default=0)


def read_progress(path: Path) -> TaskProgress:
    """Read the progress from a checkpoint's header. Raises FileNotFoundError, and FormatError for a damaged one."""
    metadata = Fields(path, read_layout(path).metadata)
    fields = Fields(path, parse_json_object(metadata.text("progress"), where=path), prefix="progress.")
    return TaskProgress(
        epoch=fields.integer("epoch"),
        step=fields.integer("step"),
        rate_factor=fields.number("rate_factor"),
        epochs_since_halving=fields.integer("epochs_since_halving"),
        best_epoch=fields.integer("best_epoch"),
        best_score=None if fields.value("best_score") is None else fields.number("best_score", least=-math.inf),
        seconds=fields.number("seconds"),
        processor_seconds=fields.number("processor_seconds") if "processor_seconds" in fields else 0.0,
    )


class _Swapped:
    """Swaps the weights with their moving average for a while; does nothing if there is no average."""

    def __init__(self, parameters: list[nn.Parameter], average: list[Tensor]) -> None:
        self.pairs = list(zip(parameters, average, strict=bool(average)))

    def __enter__(self) -> None:
        self._swap()

    def __exit__(self, *error: object) -> None:
        self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for parameter, average in self.pairs:
            kept = parameter.clone()
            parameter.copy_(average)
            average.copy_(kept)


def _new_optimizer(module: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
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
