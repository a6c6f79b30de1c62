"""Proteins in FASTA files, with SeqVec's two kinds of vectors."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from elmokit.elmo.elmo import Elmo
from elmokit.vectors.jobs import proteins
from elmokit.vectors.jobs.proteins import protein_vectors, read_fasta

MODEL = Path(__file__).parents[1] / "fixtures" / "formats" / "checkpoints" / "char"
TEXT = ">sp|P1|ONE some words\nMKV\nlaa\n\n>second protein\nM K\n>third\n" + "A" * 30 + "\n"
SEQUENCES = [("P1", "MKVLAA"), ("second", "MK"), ("third", "A" * 30)]


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    path = tmp_path / "proteins.fasta"
    path.write_text(TEXT)
    return path


def test_records_are_read_plain_and_compressed(fasta: Path):
    assert list(read_fasta(fasta)) == SEQUENCES
    compressed = fasta.with_suffix(".fasta.gz")
    compressed.write_bytes(gzip.compress(TEXT.encode()))
    assert list(read_fasta(compressed)) == SEQUENCES


@pytest.mark.parametrize(
    ("header", "name"),
    [("tr|Q9|X_MOUSE a protein", "Q9"), ("1ABC_1|Chain A|Lysozyme", "1ABC_1|Chain"), ("seq1 | some protein", "seq1")],
)
def test_bars_separate_a_name_only_behind_the_code_of_a_database(fasta: Path, header: str, name: str):
    fasta.write_text(f">{header}\nMKV\n")
    assert [found for found, _ in read_fasta(fasta)] == [name]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("MKV\n", "line 1: a sequence without a header"),
        (">\nMKV\n", "line 1: the header has no name"),
        (">sp||x\nMKV\n", "line 1: the header has no name"),
        (">a\n\n>b\nMKV\n", "line 1: the header is followed by no sequence"),
        (">b\nMKV\n>a\n", "line 3: the header is followed by no sequence"),
    ],
)
def test_what_is_not_fasta_is_named_with_its_line(fasta: Path, text: str, reason: str):
    fasta.write_text(text)
    with pytest.raises(ValueError, match=rf"proteins\.fasta, {reason}"):
        list(read_fasta(fasta))


def test_residues_are_sums_of_layers_and_a_protein_is_the_mean_of_its_residues(fasta: Path):
    elmo = Elmo(MODEL, device="cpu")
    found = list(protein_vectors(elmo, fasta))
    assert [(protein.name, protein.sequence) for protein in found] == SEQUENCES
    layers = elmo.encode([list("MKVLAA")], layers="all")[0]
    assert np.allclose(found[0].layers, layers, atol=1e-6)
    assert np.allclose(found[0].residues, layers[0] + layers[1] + layers[2], atol=1e-6)
    assert np.allclose(found[0].protein, found[0].residues.mean(axis=0))
    assert found[0].protein.shape == (elmo.dim,)


def test_proteins_that_are_encoded_apart_have_the_same_vectors(fasta: Path, monkeypatch: pytest.MonkeyPatch):
    elmo = Elmo(MODEL, device="cpu")
    together = list(protein_vectors(elmo, fasta))
    monkeypatch.setattr(proteins, "RESIDUES_AT_ONCE", 7)
    apart = list(protein_vectors(elmo, fasta))
    for one, other in zip(together, apart, strict=True):
        assert np.allclose(one.layers, other.layers, atol=1e-6)
