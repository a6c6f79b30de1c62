"""Weights of a task's model on disk: compared with what the run's config builds before any memory is taken for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from elmokit.layers.meta_device import on_meta_device
from elmokit.runs.tensor_files import read_tensors
from elmokit.runs.training import tensors_under
from elmokit.system.safetensors import read_layout
from elmokit.system.untrusted import FormatError
from elmokit.tasks.inputs import TokenInputs
from elmokit.tasks.old_runs import current_tensors

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from elmokit.model.bilm import BiLM
    from elmokit.model.frozen_layers import FrozenLayers
    from elmokit.tasks.run_folder import TaskRecord
    from elmokit.tasks.task import Task
    from elmokit.tasks.words import WordTable


def check_shapes(
    path: Path,
    task: Task[Any, Any],
    record: TaskRecord,
    words: WordTable | None,
    elmo: FrozenLayers | BiLM | None,
    *,
    prefix: str = "",
) -> None:
    """Compare the file's header with the model of the record, which is built without memory.

    prefix: of the model's tensors; all others in the file are passed over. FormatError, which names file and tensor,
    for a model that cannot be built, and for tensors that it lacks or that have other shapes.
    """
    layout = read_layout(path)
    named = {name: entry.shape for name, entry in layout.tensors.items() if name.startswith(prefix)}
    found = current_tensors({name.removeprefix(prefix): shape for name, shape in named.items()}, record.config.inputs)
    try:
        with on_meta_device():
            inputs = TokenInputs(record.config.inputs, words=words, elmo=elmo)
            model = task.build(record.config.model, inputs, record.symbols)
    except (ValueError, RuntimeError, OverflowError) as error:  # torch has a largest number of numbers
        raise FormatError(path.with_name("config.json"), f"describes no model: {error}") from None
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name in (*expected, *found):
        if name not in found:
            raise FormatError(path, "is missing; config.json describes a model with it", part=f"tensor {name}")
        if name not in expected:
            raise FormatError(path, "is not part of the model that config.json describes", part=f"tensor {name}")
        if found[name] != expected[name]:
            reason = f"has shape {found[name]}; the model that config.json describes has {expected[name]}"
            raise FormatError(path, reason, part=f"tensor {name}")


def read_weights(path: Path, record: TaskRecord, *, prefix: str = "") -> dict[str, Tensor]:
    """The weights in a file, by the names of today; `check_shapes` has compared them with the model.

    FormatError for numbers that are not finite.
    """
    weights = tensors_under(prefix, read_tensors(path).tensors)
    for name, tensor in weights.items():
        if not bool(torch.isfinite(tensor).all()):
            raise FormatError(path, "has numbers that are not finite", part=f"tensor {name}")
    return current_tensors(weights, record.config.inputs)
