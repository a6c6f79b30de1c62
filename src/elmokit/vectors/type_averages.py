"""Static word vectors out of a biLM: the average of a word's vectors over its occurrences (Bommasani et al., 2020)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elmokit.elmo.layer_choice import as_layers

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float32

    from elmokit.elmo.layer_choice import Layers


def layers_of_types(layers: Layers, *, top: int) -> Layers:
    """Layers as `as_layers` gives them. Raises ValueError for "all", too."""
    layers = as_layers(layers, top=top)
    if layers == "all":
        raise ValueError(
            "layers is 'all'; a word has one vector, of 'top', 'average', the number of a layer, or a weight for each"
        )
    return layers


@dataclass
class TypeSums:
    """Sums of the vectors of words over their occurrences; the memory grows with the number of different words."""

    wanted: Collection[str] | None = None
    """The words that are added; None adds all."""
    counts: Counter[str] = field(default_factory=Counter[str])
    """Number of occurrences."""
    _sums: dict[str, Float32[np.ndarray, " E"]] = field(default_factory=dict[str, "Float32[np.ndarray, ' E']"])

    def add(self, sentence: Sequence[str], array: Float32[np.ndarray, "T E"]) -> None:
        """Add the vectors of the tokens of a sentence."""
        for token, vector in zip(sentence, array, strict=True):
            if self.wanted is not None and token not in self.wanted:
                continue
            if token in self._sums:
                self._sums[token] += vector
            else:
                self._sums[token] = vector.copy()
            self.counts[token] += 1

    def average(self, word: str) -> Float32[np.ndarray, " E"]:
        """The average of a word that has occurred."""
        return self._sums[word] / self.counts[word]
