"""Vectors of chosen words (a target is one token, or several that are one word), at each layer, and their mixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from elmokit.elmo.encoding import unit_vectors
from elmokit.model.vector_source import VectorSource
from elmokit.system.batches import batched

if TYPE_CHECKING:
    from jaxtyping import Float32

    Mix = Callable[[Float32[np.ndarray, "L N E"]], Float32[np.ndarray, "N E"]]

SENTENCES_PER_BATCH = 256
AVERAGE = "average"
UPPER_AVERAGE = "average without layer 0"
EQUAL_SIZE = "average of layers of equal size"


@dataclass(frozen=True, slots=True)
class Target:
    """Tokens `start` to `end` (exclusive) of a sentence, which is given by its number."""

    sentence: int
    start: int
    end: int


def target_vectors(
    layers: VectorSource, sentences: Sequence[Sequence[str]], targets: Sequence[Target]
) -> Float32[np.ndarray, "L N E"]:
    """Vectors of all targets, at every layer; that of several tokens is their mean."""
    vectors = np.zeros((layers.num_layers, len(targets), layers.dim), np.float32)
    for indices, found in target_batches(layers, sentences, targets):
        vectors[:, indices] = found
    return vectors


def target_batches(
    layers: VectorSource, sentences: Sequence[Sequence[str]], targets: Sequence[Target]
) -> Iterator[tuple[list[int], Float32[np.ndarray, "L N E"]]]:
    """The same in parts: indices of targets, and their vectors. Sentences without a target are not read."""
    of_sentence: dict[int, list[int]] = {}
    for index, target in enumerate(targets):
        of_sentence.setdefault(target.sentence, []).append(index)
    layers.add(sentences[number] for number in of_sentence)
    by_length = sorted(of_sentence, key=lambda number: len(sentences[number]))  # little padding
    for numbers in batched(by_length, size=SENTENCES_PER_BATCH):
        batch = layers([sentences[number] for number in numbers]).numpy()
        rows = [(row, index) for row, number in enumerate(numbers) for index in of_sentence[number]]
        found = [batch[:, row, targets[index].start : targets[index].end].mean(axis=1) for row, index in rows]
        yield [index for _, index in rows], np.stack(found, axis=1)


def sentence_vectors(layers: VectorSource, sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L _ E"]]:
    """Vectors of all tokens of each sentence, at every layer."""
    layers.add(sentences)
    arrays: list[Float32[np.ndarray, "L _ E"]] = []
    for part in batched(sentences, size=SENTENCES_PER_BATCH):
        batch = layers(part).numpy()
        arrays += [batch[:, row, : len(tokens)].copy() for row, tokens in enumerate(part)]
    return arrays


def mixes(num_layers: int) -> Mapping[str, Mix]:
    """Functions of layers (L,N,E), by the name of the row: one for each layer, and the mixes if there are several.

    Layer 0 is the token representation of a biLM.
    In the average of layers of equal size, each vector of each layer has length 1 before it is averaged. The average
    without layer 0 needs three layers: it is the mean of a biLM's LSTM layers.
    """
    rows: dict[str, Mix] = {f"layer {number}": itemgetter(number) for number in range(num_layers)}
    if num_layers > 1:
        rows[AVERAGE] = lambda layers: layers.mean(axis=0)
    if num_layers > 2:
        rows[UPPER_AVERAGE] = lambda layers: layers[1:].mean(axis=0)
    if num_layers > 1:
        rows[EQUAL_SIZE] = _equal_size
    return rows


def _equal_size(layers: Float32[np.ndarray, "L N E"]) -> Float32[np.ndarray, "N E"]:
    total = unit_vectors(layers[0])
    for layer in layers[1:]:  # one at a time: of a whole corpus, a second copy of all would not fit into memory
        total += unit_vectors(layer)
    return total / len(layers)
