"""What an interrupted training is continued from: weights, the optimiser's state, and how far it has come."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.runs.optimizer_state import (
    check_tensors,
    expected_optimizer_tensors,
    load_optimizer,
    optimizer_tensors,
    tensors_under,
)
from elmokit.runs.tensor_files import read_tensors, write_tensors
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import nn
    from torch.optim import Optimizer

CHECKPOINT_FILE = "checkpoint.safetensors"
_MODEL = "model."
_PROGRESS = "progress"


def save_checkpoint(run_dir: Path, model: nn.Module, optimizer: Optimizer, progress: Mapping[str, int]) -> None:
    """Write the checkpoint of a run, in place of the one before."""
    tensors = {f"{_MODEL}{name}": tensor for name, tensor in model.state_dict().items()} | optimizer_tensors(optimizer)
    write_tensors(run_dir / CHECKPOINT_FILE, tensors, metadata={_PROGRESS: json.dumps(dict(progress))})


def load_checkpoint(run_dir: Path, model: nn.Module, optimizer: Optimizer) -> Fields | None:
    """Restore model and optimiser, and return the progress that was saved; None if there is no checkpoint.

    Raises FormatError, before anything is changed, for a damaged file or one of another model.
    """
    path = run_dir / CHECKPOINT_FILE
    if not path.exists():
        return None
    file = read_tensors(path)
    if _PROGRESS not in file.metadata:
        raise FormatError(path, "does not say how far the training had come")
    expected = {f"{_MODEL}{name}": tensor for name, tensor in model.state_dict().items()}
    check_tensors(path, file.tensors, expected | expected_optimizer_tensors((optimizer,), file.tensors, every=False))
    progress = parse_json_object(file.metadata[_PROGRESS], where=path)
    model.load_state_dict(tensors_under(_MODEL, file.tensors))
    load_optimizer(optimizer, file.tensors)
    return Fields(path, progress, prefix=f"{_PROGRESS}.")


def remove_checkpoint(run_dir: Path) -> None:
    """Remove the checkpoint of a run that has ended."""
    (run_dir / CHECKPOINT_FILE).unlink(missing_ok=True)
