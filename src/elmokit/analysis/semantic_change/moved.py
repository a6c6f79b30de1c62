"""The uses of a word that moved most: far from its uses in the other corpus, close to those in their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elmokit.elmo.layer_choice import unit_vectors

if TYPE_CHECKING:
    from jaxtyping import Float, Float64


def moved_by(own: Float[np.ndarray, "N E"], other: Float[np.ndarray, "M E"]) -> Float64[np.ndarray, " N"]:
    """For each use in one corpus, how much further the uses in the other corpus are than the others in its own.

    Both are average cosine distances; a corpus of a single use has no others, and counts as one at distance 0.
    """
    units, others = unit_vectors(own.astype(np.float64)), unit_vectors(other.astype(np.float64))
    to_other = 1 - units @ others.mean(axis=0)
    if len(units) == 1:
        return to_other
    without_itself = (units.sum(axis=0) - units) / (len(units) - 1)
    return to_other - (1 - (units * without_itself).sum(axis=1))
