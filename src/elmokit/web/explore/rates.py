"""Inner products of labelled words: how often the nearest occurrence has the sense follows for any mix of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float32

MAX_OCCURRENCES = 300
"""Of a word: the first of each sense, as many of each as there can be."""
MAX_IN_ALL = 3000
"""Occurrences of all words: inner products of 10 MB at most."""


@dataclass(frozen=True)
class RatedWord:
    """A word whose occurrences have known senses, of which one is there twice and another one at all."""

    word: str
    """In lower case."""
    numbers: tuple[int, ...]
    """Of its tokens among those of the corpus."""
    senses: tuple[str, ...]


def rated_words(senses: Mapping[int, str], tokens: Sequence[str]) -> list[RatedWord]:
    """Words of labelled tokens, whose numbers and senses are given, in the order of the corpus."""
    by_word: dict[str, dict[str, list[int]]] = {}
    for number, sense in senses.items():
        by_word.setdefault(tokens[number].lower(), {}).setdefault(sense, []).append(number)
    rated: list[RatedWord] = []
    room = MAX_IN_ALL
    for word, by_sense in by_word.items():
        if len(by_sense) < 2 or all(len(numbers) < 2 for numbers in by_sense.values()):
            continue
        share = MAX_OCCURRENCES // len(by_sense)
        chosen = sorted((number, sense) for sense, numbers in by_sense.items() for number in numbers[:share])
        room -= len(chosen)
        if room >= 0:
            rated.append(RatedWord(word, *zip(*chosen, strict=True)))
    return rated


def inner_products(layers: Float32[np.ndarray, "L N E"]) -> Float32[np.ndarray, "P N N"]:
    """For each pair of layers l <= m, `h_l h_l'` of each two vectors, and `h_l h_m' + h_m h_l'` of different layers.

    Those of a mix of the layers with weights s are the sum of `s_l s_m` times these.
    """
    pairs = [(one, other) for one in range(len(layers)) for other in range(one, len(layers))]
    exact = layers.astype(np.float64)
    products = [exact[one] @ exact[other].T * (0.5 if one == other else 1.0) for one, other in pairs]
    return np.stack([product + product.T for product in products]).astype(np.float32)
