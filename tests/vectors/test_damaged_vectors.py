"""Damaged vectors on disk, caches and unfinished outputs are read, or refused with an error that names them."""

from pathlib import Path

import pytest

from damage import check_damaged
from elmokit.elmo.elmo import Elmo
from elmokit.vectors import embed_file as embedding
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.embed_file import embed_file
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import load_vectors
from toy_bilm import toy_elmo
from toy_vectors import interrupted

LINES = ("the cat sat", "on a mat .", "", "a b c", "Seoul", "the the the", "x")
SENTENCES = [line.split() for line in LINES]


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return toy_elmo()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "whole").mkdir()
    return folder


@pytest.mark.parametrize(
    ("ending", "layers"),
    [
        *((".npy", "all"), (".npz", "average"), (".safetensors", "all"), (".h5", "all"), (".h5", "average")),
        *((".parquet", "all"), (".arrow", "average")),
    ],
)
def test_damaged_vectors_are_read_or_refused(ending: str, layers: str, elmo: Elmo, folder: Path):
    if ending in (".parquet", ".arrow"):
        pytest.importorskip("pyarrow")
    (folder / "v.txt").write_text("".join(f"{line}\n" for line in LINES))
    embed_file(elmo, folder / "v.txt", folder / f"v{ending}", layers=layers)

    def use(folder: Path) -> None:
        for array in load_vectors(folder / f"v{ending}"):
            array.tobytes()  # reads all of it
        stored = FileVectorSource(folder / f"v{ending}")
        stored.fingerprint()
        stored([["the", "cat", "sat"], []])

    check_damaged(folder, use)


def test_a_damaged_cache_is_repaired_or_refused(elmo: Elmo, folder: Path):
    def use(folder: Path) -> None:
        activations = CachedActivations(elmo, folder=folder)
        activations.add(SENTENCES)
        assert activations(SENTENCES).isfinite().all()

    use(folder)
    check_damaged(folder, use)


def test_a_damaged_unfinished_output_is_finished_or_refused(
    elmo: Elmo, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embedding, "BLOCK_LINES", 2)
    (text := tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in LINES))
    with interrupted(after=2):
        embed_file(elmo, text, folder / "out.npz", resume=True)

    def resume(folder: Path) -> None:
        embed_file(elmo, text, folder / "out.npz", resume=True)
        assert [len(array) for array in load_vectors(folder / "out.npz")] == list(map(len, SENTENCES))

    check_damaged(folder, resume)
