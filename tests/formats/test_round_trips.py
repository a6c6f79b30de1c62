"""What is written is what is read, bit for bit, in either format and through both, and through modules."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from elmokit.formats.find import convert
from elmokit.formats.importers.layouts import write_bilm_tf
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from toy_stored import TINY, assert_equal, datasets_of, make_stored, read_stored


@pytest.mark.parametrize(
    "config",
    [
        replace(TINY, num_highway_layers=0),
        replace(TINY, projection_dim=8),  # as many as filters: no projection
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
    """A dump of one layer has no MultiRNNCell, one of a forward model no RNN_0 (and then TensorFlow's own names)."""
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
    """Nobody publishes them, but `h5repack` makes them."""
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


@pytest.mark.parametrize(
    ("to", "settings", "message"),
    [
        ("onnx", {}, "cannot convert to 'onnx'; expected native or bilm_tf"),
        ("native", {"dtype": "int8"}, "dtype is 'int8'; expected float32 or float16"),
        ("native", {"softmax_dtype": "int4"}, "softmax_dtype is 'int4'; expected float32 or float16 or int8"),
        ("native", {"max_file_bytes": 1000, "include_softmax": False}, "are about the softmax, which is to be left"),
        ("bilm_tf", {"dtype": "float16"}, "bilm_tf keeps float32 in one file; dtype, softmax_dtype and max_file_bytes"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(pair: Path, to: str, settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        convert(pair, pair / "out", to=to, **settings)
    assert not (pair / "out").exists()
