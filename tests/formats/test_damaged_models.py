"""A damaged model of any format is read, or refused with an error that names it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import pytest

from damage import check_damaged
from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import inspect
from elmokit.formats.importers.layouts import write_bilm_tf
from elmokit.formats.native import write_native
from toy_stored import TINY, datasets_of, make_stored, read_stored

LARGE = replace(TINY, projection_dim=128, lstm_dim=1024)
"""10 MB, so that most of its memory is taken by the weights, not by the interpreter."""
FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
PUBLISHED = (
    *("allennlp/elmo_two_mixes.state_dict.th", "allennlp/finetuned_projected.model.tar.gz"),
    *("checkpoints/char", "checkpoints/word", "nlpl/checkpoint.zip", "nlpl/typical.zip"),
    *("many_langs/char_word", "many_langs/char_word.zip", "many_langs/char_word_newzip"),
)
"""Files of other programs in formats that elmokit does not write."""


def write_packed(folder: Path, **packed: Any) -> None:
    """A pair in the newest layout of HDF5."""
    write_bilm_tf(folder, make_stored(num_tokens=8))
    arrays = datasets_of(folder / "weights.hdf5")
    with h5py.File(folder / "weights.hdf5", "w", libver="latest") as new:
        for name, array in arrays.items():
            new.create_dataset(name, data=array, **packed)


def copy(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (shutil.copytree if (FIXTURES / name).is_dir() else shutil.copy)(FIXTURES / name, folder / Path(name).name)

    return make


MAKERS: dict[str, Callable[[Path], object]] = {
    "native float32": lambda folder: write_native(folder, make_stored(num_tokens=8)),
    "native float16": lambda folder: write_native(folder, make_stored(num_tokens=8), dtype="float16"),
    "native int8 softmax": lambda folder: write_native(folder, make_stored(num_tokens=8), softmax_dtype="int8"),
    "native of 10 MB": lambda folder: write_native(folder, make_stored(LARGE)),
    "native in parts": lambda folder: write_native(folder, make_stored(num_tokens=2500), max_file_bytes=40_000),
    "bilm_tf": lambda folder: write_bilm_tf(folder, make_stored(num_tokens=8)),
    "bilm_tf of 10 MB": lambda folder: write_bilm_tf(folder, make_stored(LARGE)),
    "bilm_tf latest": write_packed,
    "bilm_tf latest gzip": lambda folder: write_packed(folder, compression="gzip", shuffle=True),
    **{name: copy(name) for name in PUBLISHED},
}


def read(path: Path) -> None:
    """Read what `inspect` and `convert` read of a model; raises an error if either refuses it."""
    try:
        refusals = inspect(path).refusals
    except (ValueError, OSError) as error:
        refusals = [str(error)]
    read_stored(path, with_softmax=True)
    if refusals:
        raise ValueError(max(refusals, key=len))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MAKERS)
def test_a_damaged_model_is_read_or_refused(name: str, tmp_path: Path):
    (folder := tmp_path / "whole").mkdir()
    MAKERS[name](folder if name in PUBLISHED else folder / "model")
    (inner,) = (path.name for path in folder.iterdir())
    check_damaged(folder, lambda place: read(place / inner), num_examples=8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["native float32", "bilm_tf"])
def test_a_damaged_model_embeds_or_is_refused(name: str, tmp_path: Path):
    MAKERS[name](folder := tmp_path / "model")
    check_damaged(folder, lambda place: Elmo(place, device="cpu").encode([["a", "cat"], []], layers="all"))
