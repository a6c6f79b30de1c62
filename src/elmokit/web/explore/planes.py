"""UMAP of a word's occurrences (McInnes et al., 2018), computed when the explorer is written."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.system.optional import require
from elmokit.system.progress_bar import counted, progress_bar

if TYPE_CHECKING:
    from jaxtyping import Float32
    from numpy.typing import NDArray

NUM_NEIGHBOURS = 15
"""UMAP's own default; a word with fewer occurrences has no plane."""
MAX_OCCURRENCES = 300
"""Number of a word's occurrences that the map shows."""
MAX_WORDS = 200
"""Only this many of the most frequent words have a plane, because each takes about a second."""


def umap_planes(
    top: Float32[np.ndarray, "N E"], tokens: Sequence[str], *, first: Sequence[str] = (), starts: Sequence[int] = ()
) -> dict[str, list[list[float]]]:
    """The occurrences of words, by the word in lower case: the number of the token, and its two coordinates.

    top: the vectors of all tokens of the corpus.
    first: words to take before more frequent ones.
    starts: numbers of the first tokens of the files after the sample. Each file gets a share of the occurrences.
    Raises ValueError, naming the extra, if umap-learn is missing.
    """
    umap = require_umap()
    places: dict[str, list[int]] = {}
    for number, token in enumerate(tokens):
        places.setdefault(token.lower(), []).append(number)
    by_frequency = sorted(places, key=lambda word: -len(places[word]))
    words = dict.fromkeys([word.lower() for word in first if word.lower() in places] + by_frequency)
    chosen = [word for word in words if len(places[word]) > NUM_NEIGHBOURS][:MAX_WORDS]
    shown = {
        word: _spread(np.split(np.array(places[word]), np.searchsorted(places[word], starts)), MAX_OCCURRENCES)
        for word in chosen
    }
    planes: dict[str, list[list[float]]] = {}
    for word in counted(chosen, progress_bar(unit="word", total=len(chosen), label="maps", keep=False)):
        plane = _plane(umap, top[shown[word]])
        planes[word] = [[at, *point] for at, point in zip(shown[word], plane, strict=True)]
    return planes


def _spread(groups: Sequence[NDArray[np.int64]], total: int) -> list[int]:
    """At most `total` entries, shared fairly among groups and spread evenly over each, as in `corpus.js`."""
    shares = [0] * len(groups)
    for rank, at in enumerate(sorted(range(len(groups)), key=lambda at: len(groups[at]))):
        shares[at] = min(len(groups[at]), (total - sum(shares)) // (len(groups) - rank))
    return [
        int(group[number * len(group) // share])
        for group, share in zip(groups, shares, strict=True)
        for number in range(share)
    ]


def require_umap() -> Any:
    """The package umap-learn. Raises ValueError, naming the extra, if it is missing."""
    return require("umap", extra="umap", purpose="a map by UMAP", package="umap-learn")


def _plane(umap: Any, vectors: Float32[np.ndarray, "N E"]) -> list[list[float]]:
    reduction = umap.UMAP(n_neighbors=NUM_NEIGHBOURS, metric="cosine", random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP warns that it lays out few points by another method
        points: Float32[np.ndarray, "N 2"] = reduction.fit_transform(vectors)
    return points.round(3).tolist()
