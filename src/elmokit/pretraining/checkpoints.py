"""Checkpoints: everything that a run needs to continue as if it had never stopped, in a folder written atomically.

`model.safetensors` holds the weights, including the softmax, in the native format; `training.safetensors` the state of
the optimiser and the carried LSTM states; `training.json` the step, the position in the text and the best perplexity.
Random numbers follow from the seed and the step, so no generator's state is needed. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import torch
from torch import Tensor

from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.model.formats.native import WEIGHTS_NAME
from elmokit.pretraining.optimizers import CombinedOptimizer
from elmokit.pretraining.progress import PretrainingProgress
from elmokit.runs.tensor_files import read_tensors, write_tensors
from elmokit.runs.training import load_optimizer, optimizer_tensors, tensors_under
from elmokit.system.files import atomic_write

TENSORS_FILE = "training.safetensors"
PROGRESS_FILE = "training.json"


def save_checkpoint(
    run_dir: Path,
    *,
    bilm: BiLM,
    softmax: Softmax,
    optimizer: torch.optim.Optimizer | CombinedOptimizer,
    state: BiLMState | None,
    progress: PretrainingProgress,
    keep: int,
) -> Path:
    """Write `run_dir/checkpoints/step-XXXXXXXX` and remove all except the `keep` newest; returns the new folder."""
    parent = run_dir / "checkpoints"
    parent.mkdir(parents=True, exist_ok=True)
    for leftover in parent.glob(".writing-*"):
        shutil.rmtree(leftover)
    final = parent / f"step-{progress.step:08d}"
    writing = parent / f".writing-{progress.step:08d}"
    writing.mkdir()
    try:
        save_model(writing / WEIGHTS_NAME, bilm, softmax, step=progress.step)
        write_tensors(writing / TENSORS_FILE, optimizer_tensors(optimizer) | _state_tensors(state))
        with atomic_write(writing / PROGRESS_FILE) as unfinished:
            unfinished.write_text(json.dumps(progress.to_json()), encoding="utf-8")
        _sync(writing)
        if final.exists():
            shutil.rmtree(final)
        os.replace(writing, final)
    except BaseException as error:
        shutil.rmtree(writing, ignore_errors=True)
        if isinstance(error, OSError) and error.filename is not None:
            error.filename = str(final)  # nobody knows the temporary name
        raise
    _sync(parent)
    publish(final / WEIGHTS_NAME, run_dir / WEIGHTS_NAME)
    known = checkpoints(run_dir)
    later = known[: known.index(final)]  # unreadable, because otherwise this run would have continued from them
    for checkpoint in [*later, *known[len(later) + keep :]]:
        shutil.rmtree(checkpoint)
    return final


def checkpoints(run_dir: Path) -> list[Path]:
    """The checkpoints of a run, newest first."""
    return sorted((run_dir / "checkpoints").glob("step-*"), reverse=True)


def load_checkpoint(
    checkpoint: Path, *, bilm: BiLM, softmax: Softmax, optimizer: torch.optim.Optimizer | CombinedOptimizer
) -> tuple[PretrainingProgress, BiLMState | None]:
    """Restore model, softmax and optimiser from a checkpoint; returns the progress and the carried LSTM states."""
    weights = read_tensors(checkpoint / WEIGHTS_NAME).tensors
    softmax.load_state_dict(tensors_under("softmax.", weights))
    bilm.load_state_dict({name: tensor for name, tensor in weights.items() if not name.startswith("softmax.")})
    tensors = read_tensors(checkpoint / TENSORS_FILE).tensors
    load_optimizer(optimizer, tensors)
    progress = PretrainingProgress.from_json(json.loads((checkpoint / PROGRESS_FILE).read_text(encoding="utf-8")))
    return progress, _read_state(tensors, bilm)


def save_model(path: Path, bilm: BiLM, softmax: Softmax, *, step: int) -> None:
    """Write only the weights, as a native model's `model.safetensors`."""
    of_softmax = {f"softmax.{name}": tensor for name, tensor in softmax.state_dict().items()}
    write_tensors(path, dict(bilm.state_dict()) | of_softmax, metadata={"step": str(step)})


def _state_tensors(state: BiLMState | None) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    if state is not None:
        for direction, layers in (("forward", state.forward), ("backward", state.backward)):
            for index, layer in enumerate(layers):
                tensors[f"state.{direction}.{index}.cell"] = layer.cell
                tensors[f"state.{direction}.{index}.output"] = layer.output
    return tensors


def _read_state(tensors: dict[str, Tensor], bilm: BiLM) -> BiLMState | None:
    if not any(name.startswith("state.") for name in tensors):
        return None
    device = bilm.char_encoder.embedding.weight.device

    def layers(direction: str, count: int) -> tuple[LSTMState, ...]:
        return tuple(
            LSTMState(
                tensors[f"state.{direction}.{index}.cell"].to(device),
                tensors[f"state.{direction}.{index}.output"].to(device),
            )
            for index in range(count)
        )

    count = bilm.config.num_layers
    return BiLMState(layers("forward", count), layers("backward", count if bilm.config.bidirectional else 0))


def publish(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy if the file system has no hard links."""
    temporary = target.with_name(f".{target.name}.new")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
        _sync(temporary)
    os.replace(temporary, target)
    temporary.unlink(missing_ok=True)  # `replace` leaves it if both names were links to the same file already


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
