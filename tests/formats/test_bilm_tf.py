"""bilm-tf's pairs: options.json, hostile HDF5 files, and models that are read as they were written.

Each attack was made by hand with h5py; most of them work on a loader that just indexes the file.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from elmokit.files.hdf5 import HDF5File
from elmokit.formats.find import convert, inspect
from elmokit.formats.importers.bilm_tf import read_options
from elmokit.formats.importers.layouts import write_bilm_tf
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.system.messages import FormatError
from refusals import refusals, refused_options
from toy_stored import TINY, assert_equal, assert_refused, datasets_of, make_stored, read_stored, without_allocation

Change = Callable[[dict[str, Any]], object]


def _changed(pair: Path, change: Change) -> Path:
    path = pair / "options.json"
    options = json.loads(path.read_text())
    change(options)
    path.write_text(json.dumps(options))
    return path


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        (lambda o: o["lstm"].pop("n_layers"), "num_layers", 1),
        (lambda o: o["lstm"].pop("cell_clip"), "cell_clip", None),
        (lambda o: o["lstm"].pop("use_skip_connections"), "use_skip_connections", False),
        (lambda o: o["char_cnn"].pop("n_highway"), "num_highway_layers", 0),
        (lambda o: o["char_cnn"].update(n_highway=None), "num_highway_layers", 0),
        (lambda o: o["char_cnn"].pop("n_characters"), "num_characters", 262),
        (lambda o: o["char_cnn"].update(activation="tanh"), "activation", "tanh"),
        (lambda o: o.update(bidirectional=False), "bidirectional", False),
    ],
)
def test_defaults_are_those_of_the_loaders(pair: Path, change: Change, field: str, value: object):
    assert getattr(read_options(_changed(pair, change)).config, field) == value


def test_a_clip_of_0_is_no_clip_and_a_risk_as_are_fields_that_are_not_known(pair: Path):
    _changed(pair, lambda options: options["lstm"].update(cell_clip=0))
    assert read_stored(pair).config.cell_clip is None
    assert any("lstm.cell_clip is 0: read as no clipping" in risk for risk in inspect(pair).risks)
    _changed(pair, lambda options: (options["lstm"].update(peepholes=True), options.update(author={"name": "a"})))
    read_stored(pair)
    ignored = "unknown fields, which are ignored: author, lstm.peepholes"
    assert any(risk.endswith(ignored) for risk in inspect(pair).risks)


def test_refuses_options(pair: Path, snapshot: SnapshotAssertion):
    original = (pair / "options.json").read_text()

    def read(change: Change) -> None:
        (pair / "options.json").write_text(original)
        path = _changed(pair, change)
        assert inspect(path, pair / "weights.hdf5").refusals
        read_stored(path, pair / "weights.hdf5")

    changes: tuple[Change, ...] = (
        lambda o: o.pop("lstm"),
        lambda o: o["lstm"].update(dim=1 << 40),
        lambda o: o["lstm"].update(dim=5),
        lambda o: o["lstm"].update(cell_clip=-3),
        lambda o: o["lstm"].update(use_skip_connections=1),
        lambda o: o["char_cnn"].update(n_characters=60),
        lambda o: o["char_cnn"].update(activation="gelu"),
        lambda o: o["char_cnn"].update(max_characters_per_token=5, filters=[[7, 1]]),
        lambda o: o["char_cnn"].update(filters=[]),
    )
    assert refusals(read, changes, folder=pair) == snapshot


def test_without_a_character_cnn_the_words_must_be_in_the_weights(pair: Path):
    _changed(pair, lambda options: options.pop("char_cnn"))
    assert_refused(r"weights\.hdf5: tensor .*: is not in the model that options\.json describes", pair)


ChangeOfFile = Callable[[Any, Path], object]
CONVOLUTION, SHAPE = "CNN/W_cnn_1", (1, 2, 4, 5)
CELL = "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell"


def _replace(file: Any, name: str = CONVOLUTION, **dataset: Any) -> Any:
    shape = file[name].shape
    del file[name]
    return file.create_dataset(name, **({"shape": shape, "dtype": "f4"} | dataset))


def replaced(name: str = CONVOLUTION, **dataset: Any) -> ChangeOfFile:
    return lambda file, _: _replace(file, name, **dataset)


def put(name: str, make: Callable[[Any], Any] | None = None) -> ChangeOfFile:
    """Replace an object with something else, or with nothing."""

    def change(file: Any, _: Path) -> None:
        del file[name]
        if make is not None:
            file[name] = make(file)

    return change


def _elsewhere(file: Any, folder: Path) -> Path:
    """Move the convolution to another file, and return its path."""
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
ATTACKS: dict[str, tuple[ChangeOfFile, str, str]] = {
    "external storage": (_external_storage, CONVOLUTION, "external storage"),
    "virtual dataset": (_virtual, CONVOLUTION, "virtual"),
    "strings": (replaced(dtype=h5py.string_dtype()), CONVOLUTION, "holds values of another type"),
    "a null dataset": (replaced(shape=None, data=h5py.Empty("f4")), CONVOLUTION, "null dataset"),
    "NaN": (lambda file, _: file[CONVOLUTION].__setitem__((0, 1, 2, 3), np.nan), CONVOLUTION, "NaN or infinity"),
    "numbers too large for 32 bits": (replaced(dtype="f8", data=np.full(SHAPE, 1e300)), CONVOLUTION, "NaN or infinity"),
    "nothing stored": (replaced(), CONVOLUTION, "declares 160 bytes but stores 0 bytes"),
    "some chunks stored": (_loose_chunks, CONVOLUTION, "stores only 1 of its 2 chunks"),
    "a soft link to the group": (_soft_link, "CNN", "is a soft link"),
    "an external link": (_external_link, CONVOLUTION, "or an external link"),
    "a wrong shape": (replaced(f"{CELL}/W_0", **NARROW), f"{CELL}/W_0", r"has shape \(12, 36\); .* \(12, 40\)"),
    "a missing dataset": (put(f"{CELL}/W_P_0"), f"{CELL}/W_P_0", r"is missing; options.json calls for shape \(10, 6\)"),
    "a missing group": (put("CNN_high_0"), "CNN_high_0/W_transform", "is missing"),
    "a group for a dataset": (put("char_embed", lambda file: file.create_group(None)), "char_embed", "is missing"),
    "a named type for a dataset": (put("char_embed", lambda _: np.dtype("f4")), "char_embed", "is a named type"),
    "a group under two names": (put("RNN_1", lambda file: file["RNN_0"]), "RNN_[01]", "second name of a group"),
    "a layer too many": (lambda file, _: file.copy(CELL, CELL.replace("1", "2")), ".*Cell2/LSTMCell/B", "is not in"),
}


@pytest.mark.parametrize(("change", "dataset", "reason"), ATTACKS.values(), ids=ATTACKS)
def test_refuses_weights(pair: Path, change: ChangeOfFile, dataset: str, reason: str):
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


@pytest.mark.parametrize(
    "config",
    [
        replace(TINY, num_highway_layers=0),
        replace(TINY, projection_dim=8),  # as wide as there are filters: no projection
        replace(TINY, lstm_dim=6),  # as wide as the projection: the LSTM has none
        replace(TINY, bidirectional=False),
        replace(TINY, bidirectional=False, num_layers=1, num_highway_layers=0, lstm_dim=6),
        replace(TINY, cell_clip=None, projection_clip=None, activation="tanh"),
    ],
    ids=str,
)
def test_every_shape_that_options_allow_survives_both_formats(tmp_path: Path, config: BiLMConfig):
    stored = make_stored(config)
    write_bilm_tf(tmp_path / "hdf5", stored)
    assert_equal(stored, read_stored(tmp_path / "hdf5"))
    write_native(tmp_path / "native", stored)
    assert_equal(stored, read_stored(tmp_path / "native"))
    assert read_stored(tmp_path / "native").pretraining == stored.pretraining


def test_a_pair_has_the_number_of_characters_that_bilm_tf_wants_and_weights_in_float32(tmp_path: Path):
    stored = make_stored(replace(TINY, num_characters=261))  # as a checkpoint has it
    write_bilm_tf(tmp_path / "hdf5", stored)
    assert_equal(replace(stored, config=TINY), read_stored(tmp_path / "hdf5"))
    write_native(tmp_path / "native", stored)
    assert_equal(stored, read_stored(tmp_path / "native"))
    bilm = BiLM.from_weights(make_stored())
    expected = to_weights(bilm.to(torch.bfloat16))
    assert all(array.dtype == "float32" for array in expected.tensors.values())
    assert_equal(expected, to_weights(bilm.double()))


@pytest.mark.parametrize(
    ("config", "rename"),
    [
        (replace(TINY, num_layers=1), ("/MultiRNNCell/Cell0/", "/")),
        (replace(TINY, num_layers=1, bidirectional=False), ("RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/", "rnn/LSTMCell/")),
        (replace(TINY, bidirectional=False), ("RNN_0/RNN/", "rnn/")),
        (replace(TINY, bidirectional=False), ("RNN_0/RNN/", "RNN/")),
    ],
)
def test_the_names_that_other_dumps_have_are_read(tmp_path: Path, config: BiLMConfig, rename: tuple[str, str]):
    """A dump of one layer has no MultiRNNCell. A forward model's has no RNN_0, and then TensorFlow's own names."""
    stored = make_stored(config)
    write_bilm_tf(tmp_path / "hdf5", stored)
    weights = tmp_path / "hdf5" / "weights.hdf5"
    own = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"} if rename[1].startswith("rnn/") else {}
    datasets = datasets_of(weights)
    with h5py.File(weights, "w") as file:
        for name, values in datasets.items():
            group, _, last = name.replace(*rename).rpartition("/")
            file[f"{group}/{own.get(last, last)}"] = values
    options = json.loads((tmp_path / "hdf5" / "options.json").read_text())
    if not config.bidirectional:
        del options["bidirectional"]  # bilm-tf's default is a forward model; the file says so too
    (tmp_path / "hdf5" / "options.json").write_text(json.dumps(options))
    assert_equal(stored, read_stored(tmp_path / "hdf5"))


def test_compressed_and_wider_or_narrower_floats_are_read(pair: Path):
    """No published file has them, but `h5repack` makes such files."""
    weights = pair / "weights.hdf5"
    datasets = datasets_of(weights)
    with h5py.File(weights, "w") as file:
        for number, (name, values) in enumerate(datasets.items()):
            chunks = tuple(max(1, length * 2 // 3) for length in values.shape)
            packed = {"chunks": chunks, "compression": "gzip", "shuffle": bool(number % 2)}
            file.create_dataset(name, data=values.astype((">f4", "<f8", "<f4")[number % 3]), **packed)
    assert_equal(make_stored(), read_stored(pair))
    with h5py.File(weights, "r+") as file:
        del file["char_embed"]
        file["char_embed"] = datasets["char_embed"].astype("<f2")
    halved = read_stored(pair).tensors["char_encoder.embedding.weight"]
    np.testing.assert_array_equal(halved[1:], datasets["char_embed"].astype(np.float16).astype(np.float32))


def test_training_options_are_kept_and_written_back(tmp_path: Path, pair: Path):
    options = json.loads((pair / "options.json").read_text())
    training = {"dropout": 0.1, "n_epochs": 10, "n_tokens_vocab": 793471, "unroll_steps": 20}
    (pair / "options.json").write_text(json.dumps(options | training))
    convert(pair, tmp_path / "native", to="native")
    assert read_stored(tmp_path / "native").pretraining == {"bilm_tf_options": training}
    convert(tmp_path / "native", tmp_path / "hdf5", to="bilm_tf")
    assert json.loads((tmp_path / "hdf5" / "options.json").read_text()) == options | training


def test_arguments_that_make_no_sense_are_refused(pair: Path, snapshot: SnapshotAssertion):
    given = (
        *({"to": "onnx"}, {"to": "native", "dtype": "int8"}, {"to": "native", "softmax_dtype": "int4"}),
        *({"to": "native", "max_file_bytes": 1000, "include_softmax": False}, {"to": "bilm_tf", "dtype": "float16"}),
    )
    assert refused_options(partial(convert, pair, pair / "out"), given) == snapshot
    assert not (pair / "out").exists()
