"""Checkpoints: everything that a run needs to continue as if it had never stopped, in a folder written atomically.

`model.safetensors` holds the weights, including the softmax, in the native format; `training.safetensors` the state of
the optimiser and the carried LSTM states; `training.json` the step, the position in the text and the best perplexity.
Random numbers follow from the seed and the step, so no generator's state is needed. Nothing is pickled. Each file has a
checksum, so a checkpoint in which a single bit is damaged is passed over; one with a number that is not finite is never
written. Names and shapes are those of the model when it is filled.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmokit.corpus.batches import PackerState
from elmokit.files.atomic import temporary_folder, write_text
from elmokit.files.json_fields import Fields, read_json_object
from elmokit.formats.native import WEIGHTS_NAME
from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.pretraining.config import KEPT, PretrainingConfig
from elmokit.pretraining.optimizers import CombinedOptimizer
from elmokit.pretraining.run_folder import RunRecord
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.runs.tensor_files import CHECKSUM, load_optimizer, read_tensors, tensors_under, write_tensors
from elmokit.system.messages import FormatError, join_names
from elmokit.system.python import warn_caller

TENSORS_FILE = "training.safetensors"
PROGRESS_FILE = "training.json"
MAX_PROGRESS_BYTES = 1 << 32
"""It has the rest of the sentence of each stream, which may be a line of text of up to 16 MB."""
_KEPT = "settings"
"""Name of the settings of the run in `training.json`, next to those of the progress."""
_NAME = re.compile(r"step-\d{8,}")


@dataclass(frozen=True)
class LossWindow:
    """Losses of the steps since the last line of metrics.jsonl, and the time of those that this process made."""

    step_losses: tuple[tuple[float, ...], ...] = ()
    """Mean loss of each direction in each step, in nats per predicted token."""
    num_timed_steps: int = 0
    """Number of the last steps that were timed; the others came from a checkpoint, which has no times."""
    seconds: float = 0.0

    @property
    def losses(self) -> list[float]:
        return [sum(column) / len(column) for column in zip(*self.step_losses, strict=True)]

    @property
    def loss(self) -> float:
        return sum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class BestSoFar:
    """The lowest held-out perplexity of the evaluations, and the number of evaluations since."""

    perplexity: float | None = None
    num_evaluations_since: int = 0


@dataclass(frozen=True)
class PretrainingProgress:
    """Steps, corpus tokens and seconds so far, where the text continues, losses not yet logged, the best perplexity."""

    packers: tuple[PackerState, ...]
    """Position in the text of each direction, forward first."""
    step: int = 0
    num_tokens: int = 0
    seconds: float = 0.0
    """Seconds of reading text and optimising, without evaluations and checkpoints."""
    window: LossWindow = LossWindow()
    best: BestSoFar = BestSoFar()

    def after(
        self, losses: tuple[float, ...], *, num_tokens: int, seconds: float, packers: Sequence[PackerState]
    ) -> PretrainingProgress:
        window = self.window
        return replace(
            self,
            step=self.step + 1,
            num_tokens=self.num_tokens + num_tokens,
            seconds=self.seconds + seconds,
            packers=tuple(packers),
            window=LossWindow((*window.step_losses, losses), window.num_timed_steps + 1, window.seconds + seconds),
        )

    def evaluated(self, perplexity: float) -> PretrainingProgress:
        if self.best.perplexity is None or perplexity < self.best.perplexity:
            return replace(self, best=BestSoFar(perplexity))
        return replace(self, best=BestSoFar(self.best.perplexity, self.best.num_evaluations_since + 1))

    def finished(self, config: PretrainingConfig) -> bool:
        """Whether the last step is done, or the held-out perplexity has not improved for `patience` evaluations."""
        return self.step >= config.num_steps or 0 < config.patience <= self.best.num_evaluations_since

    def to_json(self) -> dict[str, object]:
        """The contents of a checkpoint's `training.json`, without the times of the window."""
        return {
            "step": self.step,
            "num_tokens": self.num_tokens,
            "seconds": self.seconds,
            "packers": [asdict(packer) for packer in self.packers],
            "unlogged_losses": self.window.step_losses,
            "best": asdict(self.best),
        }

    @classmethod
    def from_json(cls, record: Fields) -> PretrainingProgress:
        """The progress that `to_json` wrote, also in versions without `best`.

        Raises FormatError, which names the field, for anything else.
        """
        losses = record.read("unlogged_losses", tuple[tuple[float, ...], ...])
        best: dict[str, Any] = {} if "best" in record else {"best": BestSoFar()}
        return record.as_dataclass(cls, complete=True, window=LossWindow(losses), **best)


