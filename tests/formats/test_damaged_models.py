"""A damaged model of any format is read, or refused with an error that names it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import pytest

from damage import check_damaged
from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import inspect
from elmokit.formats.importers.bilm_tf import write_bilm_tf
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.model.weights import Weights
from elmokit.system.messages import FormatError
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import TINY
from toy_language_model import toy_parts
from toy_stored import datasets_of, read_stored

LARGE = replace(TINY, projection_dim=128, lstm_dim=1024)
"""10 MB: its memory is that of its weights, not that of the interpreter."""
FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
PUBLISHED = [
    f"{path.parent.name}/{path.name}"
    for path in sorted(FIXTURES.glob("*/*"))
    if path.is_dir() or path.name.endswith((".tar.gz", ".zip", ".th"))
]


def stored(num_words: int = 8, **given: Any) -> Weights:
    """A model of random weights, with softmax and vocabulary."""
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", *map(str, range(num_words))])
    return to_weights(*toy_parts(given.get("config", TINY), vocabulary), vocabulary, pretraining={"text": ["a", "b"]})


def write_packed(folder: Path, *, compression: str | None, libver: str) -> None:
    """A pair with chunks and filters, or in the library's newest layout."""
    write_bilm_tf(folder, stored())
    path = folder / "weights.hdf5"
    arrays, packed = datasets_of(path), {"compression": compression, "shuffle": True} if compression else {}
    with h5py.File(path, "w", libver=libver) as new:
        for name, array in arrays.items():
            new.create_dataset(name, data=array, **packed)


def copy(folder: Path, *, name: str) -> None:
    folder.mkdir()
    source = FIXTURES / name
    (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / source.name)


MAKERS: dict[str, Callable[[Path], object]] = {
    "native float32": lambda folder: write_native(folder, stored()),
    "native float16": lambda folder: write_native(folder, stored(), dtype="float16"),
    "native int8 softmax": lambda folder: write_native(folder, stored(), softmax_dtype="int8"),
    "native of 10 MB": lambda folder: write_native(folder, stored(config=LARGE)),
    "native in parts": lambda folder: write_native(folder, stored(2500), max_file_bytes=40_000),
    "bilm_tf": lambda folder: write_bilm_tf(folder, stored()),
    "bilm_tf of 10 MB": lambda folder: write_bilm_tf(folder, stored(config=LARGE)),
    "bilm_tf gzip": partial(write_packed, compression="gzip", libver="earliest"),
    "bilm_tf latest gzip": partial(write_packed, compression="gzip", libver="latest"),
    "bilm_tf latest": partial(write_packed, compression=None, libver="latest"),
    **{name: partial(copy, name=name) for name in PUBLISHED},
}


def read(path: Path) -> None:
    """What `inspect` and `convert` read of a model; both refuse it, or none does."""
    try:
        refusals = inspect(path).refusals
    except (ValueError, OSError) as error:
        refusals = [str(error)]
    read_stored(path, with_softmax=True)
    if refusals:
        raise ValueError(max(refusals, key=len))


def embed(path: Path) -> None:
    Elmo.from_pretrained(path, device="cpu").encode([["a", "cat"], []], layers="all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "use"), [*((name, read) for name in MAKERS), ("native float32", embed), ("bilm_tf", embed)]
)
def test_a_damaged_model_is_read_or_refused(name: str, use: Callable[[Path], None], tmp_path: Path):
    MAKERS[name](folder := tmp_path / "model")
    inner = name.rpartition("/")[2] if name in PUBLISHED else ""
    try:
        check_damaged(folder, lambda place: use(place / inner), num_examples=4 if name in PUBLISHED else 8)
    except FormatError as error:
        assert str(folder) in str(error)  # the files, undamaged, are half of a model or of a kind that is refused
