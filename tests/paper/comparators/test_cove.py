"""CoVe: the published tensors, two layers, and the word vector next to the top layer."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from elmokit.runs.tensor_files import write_tensors
from paper.comparators.cove import open_cove, open_glove_cove, read_encoder
from unpadded import unpadded

SENTENCES = [["the", "cat"], ["cat", "unseen", "the"], [], ["the", "cat"]]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    (tmp_path / "glove.txt").write_text("the 1 2 3\ncat 0.5 -1 0\n")
    return tmp_path / "glove.txt"


@pytest.fixture
def lstm(tmp_path: Path) -> nn.LSTM:
    torch.manual_seed(0)
    lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
    write_tensors(tmp_path / "encoder.safetensors", lstm.state_dict())
    return lstm


def test_the_layers_are_those_of_a_plain_lstm_over_each_sentence_alone(lstm: nn.LSTM, words: Path, tmp_path: Path):
    layers = open_cove(str(tmp_path / "encoder.safetensors"), words)
    assert (layers.num_layers, layers.dim) == (2, 8)
    arrays = unpadded(layers, SENTENCES)
    vectors = {"the": [1.0, 2, 3], "cat": [0.5, -1, 0], "unseen": [0.0, 0, 0]}
    first = nn.LSTM(3, 4, 1, batch_first=True, bidirectional=True)
    first.load_state_dict({name: tensor for name, tensor in lstm.state_dict().items() if "_l0" in name})
    for sentence, array in zip(SENTENCES, arrays, strict=True):
        assert array.shape == (2, len(sentence), 8)
        if sentence:
            inputs = torch.tensor([[vectors[word] for word in sentence]])
            np.testing.assert_allclose(array[0], first(inputs)[0][0].detach(), atol=1e-6)
            np.testing.assert_allclose(array[1], lstm(inputs)[0][0].detach(), atol=1e-6)


def test_word_vector_and_top_layer_stand_side_by_side(lstm: nn.LSTM, words: Path, tmp_path: Path):
    layers = open_glove_cove(str(tmp_path), words)  # a folder that has encoder.safetensors
    assert (layers.num_layers, layers.dim) == (1, 11)
    array = unpadded(layers, [["the", "cat"]])[0]
    np.testing.assert_array_equal(array[0, :, :3], [[1, 2, 3], [0.5, -1, 0]])
    np.testing.assert_array_equal(array[0, :, 3:], unpadded(open_cove(str(tmp_path), words), [["the", "cat"]])[0][1])
    assert unpadded(layers, [[]])[0].shape == (1, 0, 11)


@pytest.mark.parametrize("new_zipfile", [True, False])
def test_the_published_kind_of_file_is_read_without_unpickling(lstm: nn.LSTM, tmp_path: Path, new_zipfile: bool):
    torch.save(lstm.state_dict(), tmp_path / "mt.pth", _use_new_zipfile_serialization=new_zipfile)
    read = read_encoder(tmp_path / "mt.pth").state_dict()
    assert list(read) == list(lstm.state_dict())
    for name, tensor in lstm.state_dict().items():
        assert torch.equal(read[name], tensor)


def test_what_is_not_an_encoder_or_does_not_fit_it_is_refused(lstm: nn.LSTM, words: Path, tmp_path: Path):
    words.write_text("the 1 2\n")
    with pytest.raises(ValueError, match="reads vectors of 3 numbers, but those of .*glove.txt have 2"):
        open_cove(str(tmp_path), words)
    with pytest.raises(ValueError, match="CoVe reads word vectors"):
        open_cove(str(tmp_path), None)
    with pytest.raises(FileNotFoundError, match="none.pth: there is no such file; expected CoVe's encoder"):
        read_encoder(tmp_path / "none.pth")

    path = tmp_path / "other.safetensors"
    tensors = dict(lstm.state_dict())
    for changed, message in (
        ({**tensors, "weight_ih_l0": torch.zeros(0, 3)}, "has no weight_ih_l0 of shape"),
        ({**tensors, "extra": torch.zeros(1)}, "tensor extra: does not belong"),
        ({name: tensor for name, tensor in tensors.items() if name != "bias_hh_l1"}, "tensor bias_hh_l1: is missing"),
    ):
        write_tensors(path, changed)
        with pytest.raises(ValueError, match=message):
            read_encoder(path)
