"""Files -> modules -> files: the weights are the same bits, and nothing is initialised on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from elmokit.formats.native import write_native
from elmokit.formats.read import from_stored, read_bilm, to_stored
from elmokit.formats.recognise import read_stored
from elmokit.formats.weights import StoredBiLM
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig

Make = Callable[..., StoredBiLM]
Equal = Callable[[StoredBiLM, StoredBiLM], None]


def test_a_model_of_each_format_is_the_same_module(folder: Path, pair: Path) -> None:
    native, softmax, vocabulary = read_bilm(folder, with_softmax=True)
    assert softmax is not None
    assert vocabulary is not None
    assert softmax.weight.shape == (len(vocabulary), 6)
    assert not native.training
    assert all(parameter.requires_grad for parameter in native.parameters())
    for paths in ({"path": pair}, {"path": pair / "options.json", "weights": pair / "weights.hdf5"}):
        other, none, _ = read_bilm(**paths)
        assert none is None
        for name, tensor in native.state_dict().items():
            assert torch.equal(tensor, other.state_dict()[name]), name
    character_ids = torch.randint(1, 262, (2, 3, 12))
    assert torch.equal(native(character_ids).layers, other(character_ids).layers)


def test_modules_and_files_hold_the_same_bits(make_stored: Make, assert_equal: Equal, tmp_path: Path) -> None:
    stored = make_stored(num_tokens=20)
    bilm, softmax, vocabulary = from_stored(stored)
    write_native(tmp_path / "model", to_stored(bilm, softmax, vocabulary, pretraining={"step": 7}))
    assert_equal(stored, read_stored(tmp_path / "model", with_softmax=True))
    assert read_stored(tmp_path / "model").pretraining == {"step": 7}
    assert_equal(stored.without_softmax(), to_stored(bilm))


def test_the_state_of_a_fresh_model_can_be_written(tmp_path: Path) -> None:
    config = BiLMConfig(filters=((1, 3), (3, 4)), character_dim=2, projection_dim=5, lstm_dim=5, num_highway_layers=0)
    for each in (config, replace(config, bidirectional=False), replace(config, projection_dim=7, lstm_dim=9)):
        bilm = BiLM(each)
        assert {name: tuple(tensor.shape) for name, tensor in bilm.state_dict().items()} == each.tensor_shapes()
        write_native(tmp_path / str(hash(each)), to_stored(bilm, Softmax(num_tokens=4, dim=each.projection_dim)))
        again, _, _ = read_bilm(tmp_path / str(hash(each)))
        assert again.config == each


def test_weights_in_another_type_are_written_as_float32(make_stored: Make, assert_equal: Equal) -> None:
    bilm, _, _ = from_stored(make_stored())
    expected = to_stored(bilm.to(torch.bfloat16))
    assert all(array.dtype == "float32" for array in expected.tensors.values())
    assert_equal(expected, to_stored(bilm.double()))
