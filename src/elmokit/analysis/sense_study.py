"""How well a model's vectors separate the senses of words: rates over a list of polysemes, neighbours and planes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elmokit.analysis.polysemes import members_of, senses_of, words_of
from elmokit.analysis.polysemy import cosines, measure_senses, occurrence_vectors
from elmokit.elmo.nearest import NearOccurrence, nearest_occurrences

if TYPE_CHECKING:
    from elmokit.analysis.polysemes import Language, Occurrence
    from elmokit.analysis.polysemy import SenseRates
    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.layer_choice import Array

Floats = NDArray[np.float64]

NUM_CLOSE_UPS = 5
"""Number of words shown in detail, the first of a list (bank, play, spring, ..., 눈이, 배를, ...), chosen before any
model was trained."""
NUM_SHOWN = 6
"""Number of sentences in the table of a close-up: the first of each sense, this many over all senses."""
NUM_NEIGHBOURS = 3


@dataclass(frozen=True)
class CloseUp:
    """A word in detail: the cosines of a few occurrences, and their nearest contexts."""

    word: str
    senses: list[str]
    members: list[int]
    """Indices of its occurrences in the list."""
    points: Floats
    """Coordinates (N,2) of the members in the plane in which they differ most."""
    shown: list[int]
    """Indices of the occurrences in the table."""
    labels: list[str]
    """Label of each occurrence shown: its sense and a number."""
    cosines: Floats
    """Cosines (N,N) between the occurrences shown."""
    nearest: list[tuple[int, list[NearOccurrence]]]
    """Of the first occurrence of each sense: its index, and its nearest contexts, those of the same word first."""


@dataclass(frozen=True)
class SenseStudy:
    """Result of a sense study. Close-ups show the top layer, as in section 5.3 and Table 4 of the paper."""

    model: str
    num_parameters: int
    dim: int
    occurrences: list[Occurrence]
    measured: list[SenseRates]
    close_ups: list[CloseUp]
    language: Language = "en"

    @property
    def top(self) -> SenseRates:
        """The rates of the layer that the close-ups show."""
        return self.measured[-2]


def study_senses(elmo: Elmo, occurrences: list[Occurrence], *, model: str, language: Language = "en") -> SenseStudy:
    """Run a model over the list. `model` is its name on the page."""
    sentences = [list(occurrence.tokens) for occurrence in occurrences]
    encoded = elmo.encode(sentences, layers="all")
    targets = occurrence_vectors(encoded, occurrences)[-1]
    top = {tuple(sentence): array[-1] for sentence, array in zip(sentences, encoded, strict=True)}

    def encode(wanted: list[list[str]]) -> list[Array]:
        return [top[tuple(sentence)] for sentence in wanted]

    def nearest(number: int) -> tuple[int, list[NearOccurrence]]:
        of = encode, sentences[number], occurrences[number].index, sentences
        same = nearest_occurrences(*of, number=NUM_NEIGHBOURS, among="same")
        return number, same + nearest_occurrences(*of, number=NUM_NEIGHBOURS, among="other")

    return SenseStudy(
        model=model,
        num_parameters=elmo.config.num_parameters,
        dim=elmo.dim,
        occurrences=occurrences,
        measured=measure_senses(encoded, occurrences),
        close_ups=[_close_up(word, occurrences, targets, nearest) for word in words_of(occurrences)[:NUM_CLOSE_UPS]],
        language=language,
    )


def _close_up(
    word: str,
    occurrences: list[Occurrence],
    targets: Floats,
    nearest: Callable[[int], tuple[int, list[NearOccurrence]]],
) -> CloseUp:
    senses = senses_of(word, occurrences)
    members = members_of(word, occurrences)
    by_sense = [[index for index in members if occurrences[index].sense == sense] for sense in senses]
    first = [group[: max(NUM_SHOWN // len(senses), 1)] for group in by_sense]
    shown = [index for group in first for index in group]
    return CloseUp(
        word=word,
        senses=senses,
        members=members,
        points=principal_plane(targets[members]),
        shown=shown,
        labels=[f"{sense} {n}" for sense, group in zip(senses, first, strict=True) for n in range(1, len(group) + 1)],
        cosines=cosines(targets[shown]),
        nearest=[nearest(group[0]) for group in by_sense],
    )


def principal_plane(vectors: Floats) -> Floats:
    """Coordinates (N,2) along the two directions of largest variance."""
    centred = vectors - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : min(2, len(singular))] = left[:, :2] * singular[:2]
    furthest = np.abs(points).argmax(axis=0)
    return points * np.where(points[furthest, [0, 1]] < 0, -1.0, 1.0)  # SVD leaves signs open; the furthest sets them
