"""What the trainings of comparators share: checks of settings, a step, and a run folder."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from elmokit.files.json_fields import Fields
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME, new_run, read_config, start_writing, write_config
from elmokit.runs.metrics_log import append_json_line
from elmokit.runs.optimizer_state import DivergenceError
from elmokit.system.messages import FormatError
from elmokit.tasks.config import check_bounds

FORMAT = "elmokit-comparator"
VERSION = 1


def check_config(config: Any, *, positive: Sequence[str], rates: Sequence[str] = ()) -> None:
    """Check a config: counts of at least 1, rates of dropout, and whatever it has of the learning rate, norm and seed.

    Raises ValueError, naming the field.
    """
    check_bounds(config, positive=positive, rates=rates)
    for name in ("learning_rate", "clip_norm"):
        if not getattr(config, name, 1) > 0:
            raise ValueError(f"{name} is {getattr(config, name)}; it must be positive")
    if not 0 <= config.seed < 1 << 63:
        raise ValueError(f"seed is {config.seed}; expected 0 to 2 ** 63 - 1")


def update(loss: Tensor, module: nn.Module, optimizer: Optimizer, *, clip_norm: float, where: str) -> float:
    """One step down the gradient of the loss; returns its value. Raises DivergenceError if it is not finite."""
    if not torch.isfinite(loss):
        raise DivergenceError(f"the loss became {loss.item()} in {where}; lower learning_rate")
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(module.parameters(), clip_norm)
    optimizer.step()
    return loss.item()


@contextmanager
def comparator_run(
    run_dir: Path, system: str, config: Any, *, files: Sequence[Path], written: Sequence[str]
) -> Generator[Callable[..., None]]:
    """Hold the lock of a new run with its config.json; yields what appends numbers to its log.

    config: its settings, a dataclass.
    written: names of the files that the training writes.
    Raises ValueError for a folder that already holds a run, or a file that it would write, and OSError as `new_run`
    does.
    """
    if (run_dir / CONFIG_NAME).exists():
        raise ValueError(f"{run_dir} already holds a run; choose another folder")
    values = {"system": system, "settings": dataclasses.asdict(config), "files": [str(path) for path in files]}
    start = time.monotonic()

    def log(**numbers: float) -> None:
        append_json_line(run_dir / METRICS_NAME, {**numbers, "seconds": round(time.monotonic() - start, 1)})

    with new_run(run_dir, files=(METRICS_NAME, *written)):
        start_writing(run_dir)
        write_config(run_dir, values, format=FORMAT, version=VERSION)
        yield log


def read_comparator_settings(run_dir: Path, system: str) -> Fields:
    """The settings of a run of this system. Raises FileNotFoundError, and ValueError for another kind of folder."""
    values = read_config(run_dir, format=FORMAT, version=VERSION, verb="train-comparator")
    if values.get("system") != system:
        raise FormatError(run_dir / CONFIG_NAME, f"is of {values.get('system')!r}; expected {system}")
    return Fields(run_dir / CONFIG_NAME, values).fields("settings")
