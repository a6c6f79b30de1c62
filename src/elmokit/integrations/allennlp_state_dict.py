"""State dicts with AllenNLP's names and layout, so that weights of trained AllenNLP models load, and ours load there.

A round trip changes a forget bias by the rounding of adding 1 (6e-8); all else is the same bit for bit. Models of which
AllenNLP has no counterpart, without a projection or a backward direction, keep the names of elmokit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from elmokit.formats.allennlp import names_of
from elmokit.formats.torch_layout import FORGET_BIAS, rows

if TYPE_CHECKING:
    from torch import nn

    from elmokit.model.config import BiLMConfig

_OWN = "bilm."
_NAMES = names_of("")


def use_names_of_allennlp(module: nn.Module) -> None:
    """Write and read the state dict of a module, whose biLM is its part `bilm`, in AllenNLP's layout."""
    if _has_counterpart(_config(module)):
        module.register_state_dict_post_hook(_on_save)
        module.register_load_state_dict_pre_hook(_on_load)


def _config(module: Any) -> BiLMConfig:
    return module.bilm.config


def _has_counterpart(config: BiLMConfig) -> bool:
    return config.bidirectional and config.num_filters != config.projection_dim != config.lstm_dim


def _on_save(module: nn.Module, state_dict: dict[str, Tensor], prefix: str, _: object) -> None:
    for row in rows(_config(module), _NAMES):
        native = _joined([state_dict.pop(f"{prefix}{_OWN}{name}") for name in row.native])
        state_dict[prefix + row.name] = _joined(row.turn(native, FORGET_BIAS))


def _on_load(
    module: nn.Module,
    state_dict: dict[str, Tensor],
    prefix: str,
    local_metadata: object,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Tensor by tensor; one that is missing, or has another shape, stays as it is, and torch reports it."""
    for row in rows(_config(module), _NAMES):
        name, own = prefix + row.name, [f"{prefix}{_OWN}{native}" for native in row.native]
        values = [module.get_parameter(_OWN + native).detach() for native in row.native]
        if name in state_dict:
            theirs = state_dict.pop(name)
            if tuple(theirs.shape) == row.shape:
                values = row.turn(theirs.detach().float(), -FORGET_BIAS)
            else:
                said = f"has shape {tuple(theirs.shape)}; the biLM of this module calls for {row.shape}"
                error_msgs.append(f"{name} {said}")
        elif not all(native in state_dict for native in own):  # which are the names of elmokit
            missing_keys.append(name)
        else:
            continue
        state_dict.update(zip(own, values, strict=True))


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))
