"""A hostile or damaged HDF5 file is refused by file, dataset and reason, before anything is allocated.

Each attack was made by hand with h5py; most of them work on a loader that just indexes the file.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from elmokit.files import hdf5
from elmokit.files.hdf5 import describe_dataset
from elmokit.formats.inspect import inspect
from elmokit.formats.recognise import read_stored
from elmokit.system.messages import FormatError

Frugal = Callable[[], AbstractContextManager[None]]
CONVOLUTION = "CNN/W_cnn_1"  # (1, 2, 4, 5)
CELL = "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell"


def _replace(file: Any, name: str, **dataset: Any) -> None:
    values = file[name][...]
    del file[name]
    file.create_dataset(name, **({"shape": values.shape, "dtype": "f4"} | dataset))


def _soft_link(file: Any, folder: Path) -> None:
    file["elsewhere"] = file[CONVOLUTION][...]
    del file[CONVOLUTION]
    file[CONVOLUTION] = h5py.SoftLink("/elsewhere")


def _external_link(file: Any, folder: Path) -> None:
    with h5py.File(folder.parent / "secret.hdf5", "w") as secret:
        secret["x"] = file[CONVOLUTION][...]
    del file[CONVOLUTION]
    file[CONVOLUTION] = h5py.ExternalLink(str(folder.parent / "secret.hdf5"), "/x")


def _soft_linked_group(file: Any, folder: Path) -> None:
    file.move("CNN", "real")
    file["CNN"] = h5py.SoftLink("/real")


def _external_group(file: Any, folder: Path) -> None:
    with h5py.File(folder.parent / "secret.hdf5", "w") as secret:
        file.copy("CNN", secret)
    del file["CNN"]
    file["CNN"] = h5py.ExternalLink(str(folder.parent / "secret.hdf5"), "/CNN")


def _external_storage(file: Any, folder: Path) -> None:
    (folder.parent / "secret.txt").write_bytes(b"TOPSECRET-DATA!!" * 10)
    del file[CONVOLUTION]
    external = [(str(folder.parent / "secret.txt"), 0, 160)]
    file.create_dataset(CONVOLUTION, shape=(1, 2, 4, 5), dtype="f4", external=external)


def _virtual(file: Any, folder: Path) -> None:
    with h5py.File(folder.parent / "secret.hdf5", "w") as secret:
        secret["x"] = file[CONVOLUTION][...]
    layout = h5py.VirtualLayout(shape=(1, 2, 4, 5), dtype="f4")
    layout[...] = h5py.VirtualSource(str(folder.parent / "secret.hdf5"), "x", shape=(1, 2, 4, 5))
    del file[CONVOLUTION]
    file.create_virtual_dataset(CONVOLUTION, layout)


def _unusual_float(file: Any, folder: Path) -> None:
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(31, 23, 8, 0, 23)
    kind.set_ebias(126)
    del file[CONVOLUTION]
    space = h5py.h5s.create_simple((1, 2, 4, 5))
    h5py.h5d.create(file.id, CONVOLUTION.encode(), kind, space).write(
        h5py.h5s.ALL, h5py.h5s.ALL, np.ones((1, 2, 4, 5), np.float32)
    )


def _loose_chunks(file: Any, folder: Path) -> None:
    _replace(file, CONVOLUTION, chunks=(1, 1, 4, 5))
    file[CONVOLUTION][0, 0] = 1.0


def _lies_about_a_chunk(file: Any, folder: Path) -> None:
    """A chunk of 160 bytes whose gzip stream unpacks to 20 MB."""
    import zlib

    _replace(file, CONVOLUTION, chunks=(1, 2, 4, 5), compression="gzip")
    bomb = zlib.compress(bytes(20_000_000))
    file[CONVOLUTION].id.write_direct_chunk((0, 0, 0, 0), bomb)


def _bomb_in_a_small_chunk(file: Any, folder: Path) -> None:
    import zlib

    _replace(file, CONVOLUTION, chunks=(1, 2, 4, 5), compression="gzip")
    file[CONVOLUTION].id.write_direct_chunk((0, 0, 0, 0), zlib.compress(bytes(1_000_000)))


ATTACKS: dict[str, tuple[Callable[[Any, Path], None], str, str]] = {
    "soft link": (_soft_link, CONVOLUTION, "is a soft link"),
    "external link": (_external_link, CONVOLUTION, "is an external link"),
    "soft link to the group": (_soft_linked_group, "CNN/W_cnn_0", "CNN is a soft link"),
    "external link to the group": (_external_group, "CNN/W_cnn_0", "CNN is an external link"),
    "external storage": (_external_storage, CONVOLUTION, "external storage"),
    "virtual dataset": (_virtual, CONVOLUTION, "virtual"),
    "strings": (
        lambda file, _: _replace(file, CONVOLUTION, dtype=h5py.string_dtype()),
        CONVOLUTION,
        "holds strings",
    ),
    "integers": (lambda file, _: _replace(file, CONVOLUTION, dtype="i4"), CONVOLUTION, "holds integers"),
    "floats of an unusual layout": (_unusual_float, CONVOLUTION, "unusual layout"),
    "a null dataset": (
        lambda file, _: _replace(file, CONVOLUTION, shape=None, data=h5py.Empty("f4")),
        CONVOLUTION,
        "null dataset",
    ),
    "a wrong shape": (
        lambda file, _: _replace(file, f"{CELL}/W_0", shape=(12, 36), data=np.zeros((12, 36), "f4")),
        f"{CELL}/W_0",
        r"has shape \(12, 36\); options.json calls for \(12, 40\)",
    ),
    "a missing dataset": (
        lambda file, _: file.__delitem__(f"{CELL}/W_P_0"),
        f"{CELL}/W_P_0",
        r"is missing; options.json calls for shape \(10, 6\)",
    ),
    "a missing group": (lambda file, _: file.__delitem__("CNN_high_0"), "CNN_high_0/W_transform", "is missing"),
    "a group in place of a dataset": (
        lambda file, _: (file.__delitem__("char_embed"), file.create_group("char_embed")),
        "char_embed",
        "is a group",
    ),
    "a named type in place of a dataset": (
        lambda file, _: (file.__delitem__("char_embed"), file.__setitem__("char_embed", np.dtype("f4"))),
        "char_embed",
        "is a named type",
    ),
    "a group under two names": (
        lambda file, _: (file.__delitem__("RNN_1"), file.__setitem__("RNN_1", file["RNN_0"])),
        "RNN_[01]/RNN/MultiRNNCell/Cell0/LSTMCell/W_0",
        "second name of a group",
    ),
    "a layer too many": (
        lambda file, _: file.copy(CELL, CELL.replace("Cell1", "Cell2")),
        ".*Cell2/LSTMCell/B",
        "is not called for by options.json",
    ),
    "NaN": (lambda file, _: file[CONVOLUTION].__setitem__((0, 1, 2, 3), np.nan), CONVOLUTION, "NaN or infinity"),
    "numbers too large for 32 bits": (
        lambda file, _: _replace(file, CONVOLUTION, dtype="f8", data=np.full((1, 2, 4, 5), 1e300)),
        CONVOLUTION,
        "NaN or infinity",
    ),
    "nothing stored": (
        lambda file, _: _replace(file, CONVOLUTION),
        CONVOLUTION,
        "declares 160 bytes but stores 0 bytes",
    ),
    "some chunks stored": (_loose_chunks, CONVOLUTION, "stores 1 of its 2 chunks"),
    "a filter that is not read": (
        lambda file, _: _replace(file, CONVOLUTION, data=np.ones((1, 2, 4, 5), "f4"), compression="lzf"),
        CONVOLUTION,
        "filters that are not read: lzf",
    ),
    "a chunk larger than the dataset": (
        lambda file, _: _replace(
            file, CONVOLUTION, data=np.ones((1, 2, 4, 5), "f4"), chunks=(1, 2, 4, 1 << 20), maxshape=(1, 2, 4, None)
        ),
        CONVOLUTION,
        "has chunks .* that are larger",
    ),
    "a chunk that unpacks without end": (_lies_about_a_chunk, CONVOLUTION, "larger than unpacked"),
    "a small chunk that unpacks to much": (_bomb_in_a_small_chunk, CONVOLUTION, "unpacks to 161 bytes or more"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_refuses(pair: Path, without_allocation: Frugal, attack: str) -> None:
    change, dataset, reason = ATTACKS[attack]
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        change(file, pair)
    with without_allocation(), pytest.raises(FormatError) as error:
        read_stored(pair)
    message = str(error.value)
    assert re.search(rf"weights\.hdf5: dataset {dataset}: .*({reason})", message), message
    assert "\n" not in message
    if reason != "NaN or infinity" and "unpack" not in reason:  # `inspect` reads no weights
        assert any(re.search(rf"dataset {dataset}: .*({reason})", text) for text in inspect(pair).refusals)


def test_a_dataset_beside_the_weights_is_left_alone_and_said(pair: Path) -> None:
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        file["embedding"] = np.zeros((5, 6), np.float32)
        file["notes/author"] = "somebody"
    read_stored(pair)
    assert "weights.hdf5 has 2 datasets not of a biLM: embedding, notes/author" in inspect(pair).risks


def test_37_gigabytes_declared_in_two_kilobytes_are_refused_at_once(tmp_path: Path, without_allocation: Frugal) -> None:
    """The options and the file agree; only the bytes are not there."""
    _write_options(tmp_path, filters=[[1, 99_999]], projection_dim=99_999, dim=99_999)
    for storage in ({"chunks": (1024, 1024), "compression": "gzip"}, {}):
        with h5py.File(tmp_path / "weights.hdf5", "w") as file:
            file.create_dataset("CNN_high_0/W_carry", shape=(99_999, 99_999), dtype="f4", **storage)
        assert (tmp_path / "weights.hdf5").stat().st_size < 10_000
        start = time.process_time()
        with without_allocation():
            refusals = inspect(tmp_path).refusals
            with pytest.raises(FormatError, match=r"weights\.hdf5: dataset "):
                read_stored(tmp_path)
        assert time.process_time() - start < 2
        assert any(
            re.search(r"CNN_high_0/W_carry: declares 37\.3 GiB but stores 0 bytes", refusal) for refusal in refusals
        )


def test_a_compressed_bomb_is_refused(tmp_path: Path, without_allocation: Frugal) -> None:
    """36 MB of zeros in 50 kB, as large as the options say."""
    _write_options(tmp_path, filters=[[1, 3000]], projection_dim=4, dim=4)
    with h5py.File(tmp_path / "weights.hdf5", "w") as file:
        zeros = np.zeros((500, 3000), np.float32)
        bomb = file.create_dataset(
            "CNN_high_0/W_carry", shape=(3000, 3000), dtype="f4", chunks=zeros.shape, compression="gzip"
        )
        for start in range(0, 3000, 500):
            bomb[start : start + 500] = zeros
    assert (tmp_path / "weights.hdf5").stat().st_size < 200_000
    del zeros
    with without_allocation():
        refusals = inspect(tmp_path).refusals
    assert any(re.search(r"CNN_high_0/W_carry: declares 34\.3 MiB but stores .* KiB", refusal) for refusal in refusals)


def test_datasets_that_claim_the_same_bytes_are_refused(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several names, or the headers of several datasets, could make any size of a few bytes."""
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        del file["CNN_high_0/W_transform"]
        file["CNN_high_0/W_transform"] = file["CNN_high_0/W_carry"]
    with pytest.raises(FormatError, match="W_transform: is a second name of a dataset; expected one name"):
        read_stored(pair)
    numbers = count()
    monkeypatch.setattr(hdf5, "object_address", lambda _: next(numbers))  # each with its own header
    claim = 2000  # bytes, of which the file has not enough for all
    monkeypatch.setattr(
        hdf5, "describe_dataset", lambda *given: replace(describe_dataset(*given), num_stored_bytes=claim)
    )
    with pytest.raises(FormatError, match=r"declares .* KiB in a file of .* KiB, which cannot hold them"):
        read_stored(pair)


