"""CoVe: the published tensors, and two layers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from elmokit.runs.tensor_files import write_tensors
from paper.comparators.cove import open_cove, read_encoder
from toy_vectors import unpadded

SENTENCES = [["the", "cat"], ["cat", "unseen", "the"], [], ["the", "cat"]]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    (tmp_path / "glove.txt").write_text("the 1 2 3\ncat 0.5 -1 0\n")
    return tmp_path / "glove.txt"


@pytest.fixture
def lstm(tmp_path: Path) -> nn.LSTM:
    torch.manual_seed(0)
    lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
    torch.save(lstm.state_dict(), tmp_path / "mt.pth")
    return lstm


def test_the_layers_are_those_of_a_plain_lstm_over_each_sentence_alone(lstm: nn.LSTM, words: Path, tmp_path: Path):
    layers = open_cove(str(tmp_path / "mt.pth"), words)  # as it was published
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


def test_what_is_not_an_encoder_or_does_not_fit_it_is_refused(lstm: nn.LSTM, words: Path, tmp_path: Path):
    words.write_text("the 1 2\n")
    with pytest.raises(ValueError, match="reads vectors of 3 numbers, but .*glove.txt has vectors of 2"):
        open_cove(str(tmp_path / "mt.pth"), words)
    with pytest.raises(FileNotFoundError, match="none.pth: there is no such file; expected CoVe's encoder"):
        read_encoder(tmp_path / "none.pth")
    for name, message in (("weight_ih_l0", "has no weight_ih_l0 of shape"), ("extra", "tensor extra: does not belong")):
        write_tensors(tmp_path / "other.safetensors", {**lstm.state_dict(), name: torch.zeros(0, 3)})
        with pytest.raises(ValueError, match=message):
            read_encoder(tmp_path / "other.safetensors")
