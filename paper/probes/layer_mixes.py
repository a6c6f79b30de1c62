"""Layers -> the vectors that are compared: each layer alone, and fixed mixes of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from elmokit.elmo.layer_choice import unit_vectors

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float32

AVERAGE = "average"
UPPER_AVERAGE = "average without layer 0"
EQUAL_SIZE = "average of layers of equal size"


def layer_name(number: int) -> str:
    """Name of the row of one layer; 0 is the token representation of a biLM."""
    return f"layer {number}"


def mixes(num_layers: int) -> Mapping[str, Callable[[Float32[np.ndarray, "L N E"]], Float32[np.ndarray, "N E"]]]:
    """Functions of layers (L,N,E), by the name of the row: one for each layer, and the mixes if there are several.

    In the average of layers of equal size, each vector of each layer has length 1 before it is averaged. The average
    without layer 0 needs three layers: it is the mean of a biLM's LSTM layers.
    """
    rows = {layer_name(number): _only(number) for number in range(num_layers)}
    if num_layers > 1:
        rows[AVERAGE] = _average
    if num_layers > 2:
        rows[UPPER_AVERAGE] = _upper_average
    if num_layers > 1:
        rows[EQUAL_SIZE] = _equal_size
    return rows


def _only(number: int) -> Callable[[Float32[np.ndarray, "L N E"]], Float32[np.ndarray, "N E"]]:
    return lambda layers: layers[number]


def _average(layers: Float32[np.ndarray, "L N E"]) -> Float32[np.ndarray, "N E"]:
    return layers.mean(axis=0)


def _upper_average(layers: Float32[np.ndarray, "L N E"]) -> Float32[np.ndarray, "N E"]:
    return layers[1:].mean(axis=0)


def _equal_size(layers: Float32[np.ndarray, "L N E"]) -> Float32[np.ndarray, "N E"]:
    total = unit_vectors(layers[0])
    for layer in layers[1:]:  # one at a time: of a whole corpus, a second copy of all would not fit into memory
        total += unit_vectors(layer)
    return total / len(layers)