def test_a_file_cut_short_is_refused_wherever_it_is_cut(pair: Path) -> None:
    weights = pair / "weights.hdf5"
    whole = weights.read_bytes()
    lengths = [*range(0, 100, 7), *range(100, len(whole), 997), len(whole) - 1]
    for length in lengths:
        weights.write_bytes(whole[:length])
        with pytest.raises(FormatError) as error:
            read_stored(pair / "options.json", weights)
        assert "weights.hdf5" in str(error.value)
        assert inspect(pair / "options.json", weights).refusals


def test_a_file_with_flipped_bytes_is_read_or_refused_but_nothing_else(pair: Path) -> None:
    """In a process of its own, for a crash in the HDF5 library would end it; that has not been seen in 49,000 files."""
    program = f"""
import random
from pathlib import Path
from elmokit.formats.recognise import read_stored
from elmokit.system.messages import FormatError
pair = Path({str(pair)!r})
whole = (pair / "weights.hdf5").read_bytes()
outcomes = set()
for seed in range(150):
    random.seed(seed)
    damaged = bytearray(whole)
    for _ in range(random.choice([1, 4, 16])):
        damaged[random.randrange(len(damaged))] = random.choice([0, 1, 127, 255, random.randrange(256)])
    (pair / "weights.hdf5").write_bytes(damaged)
    try:
        read_stored(pair)
        outcomes.add("read")
    except FormatError as error:
        assert "weights.hdf5" in str(error)
        outcomes.add("refused")
print(sorted(outcomes))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "['read', 'refused']\n"), result.stderr


def test_the_entry_of_a_name_with_control_characters_is_printable(pair: Path) -> None:
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        file["\x1b[2Jevil\nname"] = h5py.SoftLink("/x")
    with pytest.raises(FormatError) as error:
        read_stored(pair)
    assert str(error.value).isprintable()
    assert str(inspect(pair)).replace("\n", "").isprintable()


def test_too_many_names_are_refused(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "MAX_ENTRIES", 20)
    with pytest.raises(FormatError, match="holds more than 20 names"):
        read_stored(pair)


def _write_options(folder: Path, *, filters: list[list[int]], projection_dim: int, dim: int) -> None:
    options = {
        "lstm": {"dim": dim, "projection_dim": projection_dim, "n_layers": 1},
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": 4},
            "filters": filters,
            "max_characters_per_token": 50,
            "n_highway": 1,
        },
    }
    (folder / "options.json").write_text(json.dumps(options))
