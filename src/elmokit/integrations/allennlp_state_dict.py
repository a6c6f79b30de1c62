"""State dicts with AllenNLP's names and layout, so that weights of trained AllenNLP models load, and ours load there.

A round trip changes a forget bias by the rounding of adding 1 (6e-8); all else is the same bit for bit. Models of which
AllenNLP has no counterpart, without a projection or a backward direction, keep the names of elmokit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from elmokit.formats.torch_layout import FORGET_BIAS, CharacterNames, Sizes, expected_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

    from elmokit.model.config import BiLMConfig

_OWN = "bilm."
_EMBEDDER = "_token_embedder."
_LSTM = "_elmo_lstm."
_NAMES = CharacterNames(
    embedding=f"{_EMBEDDER}_char_embedding_weights",
    convolution=f"{_EMBEDDER}char_conv_",
    highway=f"{_EMBEDDER}_highways._layers.",
)


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
    for part in _parts(_config(module)):
        native = [state_dict.pop(f"{prefix}{_OWN}{name}") for name in part.native]
        state_dict[prefix + part.name] = _from_native(native, part.kind)


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
    shapes = _shapes(_config(module))
    for part in _parts(_config(module)):
        name, own = prefix + part.name, [f"{prefix}{_OWN}{native}" for native in part.native]
        values = [module.get_parameter(_OWN + native).detach() for native in part.native]
        if name in state_dict:
            theirs = state_dict.pop(name)
            if tuple(theirs.shape) == shapes[part.name]:
                values = _to_native(theirs.detach().float(), part.kind)
            else:
                said = f"has shape {tuple(theirs.shape)}; the biLM of this module calls for {shapes[part.name]}"
                error_msgs.append(f"{name} {said}")
        elif not all(native in state_dict for native in own):  # which are the names of elmokit
            missing_keys.append(name)
        else:
            continue
        state_dict.update(zip(own, values, strict=True))


_Kind = Literal["same", "highway", "gates", "gates' bias"]


@dataclass(frozen=True)
class _Part:
    """A tensor of AllenNLP, and the tensors of `BiLM` that it holds."""

    name: str
    native: tuple[str, ...]
    kind: _Kind = "same"


def _parts(config: BiLMConfig) -> Iterator[_Part]:
    yield _Part(_NAMES.embedding, ("char_encoder.embedding.weight",))
    for part in ("weight", "bias"):
        for index in range(len(config.filters)):
            yield _Part(f"{_NAMES.convolution}{index}.{part}", (f"char_encoder.convolutions.{index}.{part}",))
        for index in range(config.num_highway_layers):
            ours = f"char_encoder.highways.{index}"
            native = (f"{ours}.transform.{part}", f"{ours}.gate.{part}")
            yield _Part(f"{_NAMES.highway}{index}.{part}", native, "highway")
        yield _Part(f"{_EMBEDDER}_projection.{part}", (f"char_encoder.projection.{part}",))
    for direction in ("forward", "backward"):
        for index in range(config.num_layers):
            layer, ours = f"{_LSTM}{direction}_layer_{index}", f"{direction}_lstm.layers.{index}"
            yield _Part(f"{layer}.input_linearity.weight", (f"{ours}.input_weight",), "gates")
            yield _Part(f"{layer}.state_linearity.weight", (f"{ours}.recurrent_weight",), "gates")
            yield _Part(f"{layer}.state_linearity.bias", (f"{ours}.bias",), "gates' bias")
            yield _Part(f"{layer}.state_projection.weight", (f"{ours}.projection_weight",))


def _to_native(theirs: Tensor, kind: _Kind) -> list[Tensor]:
    if kind == "same":
        return [theirs]
    if kind == "highway":
        transform, carry = theirs.chunk(2)
        return [transform, -carry]  # 1 - sigmoid(x) is sigmoid(-x)
    gates = _reordered(theirs)
    if kind == "gates' bias":
        _of_forget_gate(gates).sub_(FORGET_BIAS)
    return [gates]


def _from_native(native: list[Tensor], kind: _Kind) -> Tensor:
    if kind == "same":
        return native[0]
    if kind == "highway":
        transform, gate = native
        return torch.cat([transform, -gate])
    gates = _reordered(native[0])
    if kind == "gates' bias":
        _of_forget_gate(gates).add_(FORGET_BIAS)
    return gates


def _of_forget_gate(bias: Tensor) -> Tensor:
    """The second of the four blocks, in both layouts."""
    size = len(bias) // 4
    return bias[size : 2 * size]


def _reordered(gates: Tensor) -> Tensor:
    """A copy with the blocks of rows i, f, o, g as i, f, g, o, or the other way round."""
    return gates.reshape(4, -1, *gates.shape[1:])[[0, 1, 3, 2]].reshape(gates.shape)


def _shapes(config: BiLMConfig) -> dict[str, tuple[int, ...]]:
    rows = config.tensor_shapes()
    return {
        _NAMES.embedding: rows["char_encoder.embedding.weight"],
        f"{_EMBEDDER}_projection.weight": rows["char_encoder.projection.weight"],
        f"{_EMBEDDER}_projection.bias": rows["char_encoder.projection.bias"],
        **expected_shapes(_sizes(config), _NAMES, lstm=_LSTM, character_dim=config.character_dim),
    }


def _sizes(config: BiLMConfig) -> Sizes:
    return Sizes(
        filters=config.filters,
        num_highway_layers=config.num_highway_layers,
        num_layers=config.num_layers,
        lstm_dim=config.lstm_dim,
        projection_dim=config.projection_dim,
    )
