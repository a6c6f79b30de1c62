"""What the trainings of comparators share: checks of settings, a step, and a run folder with one checkpoint in it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from elmokit.files.digests import file_digest
from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.runs.folder import (
    CONFIG_NAME,
    METRICS_NAME,
    existing_run,
    new_run,
    read_config,
    start_writing,
    write_config,
)
from elmokit.runs.metrics_log import append_json_line, keep_records
from elmokit.runs.optimizer_state import (
    DivergenceError,
    check_tensors,
    load_optimizer,
    optimizer_tensors,
    tensors_under,
)
from elmokit.runs.tensor_files import read_tensors, write_tensors
from elmokit.system.messages import FormatError
from elmokit.tasks.config import check_bounds

FORMAT = "elmokit-comparator"
VERSION = 1
CHECKPOINT_FILE = "checkpoint.safetensors"
DIGESTS_KEY = "files_sha256"


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


@dataclass(frozen=True)
class ComparatorRun:
    """A run that is being written: its weights, and until it has ended, a checkpoint next to them."""

    run_dir: Path
    result: str
    """Name of the file of the weights."""
    start: float = dataclasses.field(default_factory=time.monotonic)

    def load(self, model: nn.Module, optimizer: Optimizer, unit: str) -> int:
        """Restore model and optimiser, and return how many steps or epochs were made; 0 if there is no checkpoint.

        Raises FormatError, before anything is changed, for a damaged file or one of another model.
        """
        path = self.run_dir / CHECKPOINT_FILE
        if not path.exists():
            return 0
        file = read_tensors(path)
        weights = tensors_under("model.", file.tensors)
        check_tensors(path, weights, model.state_dict())
        model.load_state_dict(weights)
        load_optimizer(optimizer, file.tensors)
        return Fields(path, parse_json_object(file.metadata["progress"], where=path), prefix="progress.").integer(unit)

    def keep_log(self, keep: Callable[[Fields], bool]) -> None:
        """Take what the log has after the checkpoint out of it."""
        keep_records(self.run_dir / METRICS_NAME, keep)

    def log(self, **numbers: float) -> None:
        """Append numbers to the log, with the seconds since the run was opened."""
        seconds = round(time.monotonic() - self.start, 1)
        append_json_line(self.run_dir / METRICS_NAME, {**numbers, "seconds": seconds})

    def save(self, model: nn.Module, optimizer: Optimizer, progress: Mapping[str, int], weights: nn.Module) -> None:
        """Write the checkpoint in place of the one before, then the weights; without a checkpoint, they are final."""
        tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
        metadata = {"progress": json.dumps(dict(progress))}
        write_tensors(self.run_dir / CHECKPOINT_FILE, tensors | optimizer_tensors(optimizer), metadata=metadata)
        write_tensors(self.run_dir / self.result, weights.state_dict())

    def finish(self, weights: nn.Module) -> None:
        """Write the weights, and remove the checkpoint."""
        write_tensors(self.run_dir / self.result, weights.state_dict())
        (self.run_dir / CHECKPOINT_FILE).unlink(missing_ok=True)


@contextmanager
def comparator_run(
    run_dir: Path,
    system: str,
    config: Any,
    *,
    files: Sequence[Path],
    resume: bool,
    result: str,
    others: Sequence[str] = (),
) -> Generator[ComparatorRun]:
    """Hold the lock of a new run with its config.json, or of an interrupted one that is continued.

    config: its settings, a dataclass.
    result: the file that the training writes; a run that has it and no checkpoint has ended.
    others: names of what it writes besides.
    Raises ValueError for a folder that already holds a run, or a file that it would write, or, to be continued, a run
    of other settings or files, or one that has ended; FileNotFoundError if there is nothing to continue; and OSError as
    `new_run` does.
    """
    digests = [file_digest(path, "sha256").hex() for path in files]
    settings = dataclasses.asdict(config)
    values = {"system": system, "settings": settings, "files": [str(path) for path in files], DIGESTS_KEY: digests}
    if not resume:
        written = (METRICS_NAME, CHECKPOINT_FILE, result, *others)
        with new_run(run_dir, files=written, resume_with="the same command and --resume, or resume=True"):
            start_writing(run_dir)
            write_config(run_dir, values, format=FORMAT, version=VERSION)
            yield ComparatorRun(run_dir, result)
        return
    with existing_run(run_dir):
        before = _flat({DIGESTS_KEY: digests} | _read(run_dir, system))  # earlier versions have no digests
        now = _flat(json.loads(json.dumps(values)))
        if different := [name for name, value in now.items() if name not in before or before[name] != value]:
            raise ValueError(
                f"{run_dir} holds a run with other {', '.join(different)}; expected the same command again"
            )
        if not (run_dir / CHECKPOINT_FILE).exists() and (run_dir / result).exists():
            raise ValueError(f"{run_dir} has ended: {result} is the trained model")
        yield ComparatorRun(run_dir, result)


def read_comparator_settings(run_dir: Path, system: str) -> Fields:
    """The settings of a run of this system. Raises FileNotFoundError, and ValueError for another kind of folder."""
    return Fields(run_dir / CONFIG_NAME, _read(run_dir, system)).fields("settings")


def _read(run_dir: Path, system: str) -> dict[str, Any]:
    values = read_config(run_dir, format=FORMAT, version=VERSION, verb="train-comparator")
    if values.get("system") != system:
        raise FormatError(run_dir / CONFIG_NAME, f"is of {values.get('system')!r}; expected {system}")
    return values


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values["settings"], "files": values["files"], "contents of files": values[DIGESTS_KEY]}
