"""How often vectors tell the senses of a word apart: rates over a list of occurrences, compared with baselines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elmokit.elmo.encoding import unit_vectors

if TYPE_CHECKING:
    from elmokit.analysis.polysemes import Occurrence

    Vectors = NDArray[np.float32]
    Mask = NDArray[np.bool_]

Floats = NDArray[np.float64]
TIE = 1e-6
"""Cosines that differ by no more than this count as equal, because float32 vectors are not more exact."""


@dataclass(frozen=True)
class Rate:
    """A share of occurrences, with its 95 % interval (Wilson, 1927)."""

    correct: float
    """Number of correct occurrences; ties add fractions."""
    total: int
    guessed: bool = False
    """Whether all occurrences were ties. If so, the rate is chance itself and has no interval."""

    @property
    def share(self) -> float:
        """The rate from 0 to 1."""
        return self.correct / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the 95 % interval, from 0 to 1."""
        z2 = 1.96**2
        centre = self.share + z2 / (2 * self.total)
        spread = 1.96 * sqrt(self.share * (1 - self.share) / self.total + z2 / (4 * self.total**2))
        return (centre - spread) / (1 + z2 / self.total), (centre + spread) / (1 + z2 / self.total)

    def percent(self) -> str:
        """The rate and its interval, such as `84.9 % [80.1, 88.7]`."""
        if self.guessed:
            return f"{100 * self.share:.1f} %"
        low, high = self.interval
        return f"{100 * self.share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"

    def fraction(self) -> str:
        """Number of correct occurrences out of all, such as `231/272`."""
        return f"{round(self.correct, 1):g}/{self.total}"

    def __str__(self) -> str:
        """The fraction, rate and interval, such as `231/272 = 84.9 % [80.1, 88.7]`."""
        return f"{self.fraction()} = {self.percent()}"


@dataclass(frozen=True)
class SenseRates:
    """How well one kind of vector does on a list: a number from 0 to 1 for each occurrence."""

    name: str
    nearest: Floats
    """1 where the nearest other occurrence of the same word has the same sense, else 0; a fraction for ties."""

    @property
    def guessed(self) -> bool:
        """Whether every occurrence is a tie, without a single nearest neighbour."""
        return not np.isin(self.nearest, (0.0, 1.0)).any()

    def nearest_rate(self, chosen: Sequence[int] | slice = slice(None)) -> Rate:
        """Rate of `nearest`, over all or the chosen occurrences."""
        hits = self.nearest[chosen]
        return Rate(float(hits.sum()), len(hits), self.guessed)


def measure_senses(
    encoded: Sequence[Vectors], occurrences: Sequence[Occurrence], *, num_known: int | None = None
) -> list[SenseRates]:
    """Rates of chance, two baselines without contextual vectors, every LSTM layer, and the average of all layers.

    encoded: one array (L,T,E) for the sentence of each occurrence, as `Elmo.encode(..., layers="all")` returns them.
    num_known: if given, the occurrences after the first `num_known` are judged, and compared only with the first ones;
        otherwise every occurrence is judged, and compared with all others.
    The compared occurrences must have each judged sense, and another sense of the same word.
    """
    layers = occurrence_vectors(encoded, occurrences)
    kinds = {
        "static vector": layers[0],
        "bag of context words": context_bags(encoded, occurrences),
        **{f"lstm{number}": layers[number] for number in range(1, len(layers))},
        "average": layers.mean(axis=0),
    }
    measured = [chance(occurrences, num_known=num_known)]
    for name, vectors in kinds.items():
        measured.append(SenseRates(name, nearest_hits(vectors, occurrences, num_known=num_known)))
    return measured


def occurrence_vectors(encoded: Sequence[Vectors], occurrences: Sequence[Occurrence]) -> Floats:
    """Vectors (L,N,E) of the ambiguous words at every layer; layer 0 is static, the same in every sentence."""
    targets = [array[:, occurrence.index] for array, occurrence in zip(encoded, occurrences, strict=True)]
    return np.stack(targets, axis=1).astype(np.float64)


def context_bags(encoded: Sequence[Vectors], occurrences: Sequence[Occurrence]) -> Floats:
    """Mean (N,E) of the static vectors of a sentence's other tokens: context without order; zeros if there are none."""
    bags: list[Floats] = []
    for array, occurrence in zip(encoded, occurrences, strict=True):
        others = np.delete(array[0].astype(np.float64), occurrence.index, axis=0)
        bags.append(others.sum(axis=0) / max(len(others), 1))
    return np.stack(bags)


def nearest_hits(vectors: Floats, occurrences: Sequence[Occurrence], *, num_known: int | None = None) -> Floats:
    """For each occurrence, 1 if the nearest other occurrence of the word, by cosine, has the same sense, else 0.

    If several are equally near, it is the share of them with the same sense.
    """
    nearness = cosines(vectors)
    hits: list[float] = []
    for index, same, other in _comparisons(occurrences, num_known):
        to_same, to_other = nearness[index, same], nearness[index, other]
        nearest = max(to_same.max(), to_other.max()) - TIE
        num_right, num_wrong = int((to_same >= nearest).sum()), int((to_other >= nearest).sum())
        hits.append(num_right / (num_right + num_wrong))
    return np.array(hits)


def chance(occurrences: Sequence[Occurrence], *, num_known: int | None = None) -> SenseRates:
    """What guessing gets: 7 of 15 nearest neighbours are right if a word has eight sentences for each of two senses."""
    guessed = [float(same.sum() / (same | other).sum()) for _, same, other in _comparisons(occurrences, num_known)]
    return SenseRates("chance", np.array(guessed))


def cosines(vectors: Floats) -> Floats:
    """Cosines (N,N) of every vector with every other; a zero vector has cosine 0."""
    units = unit_vectors(vectors)
    return units @ units.T


def principal_plane(vectors: Floats) -> Floats:
    """Coordinates (N,2) along the two directions of largest variance."""
    centred = vectors - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : min(2, len(singular))] = left[:, :2] * singular[:2]
    furthest = np.abs(points).argmax(axis=0)
    return points * np.where(points[furthest, [0, 1]] < 0, -1.0, 1.0)  # SVD leaves signs open; the furthest sets them


def _comparisons(occurrences: Sequence[Occurrence], num_known: int | None = None) -> Iterator[tuple[int, Mask, Mask]]:
    """For each judged occurrence: its index, others of the word with the same sense, and others with another sense."""
    words = np.array([occurrence.word for occurrence in occurrences])
    senses = np.array([occurrence.sense for occurrence in occurrences])
    for index in range(num_known or 0, len(occurrences)):
        others = words == words[index]
        others[index if num_known is None else slice(num_known, None)] = False
        same = others & (senses == senses[index])
        yield index, same, others & ~same
