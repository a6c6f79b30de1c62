"""Geometry of vectors: cosines, and the plane in which they differ most (PCA)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elmokit.elmo.layer_choice import unit_vectors

Floats = NDArray[np.float64]

TIE = 1e-6
"""Cosines that differ by no more than this count as equal, because float32 vectors are not more exact."""


def cosines(vectors: Floats) -> Floats:
    """Cosines (N,N) of every vector with every other; those of a zero vector are 0."""
    units = unit_vectors(vectors)
    return units @ units.T


def principal_plane(vectors: Floats) -> tuple[Floats, float]:
    """Coordinates (N,2) along the two directions of largest variance, and their share of the variance."""
    centred = vectors - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : min(2, len(singular))] = left[:, :2] * singular[:2]
    furthest = np.abs(points).argmax(axis=0)
    points *= np.where(points[furthest, [0, 1]] < 0, -1.0, 1.0)  # SVD leaves signs open; the furthest point sets them
    variance = float((singular**2).sum())
    return points, float((singular[:2] ** 2).sum()) / variance if variance > 0 else 1.0
