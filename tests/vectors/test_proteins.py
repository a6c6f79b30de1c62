"""Proteins in FASTA files, with SeqVec's two kinds of vectors."""

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.vectors import embed_file, writer
from elmokit.vectors.files import load_vectors
from elmokit.vectors.proteins import embed_fasta, read_fasta
from refusals import refused_files
from toy_vectors import interrupted

MODEL = Path(__file__).parents[1] / "fixtures" / "formats" / "checkpoints" / "char"


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    """A model without a vocabulary, as SeqVec is: nothing says that it is a model of words."""
    elmo = Elmo(MODEL, device="cpu")
    elmo.vocabulary = None
    return elmo


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    path = tmp_path / "proteins.fasta"
    path.write_text(">sp|P1|ONE some words\nMKV\nlaa*\n\n>second protein\nM K\n")
    return path


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("tr|Q9|X_MOUSE a protein", "Q9"),
        ("1ABC_1|Chain A|Lysozyme", "1ABC_1|Chain"),
        ("seq1 | some protein", "seq1"),
        ("lcl|NC_1.3_prot_NP_4.1_1 [gene=thrL]", "NC_1.3_prot_NP_4.1_1"),
        ("sp|P12345 no third bar", "P12345"),
        ("prf||1109186A neurotoxin", "1109186A"),
    ],
)
def test_bars_separate_a_name_only_behind_the_code_of_a_database(fasta: Path, header: str, name: str):
    fasta.write_text(f">{header}\nMKV\n")
    assert [found for found, _ in read_fasta(fasta)] == [name]


def test_lines_that_begin_with_a_semicolon_are_comments(fasta: Path):
    fasta.write_text(";a comment\n>a\n;another\nMK\nV\n")
    assert list(read_fasta(fasta)) == [("a", "MKV")]


def test_what_is_not_fasta_is_named_with_its_line_and_leaves_nothing(
    elmo: Elmo, fasta: Path, snapshot: SnapshotAssertion
):
    texts = (
        *("MKV\n", ">\nMKV\n", ">sp||\nMKV\n", ">a\n\n>b\nMKV\n", ">a\n*\n", ">a\nMK*V\n", ">a\nMK*\n*\n", ""),
        *(">a\nMK\nM#@1\n", ">a\nM\u00c5\n", ">b\nMKV\n>a\n"),
    )
    said = refused_files(lambda path: embed_fasta(elmo, path, path.with_suffix(".npz")), fasta, texts)
    assert said == snapshot
    assert [path.name for path in fasta.parent.iterdir()] == ["proteins.fasta"]


def test_residues_are_sums_of_layers_a_protein_their_mean(elmo: Elmo, fasta: Path):
    done = embed_fasta(elmo, fasta, fasta.with_suffix(".h5"))
    assert (done.num_lines, done.num_tokens) == (2, 8)
    assert fasta.with_name("proteins.h5.names.txt").read_text() == "P1\nsecond\n"
    embed_fasta(elmo, fasta, fasta.with_suffix(".npz"), per_protein=True)
    embed_fasta(elmo, fasta, fasta.with_suffix(".npy"), layers="all")
    assert load_vectors(fasta.with_suffix(".npy"))[0].shape == (3, 6, elmo.dim)
    assert not list(fasta.parent.glob("*.partial*"))
    stored = (load_vectors(fasta.with_suffix(ending)) for ending in (".h5", ".npz"))
    together = elmo.encode([list("MKVLAA"), list("MK")], layers="all")
    for residues, whole, layers in zip(*stored, together, strict=True):
        expected = layers[0] + layers[1] + layers[2]
        assert np.allclose(residues, expected, atol=1e-6)
        assert np.allclose(whole, expected.mean(axis=0, keepdims=True), atol=1e-6)


def test_equal_names_are_warned_of_once(elmo: Elmo, fasta: Path):
    fasta.write_text(">case one\nMKV\n>case two\nMK\n>case\nM\n>other\nM\n>other\nMM\n")
    with pytest.warns(
        UserWarning, match=r"proteins\.fasta: 3 proteins are named 'case', because a name is the"
    ) as given:
        embed_fasta(elmo, fasta, fasta.with_suffix(".npy"))
    assert len(given) == 1


def test_a_killed_job_is_resumed_to_the_same_bytes(elmo: Elmo, fasta: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embed_file, "BLOCK_LINES", 1)
    whole, output = fasta.with_name("whole.npz"), fasta.with_name("out.npz")
    embed_fasta(elmo, fasta, whole, per_protein=True)
    with interrupted(after=1):
        embed_fasta(elmo, fasta, output, per_protein=True)
    with pytest.raises(ValueError, match="the interrupted job had a different per_protein"):
        embed_fasta(elmo, fasta, output, resume=True)
    embed_fasta(elmo, fasta, output, per_protein=True, resume=True)
    assert output.read_bytes() == whole.read_bytes()
    assert output.with_name(f"{output.name}.names.txt").read_text() == "P1\nsecond\n"


def test_bytes_do_not_depend_on_what_was_encoded_before(elmo: Elmo, fasta: Path, monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    encode = elmo.encode
    monkeypatch.setattr(embed_file, "BLOCK_LINES", 1)
    monkeypatch.setattr(Elmo, "same_in_any_batch", False)
    monkeypatch.setattr(elmo, "forget_tokens", lambda: done.append("forget"))
    monkeypatch.setattr(elmo, "encode", lambda *given, **options: done.append("encode") or encode(*given, **options))
    embed_fasta(elmo, fasta, fasta.with_suffix(".npz"))
    assert done == ["forget", "encode"] * 2


@pytest.mark.parametrize(("per_protein", "size"), [(False, "768 bytes"), (True, "192 bytes")])
def test_a_disk_that_is_too_small_is_noticed_before_the_work(
    elmo: Elmo, fasta: Path, monkeypatch: pytest.MonkeyPatch, per_protein: bool, size: str
):
    monkeypatch.setattr(writer.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 100}))
    with pytest.raises(OSError, match=rf"proteins\.npz: needs {size} while it is written"):
        embed_fasta(elmo, fasta, fasta.with_suffix(".npz"), per_protein=per_protein)
    assert [path.name for path in fasta.parent.iterdir()] == ["proteins.fasta"]


def test_the_verb_embeds_fasta(elmo: Elmo, fasta: Path, capsys: pytest.CaptureFixture[str]):
    output = fasta.with_suffix(".npz")
    arguments = ["embed", str(fasta), "-o", str(output), "--model", str(MODEL), "--fasta", "--per-protein"]
    assert main([*arguments, "--device", "cpu"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{output}: 2 proteins, 2 vectors, 0.0 MB, vectors of {MODEL.name}\n"
    assert err.count("is a model of words, such as '오늘'") == 1
    assert load_vectors(output)[1].shape == (1, elmo.dim)
    refused = {f"--{name}": f"--{name} cannot be combined with --fasta" for name in ("tokenize", "as-text")}
    refused[""] = "--per-protein needs --fasta"
    for wrong, message in refused.items():
        given = [*arguments, wrong] if wrong else [name for name in arguments if name != "--fasta"]
        assert main(given) == 2
        assert message in capsys.readouterr().err
