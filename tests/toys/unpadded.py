"""Layers of single sentences, cut out of a padded batch."""

from collections.abc import Sequence

import numpy as np

from elmokit.model.vector_source import VectorSource


def unpadded(layers: VectorSource, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """The layers (L,T,E) of each sentence, encoded together."""
    batch = layers(sentences).numpy()
    return [batch[:, number, : len(sentence)] for number, sentence in enumerate(sentences)]
