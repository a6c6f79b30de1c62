"""Weights and optimiser states of runs, kept in safetensors files (no pickle), and checks of their tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from elmokit.files.safetensors import read_arrays, read_layout, write_arrays
from elmokit.system.messages import FormatError

OPTIMIZER_PREFIX = "optimizer."
SLOTS: dict[str, tuple[str, ...]] = {
    "Adadelta": ("step", "square_avg", "acc_delta"),
    "Adagrad": ("step", "sum"),
    "Adam": ("step", "exp_avg", "exp_avg_sq"),
    "AdamW": ("step", "exp_avg", "exp_avg_sq"),
    "Muon": ("momentum",),
    "SGD": (),
}
"""What each optimiser stores per parameter: `step` is a number, all others have the parameter's shape."""


class DivergenceError(ValueError):
    """Something became NaN or infinite, or the loss far worse than guessing. Nothing from that step was kept."""


class HasState(Protocol):
    """An optimiser, or several that act as one. `state` in its state dict has the slots by parameter number."""

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> object: ...


def write_tensors(path: Path, tensors: Mapping[str, Tensor], *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors from any device, contiguous or not. The file is written completely or not at all.

    Raises OSError, which names `path`, if the disk is full.
    """
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
    write_arrays(path, arrays, metadata=dict(metadata or {}))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, on the CPU, in separate memory. They take no more memory than the file has bytes.

    Raises FileNotFoundError, and FormatError, a ValueError that names the file, if it is damaged.
    """
    return {name: torch.from_numpy(array) for name, array in read_arrays(path, read_layout(path)).items()}


def optimizer_tensors(optimizer: HasState) -> dict[str, Tensor]:
    """The optimiser's state by name, for instance `optimizer.3.exp_avg` for its fourth parameter."""
    return {
        f"{OPTIMIZER_PREFIX}{index}.{slot}": torch.as_tensor(value)
        for index, slots in optimizer.state_dict()["state"].items()
        for slot, value in slots.items()
    }


def load_optimizer(optimizer: HasState, tensors: Mapping[str, Tensor]) -> None:
    """Restore an optimiser's state from `tensors`; its settings (learning rate and so on) stay as they are."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors_under(OPTIMIZER_PREFIX, tensors).items():
        index, slot = name.split(".", 1)
        state.setdefault(int(index), {})[slot] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def expected_optimizer_tensors(*optimizers: torch.optim.Optimizer, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors with the names and shapes of the optimisers' state, for `check_tensors`.

    optimizers: optimisers that have not made a step yet. Their parameters are numbered consecutively.
    found: the tensors to check. A parameter without tensors among them had no state.
    """
    numbers = {name.split(".")[1] for name in found if name.startswith(OPTIMIZER_PREFIX)}
    parameters = [
        (optimizer, parameter)
        for optimizer in optimizers
        for group in optimizer.param_groups
        for parameter in group["params"]
    ]
    return {
        f"{OPTIMIZER_PREFIX}{index}.{slot}": torch.zeros(()) if slot == "step" else parameter
        for index, (optimizer, parameter) in enumerate(parameters)
        for slot in SLOTS[type(optimizer).__name__]
        if optimizer.state.get(parameter) or str(index) in numbers
    }


def check_tensors(where: Path, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse other names, shapes or kinds of number than `expected` has, and numbers that are not finite.

    Raises FormatError, which names the file (`where`) and the tensor.
    """
    for name in expected:
        if name not in found:
            raise FormatError(where, "is missing", part=f"tensor {name}")
    for name, tensor in found.items():
        part = f"tensor {name}"
        if name not in expected:
            raise FormatError(where, "does not belong to this run", part=part)
        like = expected[name]
        if tensor.shape != like.shape or tensor.is_floating_point() != like.is_floating_point():
            raise FormatError(
                where,
                f"is {tensor.dtype} of shape {tuple(tensor.shape)}; expected {like.dtype} of shape {tuple(like.shape)}",
                part=part,
            )
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise FormatError(where, "has a number that is not finite", part=part)


def tensors_under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
