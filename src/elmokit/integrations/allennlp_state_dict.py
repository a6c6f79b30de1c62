"""State dicts with AllenNLP's names and layout, so that weights of trained AllenNLP models load, and ours load there.

A round trip changes a forget bias by the rounding of adding 1 (6e-8); all else is the same bit for bit. Models of which
AllenNLP has no counterpart, without a projection or a backward direction, keep the names of elmokit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from elmokit.model.formats.torch_layout import (
    FORGET_BIAS,
    CharacterNames,
    Sizes,
    characters_to_native,
    expected_shapes,
    lstms_to_native,
)

if TYPE_CHECKING:
    from torch import nn

    from elmokit.model.config import BiLMConfig
    from elmokit.model.formats.stored import Array

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
    names = list(_config(module).tensor_shapes())
    native = {name: state_dict.pop(f"{prefix}{_OWN}{name}") for name in names}
    state_dict.update({f"{prefix}{name}": tensor for name, tensor in from_native(native, _config(module)).items()})


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
    if f"{prefix}{_NAMES.embedding}" not in state_dict:
        return  # torch names what is missing
    config = _config(module)
    shapes = _shapes(config)
    found = {name: tuple(state_dict[prefix + name].shape) for name in shapes if prefix + name in state_dict}
    if wrong := [name for name, shape in shapes.items() if found.get(name) != shape]:
        name = wrong[0]
        said = f"has shape {found[name]}" if name in found else "is missing"
        error_msgs.append(f"{prefix}{name} {said}; the biLM of this module calls for {shapes[name]}")
        return
    theirs = {name: state_dict.pop(prefix + name) for name in shapes}
    state_dict.update({f"{prefix}{_OWN}{name}": tensor for name, tensor in to_native(theirs, config).items()})


def to_native(theirs: dict[str, Tensor], config: BiLMConfig) -> dict[str, Tensor]:
    """Weights by AllenNLP's names -> weights by the names of `BiLM`."""

    def read(name: str) -> Array:
        return theirs[name].detach().float().cpu().numpy()

    sizes = _sizes(config)
    arrays = {
        "char_encoder.embedding.weight": read(_NAMES.embedding),
        **characters_to_native(sizes, _NAMES, read, prefix="char_encoder."),
        "char_encoder.projection.weight": read(f"{_EMBEDDER}_projection.weight"),
        "char_encoder.projection.bias": read(f"{_EMBEDDER}_projection.bias"),
        **lstms_to_native(sizes, read, lstm=_LSTM),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def from_native(native: dict[str, Tensor], config: BiLMConfig) -> dict[str, Tensor]:
    """Weights by the names of `BiLM` -> weights by AllenNLP's names."""
    theirs = {_NAMES.embedding: native["char_encoder.embedding.weight"]}
    for part in ("weight", "bias"):
        for index in range(len(config.filters)):
            theirs[f"{_NAMES.convolution}{index}.{part}"] = native[f"char_encoder.convolutions.{index}.{part}"]
        for index in range(config.num_highway_layers):
            highway = f"char_encoder.highways.{index}"
            carry = -native[f"{highway}.gate.{part}"]  # 1 - sigmoid(x) is sigmoid(-x)
            theirs[f"{_NAMES.highway}{index}.{part}"] = torch.cat([native[f"{highway}.transform.{part}"], carry])
        theirs[f"{_EMBEDDER}_projection.{part}"] = native[f"char_encoder.projection.{part}"]
    for direction in ("forward", "backward"):
        for index in range(config.num_layers):
            layer, ours = f"{_LSTM}{direction}_layer_{index}", f"{direction}_lstm.layers.{index}"
            theirs[f"{layer}.input_linearity.weight"] = _reordered(native[f"{ours}.input_weight"])
            theirs[f"{layer}.state_linearity.weight"] = _reordered(native[f"{ours}.recurrent_weight"])
            bias = _reordered(native[f"{ours}.bias"])
            bias[config.lstm_dim : 2 * config.lstm_dim] += FORGET_BIAS
            theirs[f"{layer}.state_linearity.bias"] = bias
            theirs[f"{layer}.state_projection.weight"] = native[f"{ours}.projection_weight"]
    return theirs


def _reordered(gates: Tensor) -> Tensor:
    """A copy with the blocks of rows i, f, o, g as i, f, g, o."""
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
