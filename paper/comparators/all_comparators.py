"""The systems whose vectors are compared with ELMo's, and how some of them are trained here."""

from __future__ import annotations

from pathlib import Path

from elmokit.integrations.embed_with import SYSTEMS, find_system
from elmokit.integrations.encoder import Comparator
from elmokit.model.vector_source import VectorSource
from paper.comparators.context2vec import CONTEXT2VEC, train_context2vec
from paper.comparators.cove import COVE, open_cove, train_cove

COMPARATORS: dict[str, Comparator] = {**SYSTEMS, COVE.name: COVE, CONTEXT2VEC.name: CONTEXT2VEC}
TRAININGS = {"cove": train_cove, "context2vec": train_context2vec}
"""Trainings by name: files, output and settings `field=value` -> the loss of the last epoch."""


def open_comparator(name: str, model: str, *, word_vectors: Path | None = None) -> VectorSource:
    """Open the model of a system. Only CoVe also reads word vectors; the other systems ignore them.

    Raises ValueError for an unknown name or missing word vectors, and whatever the system's `open` raises.
    """
    comparator = find_system(COMPARATORS, name, model)
    return open_cove(model, word_vectors) if comparator is COVE else comparator.open(model)
