"""Targets: models in every format that we read, small ones and ones of some megabytes."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import h5py

from attacks.targets import Target, target
from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import inspect
from elmokit.formats.importers.bilm_tf import write_bilm_tf
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.model.config import BiLMConfig
from elmokit.model.weights import Weights
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import TINY
from toy_language_model import toy_parts
from toy_stored import datasets_of, read_stored

LARGE = replace(TINY, projection_dim=128, lstm_dim=1024)
"""Of 10 MB: its memory is that of its weights, not that of the interpreter."""
FIXTURES = Path(__file__).parents[2] / "fixtures" / "formats"
WORDS = ("the", "cat", "sat", "on", "a", "mat", ".", "Seoul")
SPECIALS = ("<S>", "</S>", "<UNK>")


def stored_bilm(config: BiLMConfig = TINY, *, words: Sequence[str] = WORDS) -> Weights:
    """A model of random weights, with softmax and vocabulary."""
    vocabulary = Vocabulary([*SPECIALS, *words])
    return to_weights(*toy_parts(config, vocabulary), vocabulary, pretraining={"steps": 3, "text": ["a", "b"]})


def weights_targets(folder: Path) -> Iterator[Target]:
    """Every format, in every way in which it can be written."""
    small, large = stored_bilm(), stored_bilm(LARGE)
    many = stored_bilm(words=[str(number) for number in range(2500)])
    ways = {
        "native float32": partial(write_native, weights=small),
        "native float16": partial(write_native, weights=small, dtype="float16"),
        "native float16 softmax": partial(write_native, weights=small, softmax_dtype="float16"),
        "native int8 softmax": partial(write_native, weights=small, softmax_dtype="int8"),
        "native of 10 MB": partial(write_native, weights=large),
        "native in parts": partial(write_native, weights=many, max_file_bytes=40_000),
        "bilm_tf float32": partial(write_bilm_tf, weights=small),
        "bilm_tf of 10 MB": partial(write_bilm_tf, weights=large),
    }
    for name, make in ways.items():
        yield target(name, folder, make, read_model)
    yield target("native: embed", folder, partial(write_native, weights=small), embed)
    yield target("bilm_tf: embed", folder, partial(write_bilm_tf, weights=small), embed)
    yield from _published_targets(folder)
    for compression, libver in (("gzip", "earliest"), ("gzip", "latest"), (None, "latest")):
        make = partial(_write_packed, small, compression, libver)
        yield target(f"bilm_tf {compression or 'plain'} {libver}", folder, make, read_model)


def _published_targets(folder: Path) -> Iterator[Target]:
    """Files of other programs, in formats that we read and do not write: those of the tests, made by these programs."""
    for path in sorted(FIXTURES.glob("*/*")):
        if path.is_dir() or path.name.endswith((".tar.gz", ".zip", ".th")):
            try:
                read_stored(path, with_softmax=True)
            except ValueError:  # half of a model, or of a kind that is refused
                continue
            make, use = partial(_copy, path), partial(_read_named, path.name)
            yield target(f"{path.parent.name}/{path.name}", folder, make, use)


def _copy(source: Path, folder: Path) -> None:
    folder.mkdir()
    (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / source.name)


def _read_named(name: str, folder: Path) -> None:
    read_model(folder / name)


def read_model(path: Path) -> None:
    """What `inspect` and `convert` read of a model; both refuse it, or none does."""
    try:
        refusals = inspect(path).refusals
    except (ValueError, OSError) as error:
        refusals = [str(error)]
    read_stored(path, with_softmax=True)
    if refusals:
        raise ValueError(max(refusals, key=len))


def embed(folder: Path) -> None:
    """What `embed` does with a model."""
    Elmo.from_pretrained(folder, device="cpu").encode([["a", "cat"], []], layers="all", show_progress_bar=False)


def _write_packed(model: Weights, compression: str | None, libver: str, folder: Path) -> None:
    """A pair with chunks and filters, or in the library's newest layout."""
    write_bilm_tf(folder, model)
    path = folder / "weights.hdf5"
    arrays, packed = datasets_of(path), {"compression": compression, "shuffle": True} if compression else {}
    with h5py.File(path, "w", libver=libver) as new:
        for name, array in arrays.items():
            new.create_dataset(name, data=array, **packed)
