"""A hostile or damaged HDF5 file is refused by file, dataset and reason, before anything is allocated.

Each attack was made by hand with h5py; most of them work on a loader that just indexes the file.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from elmokit.files.hdf5 import HDF5File
from elmokit.formats.find import inspect
from elmokit.system.messages import FormatError
from toy_stored import assert_refused, read_stored, without_allocation

Change = Callable[[Any, Path], object]
CONVOLUTION, SHAPE = "CNN/W_cnn_1", (1, 2, 4, 5)
CELL = "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell"


def _replace(file: Any, name: str = CONVOLUTION, **dataset: Any) -> Any:
    shape = file[name].shape
    del file[name]
    return file.create_dataset(name, **({"shape": shape, "dtype": "f4"} | dataset))


def replaced(name: str = CONVOLUTION, **dataset: Any) -> Change:
    return lambda file, _: _replace(file, name, **dataset)


def put(name: str, make: Callable[[Any], Any] | None = None) -> Change:
    """Something else, or nothing, in the place of an object."""

    def change(file: Any, _: Path) -> None:
        del file[name]
        if make is not None:
            file[name] = make(file)

    return change


def _elsewhere(file: Any, folder: Path) -> Path:
    """Another file, to which the convolution is moved."""
    path = folder.parent / "secret.hdf5"
    with h5py.File(path, "w") as secret:
        file.copy(CONVOLUTION, secret, name=CONVOLUTION)
    del file[CONVOLUTION]
    return path


def _soft_link(file: Any, folder: Path) -> None:
    file.move("CNN", "elsewhere")
    file["CNN"] = h5py.SoftLink("/elsewhere")


def _external_link(file: Any, folder: Path) -> None:
    file[CONVOLUTION] = h5py.ExternalLink(_elsewhere(file, folder), f"/{CONVOLUTION}")


def _external_storage(file: Any, folder: Path) -> None:
    (folder.parent / "secret.txt").write_bytes(b"TOPSECRET-DATA!!" * 10)
    _replace(file, external=[(str(folder.parent / "secret.txt"), 0, 160)])


def _virtual(file: Any, folder: Path) -> None:
    layout = h5py.VirtualLayout(shape=SHAPE, dtype="f4")
    layout[...] = h5py.VirtualSource(_elsewhere(file, folder), CONVOLUTION, shape=SHAPE)
    file.create_virtual_dataset(CONVOLUTION, layout)


def _loose_chunks(file: Any, folder: Path) -> None:
    _replace(file, chunks=(1, 1, 4, 5))[0, 0] = 1.0


NARROW = {"shape": (12, 36), "data": np.zeros((12, 36), "f4")}
ATTACKS: dict[str, tuple[Change, str, str]] = {
    "external storage": (_external_storage, CONVOLUTION, "external storage"),
    "virtual dataset": (_virtual, CONVOLUTION, "virtual"),
    "strings": (replaced(dtype=h5py.string_dtype()), CONVOLUTION, "holds other values"),
    "a null dataset": (replaced(shape=None, data=h5py.Empty("f4")), CONVOLUTION, "null dataset"),
    "NaN": (lambda file, _: file[CONVOLUTION].__setitem__((0, 1, 2, 3), np.nan), CONVOLUTION, "NaN or infinity"),
    "numbers too large for 32 bits": (replaced(dtype="f8", data=np.full(SHAPE, 1e300)), CONVOLUTION, "NaN or infinity"),
    "nothing stored": (replaced(), CONVOLUTION, "declares 160 bytes but stores 0 bytes"),
    "some chunks stored": (_loose_chunks, CONVOLUTION, "stores 1 of its 2 chunks"),
    "a soft link to the group": (_soft_link, "CNN", "is a soft link"),
    "an external link": (_external_link, CONVOLUTION, "or an external link"),
    "a wrong shape": (replaced(f"{CELL}/W_0", **NARROW), f"{CELL}/W_0", r"has shape \(12, 36\); .* \(12, 40\)"),
    "a missing dataset": (put(f"{CELL}/W_P_0"), f"{CELL}/W_P_0", r"is missing; options.json calls for shape \(10, 6\)"),
    "a missing group": (put("CNN_high_0"), "CNN_high_0/W_transform", "is missing"),
    "a group for a dataset": (put("char_embed", lambda file: file.create_group(None)), "char_embed", "is missing"),
    "a named type for a dataset": (put("char_embed", lambda _: np.dtype("f4")), "char_embed", "is a named type"),
    "a group under two names": (put("RNN_1", lambda file: file["RNN_0"]), "RNN_[01]", "second name of a group"),
    "a layer too many": (lambda file, _: file.copy(CELL, CELL.replace("1", "2")), ".*Cell2/LSTMCell/B", "not called"),
}


@pytest.mark.parametrize(("change", "dataset", "reason"), ATTACKS.values(), ids=ATTACKS)
def test_refuses(pair: Path, change: Change, dataset: str, reason: str):
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        change(file, pair)
    with without_allocation(), pytest.raises(FormatError) as error:
        read_stored(pair)
    assert error.match(rf"weights\.hdf5: (tensor )?{dataset}: .*({reason})")
    assert "\n" not in str(error.value)
    if reason != "NaN or infinity":  # `inspect` reads no weights
        assert inspect(pair).refusals == [str(error.value)]


def test_datasets_beside_the_weights_are_left_alone(pair: Path):
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        file["embedding"] = np.zeros((5, 6), np.float32)
        file["notes/author"] = "somebody"
    read_stored(pair)
    assert inspect(pair).refusals == []


@pytest.mark.parametrize(
    ("storage", "size", "reason"),
    [
        ({"chunks": (1024, 1024), "compression": "gzip"}, 99_999, r"declares 37\.3 GiB but stores 0 bytes"),
        ({}, 99_999, r"declares 37\.3 GiB but stores 0 bytes"),
        ({"chunks": (500, 3000), "compression": "gzip"}, 3000, r"declares 34\.3 MiB but stores .* KiB"),
    ],
)
def test_gigabytes_in_two_kilobytes_and_a_bomb_are_refused(tmp_path: Path, storage: Any, size: int, reason: str):
    with h5py.File(path := tmp_path / "weights.hdf5", "w") as file:
        dataset = file.create_dataset("large", shape=(size, size), dtype="f4", **storage)
        if size == 3000:
            dataset[...] = 0.0
    assert path.stat().st_size < 200_000
    start = time.process_time()
    with without_allocation():
        assert re.match(reason, HDF5File(path).entries["large"].refusal or "")
    assert time.process_time() - start < 2


def test_a_second_name_of_a_dataset_is_refused(pair: Path):
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        del file["CNN_high_0/W_transform"]
        file["CNN_high_0/W_transform"] = file["CNN_high_0/W_carry"]
    assert_refused("W_transform: is a second name of a group or dataset; expected one name", pair)


def test_the_entry_of_a_name_with_control_characters_is_printable(pair: Path):
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        file["\x1b[2Jevil\nname"] = h5py.SoftLink("/x")
    with pytest.raises(FormatError) as error:
        read_stored(pair)
    assert str(error.value).isprintable() and str(inspect(pair)).replace("\n", "").isprintable()