@dataclass(frozen=True)
class Checkpoint:
    """All of a checkpoint, read or to be written; its tensors may be the run's own, not copies."""

    path: Path
    """Its folder, `RUN/checkpoints/step-XXXXXXXX`."""
    weights: dict[str, Tensor]
    """Of the biLM and, under `softmax.`, of the softmax."""
    tensors: dict[str, Tensor]
    """Of the optimiser, and the carried LSTM states of all streams; there are none before the first step."""
    progress: PretrainingProgress

    def is_finite(self) -> bool:
        # both bounds are NaN if there is one; `torch.isfinite` would take as much memory again
        bounds = (torch.aminmax(tensor) for own in (self.weights, self.tensors) for tensor in own.values())
        return all(math.isfinite(low.item()) and math.isfinite(high.item()) for low, high in bounds)


def save_checkpoint(checkpoint: Checkpoint, config: PretrainingConfig) -> None:
    """Write a checkpoint, and remove those that the config does not keep."""
    final, parent, step = checkpoint.path, checkpoint.path.parent, checkpoint.progress.step
    parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(final) as folder:
        writing = folder / final.name
        writing.mkdir()
        write_tensors(writing / WEIGHTS_NAME, checkpoint.weights, metadata={"step": str(step)})
        write_tensors(writing / TENSORS_FILE, checkpoint.tensors)
        record = checkpoint.progress.to_json() | {_KEPT: {name: getattr(config, name) for name in KEPT}}
        write_text(writing / PROGRESS_FILE, json.dumps(record | {CHECKSUM: _checksum(record)}))
        _sync(writing)
        if final.exists():
            shutil.rmtree(final)
        os.replace(writing, final)
    _sync(parent)
    publish(final / WEIGHTS_NAME, parent.parent / WEIGHTS_NAME)
    known = checkpoints(parent.parent)
    for later in known[: known.index(final)]:  # damaged, because otherwise this run would have continued from them
        shutil.rmtree(later)
    _remove_older(final, config)


def _remove_older(newest: Path, config: PretrainingConfig) -> None:
    """Remove the checkpoints that the config does not keep, except those of later steps than `newest`."""
    known = checkpoints(newest.parents[1])
    for checkpoint in known[known.index(newest) + config.keep_checkpoints :]:
        if not config.keep_every or _step(checkpoint) % config.keep_every:
            shutil.rmtree(checkpoint)


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def checkpoints(run_dir: Path) -> list[Path]:
    """The checkpoints of a run, newest first; copies under other names are left alone."""
    found = (run_dir / "checkpoints").glob("step-*")
    return sorted((path for path in found if _NAME.fullmatch(path.name)), key=_step, reverse=True)


def checkpoint_to_resume(run_dir: Path, record: RunRecord, *, from_start: bool) -> Checkpoint | None:
    """The newest checkpoint that is whole; damaged ones are passed over with a warning.

    None for a run that was stopped before its first checkpoint. One whose checkpoints are lost starts again only with
    `from_start`, and without it ValueError says what is wrong with each of them; so it does for a fine-tuned run in any
    case, and for `from_start` where a checkpoint can be read. Any other OSError is not taken for damage: the disk may
    answer the next time, and the next save removes damaged checkpoints.
    """
    config, started_from = record.config, record.started_from
    refused: list[tuple[Path, str]] = []
    for path in checkpoints(run_dir):
        try:
            checkpoint = read_checkpoint(path, config=config)
        except (FormatError, FileNotFoundError) as error:
            refused.append((path, str(error)))
            continue
        if from_start:
            raise ValueError(f"{path} can be read: leave out --from-start, or from_start=True, to continue from it")
        for damaged, reason in refused:
            warn_caller(f"{damaged} cannot be read ({reason}); going back to {path.name}")
        publish(path / WEIGHTS_NAME, run_dir / WEIGHTS_NAME)  # a kill may have come before that,
        _remove_older(path, config)  # or in the middle of it
        return checkpoint
    has_weights, has_log = ((run_dir / name).exists() for name in (WEIGHTS_NAME, METRICS_NAME))
    if has_weights and not refused and not has_log:
        raise ValueError(
            f"{run_dir} is a model and not a run: it has no checkpoint and no {METRICS_NAME}; to train it on, "
            "fine-tune it into another folder (elmokit finetune)"
        )
    if started_from is None and (from_start or not (refused or has_weights)):
        return None
    found = "; ".join(f"{path.name} ({reason})" for path, reason in refused) or "there is none"
    again = "train again from the first step with --from-start, or from_start=True"
    if started_from is not None:
        again = f"fine-tune {started_from} again into another folder"
    unchanged = "Nothing was changed; put back a copy of one"
    raise ValueError(f"{run_dir} has no checkpoint that can be read: {found}. {unchanged}, or {again}")


