"""The systems whose vectors stand next to ELMo's, by name, and the trainings of those that are trained here."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from elmokit.comparators.cove import COVE, GLOVE_COVE
from elmokit.comparators.cove_training import train_cove
from elmokit.comparators.static import STATIC
from elmokit.comparators.word_vector_training import train_fasttext, train_word2vec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from elmokit.comparators.comparator import Comparator, SystemLayers

_T = TypeVar("_T")

COMPARATORS: dict[str, Comparator] = {comparator.name: comparator for comparator in (STATIC, COVE, GLOVE_COVE)}


@dataclass(frozen=True)
class Training:
    """How a system is trained here."""

    reads: str
    """What the files are, in words."""
    writes: str
    train: Callable[[Sequence[Path], Path, Sequence[str]], Mapping[str, float]]
    """Files, output and settings `field=value` -> what was measured, by name."""


TRAININGS: dict[str, Training] = {
    "word2vec": Training("shards of tokenised text", "a file of vectors (.vec, or .bin for binary)", train_word2vec),
    "fasttext": Training("shards of tokenised text", "a .bin file with sub-words", train_fasttext),
    "cove": Training("a text and its translation, and a test pair", "a folder with the encoder", train_cove),
}


def open_comparator(name: str, model: str, *, word_vectors: Path | None = None) -> SystemLayers:
    """Open the model of a system. Raises ValueError for an unknown name, and what the system's `open` raises."""
    comparator = _find(COMPARATORS, name, what="system")
    if comparator.reads_word_vectors and word_vectors is None:
        raise ValueError(f"{name} reads word vectors: give their file with --word-vectors FILE (word_vectors=...)")
    if word_vectors is not None and not comparator.reads_word_vectors:
        raise ValueError(f"{name} reads no word vectors besides {model}; leave out --word-vectors")
    return comparator.open(model, word_vectors)


def find_training(name: str) -> Training:
    """The training of a system. Raises ValueError, suggesting the nearest name, if there is none."""
    return _find(TRAININGS, name, what="training")


def _find(known: Mapping[str, _T], name: str, *, what: str) -> _T:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"no {what} {name!r}; {hint}expected one of {', '.join(known)}")
    return known[name]
