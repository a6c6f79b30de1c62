"""Vectors of chosen words in sentences: a target is one token, or several that together are one word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.model.vector_source import VectorSource
from elmokit.system.batches import batched

if TYPE_CHECKING:
    from jaxtyping import Float32

SENTENCES_PER_BATCH = 256


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
