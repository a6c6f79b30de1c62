"""What every training loop needs: the error for a loss that is not finite, and the optimiser's state as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

OPTIMIZER_PREFIX = "optimizer."


class DivergenceError(ValueError):
    """A loss or a gradient became NaN or infinite; nothing computed from it was kept."""


class HasState(Protocol):
    """An optimiser, or several that act as one."""

    def state_dict(self) -> dict[str, Any]:
        """The optimiser's `state` (its slots by the number of the parameter) and its `param_groups`."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> object:
        """Restore what `state_dict` returned for an optimiser of the same parameters."""
        ...


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


def tensors_under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start with `prefix`, by the rest of their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