def read_checkpoint(path: Path, *, config: PretrainingConfig) -> Checkpoint:
    """Read a whole checkpoint of a run with this config.

    Raises FormatError, which names the file and what is wrong with it, FileNotFoundError for a file that is missing,
    and OSError for what cannot be read.
    """
    weights = read_tensors(path / WEIGHTS_NAME)
    progress = _read_progress(path / PROGRESS_FILE, config)
    return Checkpoint(path, weights, read_tensors(path / TENSORS_FILE), progress)


def fill(
    checkpoint: Checkpoint, *, bilm: BiLM, softmax: Softmax, optimizer: torch.optim.Optimizer | CombinedOptimizer
) -> BiLMState | None:
    """Give the weights and the optimiser's state of a checkpoint to a model; the carried states of all streams.

    Raises FormatError for the weights of another model.
    """
    of_softmax = tensors_under("softmax.", checkpoint.weights)
    try:
        softmax.load_state_dict(of_softmax)
        bilm.load_state_dict({name: own for name, own in checkpoint.weights.items() if not name.startswith("softmax.")})
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise FormatError(checkpoint.path / WEIGHTS_NAME, f"is not of the model in config.json: {reason}") from error
    load_optimizer(optimizer, checkpoint.tensors)
    return _read_state(checkpoint.tensors, bilm)


def _checksum(record: dict[str, object]) -> str:
    """Of the record without its checksum."""
    return hashlib.blake2b(json.dumps(record).encode(), digest_size=16).hexdigest()


def _read_progress(path: Path, config: PretrainingConfig) -> PretrainingProgress:
    """The progress of a checkpoint; one of an earlier version has no checksum, and no settings of the run.

    Raises ValueError, and not FormatError, if the config has others.
    """
    record = read_json_object(path, max_bytes=MAX_PROGRESS_BYTES)
    checksum = record.pop(CHECKSUM, None)
    if checksum is not None and checksum != _checksum(record):
        raise FormatError(path, "does not have the checksum that was written with it: it is damaged")
    if _KEPT in record:
        kept = Fields(path, record).fields(_KEPT)
        others = [f"{name}={kept.value(name)}" for name in KEPT if kept.value(name) != getattr(config, name)]
        if others:
            raise ValueError(
                f"{path} is of a run with {join_names(others)}; put that back into the run's {CONFIG_NAME}"
            )
        del record[_KEPT]
    return PretrainingProgress.from_json(Fields(path, record))


def all_weights(bilm: BiLM, softmax: Softmax) -> dict[str, Tensor]:
    """The weights of both by name, those of the softmax under `softmax.`."""
    return dict(bilm.state_dict()) | {f"softmax.{name}": tensor for name, tensor in softmax.state_dict().items()}


def state_tensors(state: BiLMState | None) -> dict[str, Tensor]:
    """The carried LSTM states by name; none before the first step."""
    sides = () if state is None else (("forward", state.forward), ("backward", state.backward))
    return {
        f"state.{direction}.{index}.{name}": tensor
        for direction, layers in sides
        for index, layer in enumerate(layers)
        for name, tensor in (("cell", layer.cell), ("output", layer.output))
    }


def _read_state(tensors: dict[str, Tensor], bilm: BiLM) -> BiLMState | None:
    if not any(name.startswith("state.") for name in tensors):
        return None
    device = bilm.char_encoder.embedding.weight.device

    def layers(direction: str, count: int) -> tuple[LSTMState, ...]:
        own = (tensors_under(f"state.{direction}.{index}.", tensors) for index in range(count))
        return tuple(LSTMState(layer["cell"].to(device), layer["output"].to(device)) for layer in own)

    count = bilm.config.num_layers
    return BiLMState(layers("forward", count), layers("backward", count if bilm.config.bidirectional else 0))


def publish(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy if the file system has no hard links."""
    with temporary_folder(target) as folder:
        temporary = folder / target.name
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
            _sync(temporary)
        os.replace(temporary, target)


def _sync(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk; no folder on Windows, which cannot open any."""
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
