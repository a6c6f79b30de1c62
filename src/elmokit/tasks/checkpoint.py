"""The checkpoint of a task's run, `checkpoint.safetensors`: the state after its last epoch.

It has the weights, the optimiser's state and the moving average, and the progress as JSON in its header: a single file,
so that it is replaced atomically. Random numbers follow from the seed and the epoch.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.files.safetensors import read_layout
from elmokit.runs.folder import METRICS_NAME
from elmokit.runs.metrics_log import read_log
from elmokit.runs.tensor_files import (
    check_tensors,
    expected_optimizer_tensors,
    load_optimizer,
    optimizer_tensors,
    read_tensors,
    tensors_under,
    write_tensors,
)
from elmokit.tasks.config import TrainingConfig
from elmokit.tasks.run_folder import BEST_FILE, CHECKPOINT_FILE
from elmokit.tasks.task_model import TaskModel

MODEL_PREFIX = "model."
AVERAGE_PREFIX = "average."


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

    def after(self, score: float, *, config: TrainingConfig, step: int, began: tuple[float, float]) -> TaskProgress:
        """The progress after one more epoch, which reached that score; `began` is what `clocks()` said before it."""
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
        """What ends the run now: "patience", which wins, or "max_epochs"; None if training continues."""
        if self.epoch - self.best_epoch >= config.patience and self.step >= config.min_steps:
            return "patience"
        return "max_epochs" if self.epoch >= config.max_epochs else None


def clocks() -> tuple[float, float]:
    """Wall-clock and CPU seconds from an arbitrary start; only differences are meaningful."""
    return time.monotonic(), time.process_time()


def write_checkpoint(
    run_dir: Path, progress: TaskProgress, model: TaskModel, optimizer: torch.optim.Optimizer, average: Sequence[Tensor]
) -> None:
    """Replace the checkpoint of a run."""
    tensors = {f"{MODEL_PREFIX}{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= _named(average)
    tensors |= optimizer_tensors(optimizer)
    write_tensors(run_dir / CHECKPOINT_FILE, tensors, metadata={"progress": json.dumps(asdict(progress))})


def load_checkpoint(
    run_dir: Path, model: TaskModel, optimizer: torch.optim.Optimizer, average: Sequence[Tensor]
) -> TaskProgress | None:
    """Load a checkpoint into the model, the optimiser and the average, once all of it has been checked.

    Returns the progress, or None for a run that was stopped in its first epoch.

    model, optimizer, average: those of the run at its start.
    FormatError, a ValueError, and OSError name the file that is damaged or gone.
    """
    path = run_dir / CHECKPOINT_FILE
    if not path.exists():
        epochs = [record.integer("epoch") for record in read_log(run_dir / METRICS_NAME).fields()]
        if max(epochs, default=0) > 1:  # an epoch is logged before its checkpoint
            raise FileNotFoundError(f"{path} is missing, and the run has finished more than one epoch; put back a copy")
        return None
    progress = read_progress(path)
    tensors = read_tensors(path)
    others = {name: tensor for name, tensor in tensors.items() if not name.startswith(MODEL_PREFIX)}
    weights = tensors_under(MODEL_PREFIX, tensors)
    check_tensors(path, weights, model.state_dict())
    check_tensors(path, others, _named(average) | expected_optimizer_tensors(optimizer, found=others))
    if progress.best_epoch:
        check_tensors(run_dir / BEST_FILE, read_tensors(run_dir / BEST_FILE), model.state_dict())
    model.load_state_dict(weights)
    load_optimizer(optimizer, others)
    for name, value in _named(average).items():
        value.copy_(others[name])
    return progress


def read_progress(path: Path) -> TaskProgress:
    """Read the progress from a checkpoint's header. Raises FileNotFoundError, and FormatError for a damaged one."""
    metadata = Fields(path, read_layout(path).metadata)
    fields = Fields(path, parse_json_object(metadata.text("progress"), where=path), prefix="progress.")
    return fields.as_dataclass(TaskProgress, complete=True, bounds={"best_score": (-math.inf, math.inf)})


def _named(average: Sequence[Tensor]) -> dict[str, Tensor]:
    return {f"{AVERAGE_PREFIX}{index}": tensor for index, tensor in enumerate(average)}
