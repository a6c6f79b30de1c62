"""The systems whose vectors stand next to ELMo's, by name, and the trainings of those that are trained here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from elmokit.files.atomic import as_paths
from elmokit.files.lines import is_read_once
from elmokit.integrations.embed_with import SYSTEMS, find_system
from elmokit.integrations.encoder import Comparator
from elmokit.model.vector_source import VectorSource
from paper.comparators.context2vec import CONTEXT2VEC
from paper.comparators.context2vec_training import train_context2vec
from paper.comparators.cove import COVE, GLOVE_COVE
from paper.comparators.cove_training import train_cove
from paper.comparators.word_vector_training import train_fasttext, train_word2vec

COMPARATORS: dict[str, Comparator] = {
    **SYSTEMS,
    **{comparator.name: comparator for comparator in (COVE, GLOVE_COVE, CONTEXT2VEC)},
}


TRAININGS = {
    "word2vec": train_word2vec,
    "fasttext": train_fasttext,
    "cove": train_cove,
    "context2vec": train_context2vec,
}
"""Trainings by name: files, output and settings `field=value` -> what was measured, by name."""


def open_comparator(name: str, model: str, *, word_vectors: Path | None = None) -> VectorSource:
    """Open the model of a system. Raises ValueError for an unknown name, and what the system's `open` raises."""
    comparator = find_system(COMPARATORS, name, model)
    if comparator.reads_word_vectors and word_vectors is None:
        raise ValueError(f"{name} reads word vectors: give their file with --word-vectors FILE")
    if word_vectors is not None and not comparator.reads_word_vectors:
        raise ValueError(f"{name} reads no word vectors besides {model}; leave out --word-vectors")
    return comparator.open(model, word_vectors)


def train_comparator(
    system: str,
    files: Iterable[str | Path],
    output: str | Path,
    settings: Sequence[str] = (),
    *,
    resume: bool = False,
) -> dict[str, float]:
    """Train a system that ELMo is compared with: `word2vec`, `fasttext`, `cove` or `context2vec`.

    files: shards of tokenised text; for `cove`, a text and its translation, and optionally a pair to measure BLEU on.
    output: the file (word vectors) or the new folder (all others) of the model.
    settings: changes to the settings, as `field=value`; docs/comparators.md lists the fields.
    resume: continue an interrupted training of `cove` or `context2vec` in `output`, with the same files and settings;
        it ends with the same weights as one that was not interrupted.
    Returns what was measured, by name. Raises ValueError for an unknown system, wrong settings and texts that cannot be
    used, and OSError for files that cannot be read or written.
    """
    if system not in TRAININGS:
        raise ValueError(f"no training {system!r}; expected one of {', '.join(TRAININGS)}")
    train = TRAININGS[system]
    paths = as_paths(files)
    for file in paths:
        if is_read_once(file):
            raise ValueError(
                f"{file} is a pipe or standard input, but a training reads it again; write it to a file first"
            )
    return train(paths, Path(output), settings, resume=resume)
