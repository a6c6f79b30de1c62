"""Targets: vectors on disk, as files, as a cache of activations, and as the part of an output that is done."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

from attacks.limited_child import WrongError
from attacks.targets import Target, target
from elmokit.elmo.elmo import Elmo
from elmokit.vectors import embed_file as embedding
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.embed_file import embed_file
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import load_vectors
from toy_jobs import interrupted

LINES = ("the cat sat", "on a mat .", "", "a b c", "Seoul", "the the the", "x")
SENTENCES = [line.split() for line in LINES]


def vector_targets(folder: Path, given: Path) -> Iterator[Target]:
    """Every layout that `embed` writes, each with its sentences."""
    text = given / "text.txt"
    text.write_text("".join(f"{line}\n" for line in LINES))
    elmo = Elmo.from_pretrained(given / "bilm", device="cpu")
    for ending in (".npy", ".npz", ".safetensors", ".h5", ".parquet", ".arrow"):
        for layers in ("all", "average"):
            make = partial(_embed, elmo, text, ending, layers)
            yield target(f"vectors {ending} {layers}", folder, make, partial(_load, ending))
    yield target("cache of activations", folder, partial(_cache, elmo), partial(_cache, elmo))
    yield target("partial output", folder, partial(_interrupted, elmo, text), partial(_resume, elmo, text))


def _embed(elmo: Elmo, text: Path, ending: str, layers: str, folder: Path) -> None:
    folder.mkdir()
    embed_file(elmo, text, folder / f"v{ending}", layers=layers)
    (folder / "v.txt").write_bytes(text.read_bytes())


def _load(ending: str, folder: Path) -> None:
    vectors = load_vectors(folder / f"v{ending}")
    for array in vectors:
        array.sum()
    stored = FileVectorSource(folder / f"v{ending}")
    stored.fingerprint()
    stored([["the", "cat", "sat"], []])


def _cache(elmo: Elmo, folder: Path) -> None:
    activations = CachedActivations(elmo, folder=folder)
    activations.add(SENTENCES)
    assert activations(SENTENCES).isfinite().all()


def _interrupted(elmo: Elmo, text: Path, folder: Path) -> None:
    folder.mkdir()
    with interrupted(after=2):
        _embed_in_blocks(elmo, text, folder)


def _resume(elmo: Elmo, text: Path, folder: Path) -> None:
    """Vectors that were damaged in an unfinished job are not noticed; everything else is refused, or made whole."""
    _embed_in_blocks(elmo, text, folder)
    if [len(array) for array in load_vectors(folder / "out.npz")] != [len(sentence) for sentence in SENTENCES]:
        raise WrongError("the resumed job ended with other lengths")


def _embed_in_blocks(elmo: Elmo, text: Path, folder: Path) -> None:
    with patch.object(embedding, "BLOCK_LINES", 2):
        embed_file(elmo, text, folder / "out.npz", resume=True)
