"""Vectors of proteins with a biLM of residues: SeqVec (Heinzinger et al., 2019), whose files are a released pair."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.text.fasta import read_fasta

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jaxtyping import Float32

    from elmokit.elmo.elmo import Elmo

RESIDUES_AT_ONCE = 15_000
"""Residues of the proteins that are encoded together, as in SeqVec; a longer protein is encoded by itself."""


@dataclass(frozen=True, eq=False)
class ProteinVectors:
    """A protein of a FASTA file, with all layers of all residues."""

    name: str
    sequence: str
    layers: Float32[np.ndarray, "L T E"]
    """Layers 0 (without context) to 2, in SeqVec's words CNN, LSTM1 and LSTM2."""

    @property
    def residues(self) -> Float32[np.ndarray, "T E"]:
        """A vector per residue: the sum of the layers."""
        return self.layers.sum(axis=0)

    @property
    def protein(self) -> Float32[np.ndarray, " E"]:
        """A vector of the protein: the mean over its residues."""
        return self.residues.mean(axis=0)


def protein_vectors(elmo: Elmo, path: str | os.PathLike[str]) -> Iterator[ProteinVectors]:
    """Vectors of the proteins of a FASTA file, in its order. A token of the model is one residue, in upper case.

    The vectors of a protein depend on it alone; SeqVec itself carries the state from one protein to the next. Raises
    ValueError, naming file and line, for what is not FASTA.
    """
    for batch in batches_of_proteins(elmo, read_fasta(path)):
        yield from batch


def batches_of_proteins(elmo: Elmo, records: Iterable[tuple[str, str]]) -> Iterator[list[ProteinVectors]]:
    """The vectors of names and sequences, in lists of those that are encoded together."""
    batch: list[tuple[str, str]] = []
    for name, sequence in records:
        if batch and sum(len(other) for _, other in batch) + len(sequence) > RESIDUES_AT_ONCE:
            yield _encoded(elmo, batch)
            batch = []
        batch.append((name, sequence))
    if batch:
        yield _encoded(elmo, batch)


def _encoded(elmo: Elmo, batch: list[tuple[str, str]]) -> list[ProteinVectors]:
    if not elmo.same_in_any_batch:
        elmo.forget_tokens()  # so that the bytes of a batch depend on that batch alone
    vectors = elmo.encode([list(sequence) for _, sequence in batch], layers="all", show_progress_bar=False)
    return [ProteinVectors(name, sequence, layers) for (name, sequence), layers in zip(batch, vectors, strict=True)]
