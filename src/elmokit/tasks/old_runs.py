"""Runs that an earlier elmokit wrote: their config.json and the names of their weights, converted to today's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elmokit.tasks.config import InputConfig

T = TypeVar("T")

_ELMO_FIELDS = {
    "elmo": "position",
    "elmo_model": "model",
    "elmo_layers": "layers",
    "elmo_dropout_rate": "dropout_rate",
    "elmo_layer_norm": "layer_norm",
    "elmo_rescale": "rescale",
    "elmo_penalty": "penalty",
    "train_elmo": "train",
}
"""Version 1 has these in `inputs`, and `elmo` is "none" without ELMo."""


def from_version_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the contents of a config.json of version 1 to version 2."""
    inputs = {name: value for name, value in values["inputs"].items() if name not in _ELMO_FIELDS}
    elmo = {_ELMO_FIELDS[name]: value for name, value in values["inputs"].items() if name in _ELMO_FIELDS}
    inputs["elmo"] = None if elmo.get("position", "none") == "none" else elmo
    others = {name: value for name, value in values.items() if name != "labels"}
    counts = {split: {_reason(name): number for name, number in of.items()} for split, of in values["examples"].items()}
    return others | {"inputs": inputs, "symbols": values["labels"], "examples": counts}


def current_tensors(tensors: Mapping[str, T], inputs: InputConfig) -> dict[str, T]:
    """Rename a model's weights as `ElmoEmbedding` names them today; current names stay as they are.

    Version 1 had `inputs.elmo.input_mix` and `output_mix`, a trained biLM in `inputs.elmo.source`, and scales of one
    if nothing was rescaled.
    """
    if inputs.elmo is None:
        return dict(tensors)
    prefixes = {"inputs.elmo.source.bilm.": "inputs.elmo.bilm."}
    for number, position in enumerate(inputs.elmo.positions):
        prefixes[f"inputs.elmo.{position}_mix."] = f"inputs.elmo.mixes.{number}."
    renamed: dict[str, T] = {}
    for name, tensor in tensors.items():
        old = next((prefix for prefix in prefixes if name.startswith(prefix)), None)
        renamed[name if old is None else prefixes[old] + name.removeprefix(old)] = tensor
    if not inputs.elmo.rescale:
        renamed.pop("inputs.elmo.scales", None)
    return renamed


def _reason(name: str) -> str:
    """The reason why examples were skipped, in question answering's current words."""
    if name == "the answer is in no token":
        return "questions whose answer no token covers"
    return name.replace("the answer is beyond the first", "questions with an answer beyond the first")
