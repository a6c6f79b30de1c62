"""The encoder of words and characters in dictionaries, also with packed weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from elmokit.layers.char_encoder import CharEncoder
from elmokit.layers.lookup_encoder import LookupEncoder
from elmokit.layers.packed.char_encoder import PackedCharEncoder, PackedConvolution
from elmokit.layers.packed.linear import kernel_for

IDS = torch.tensor([[1, 8, 1, 2, 7, 6], [4, 8, 3, 7, 6, 6]])


@pytest.fixture
def words() -> nn.Embedding:
    return nn.Embedding(5, 4, padding_idx=0)


@pytest.fixture
def characters() -> CharEncoder:
    torch.manual_seed(0)
    settings = {"num_characters": 9, "padding_id": 6, "character_dim": 3, "num_highway_layers": 0}
    return CharEncoder(filters=((1, 2), (2, 4)), activation="relu", projection_dim=6, **settings)


def test_words_alone_are_looked_up(words: nn.Embedding):
    encoder = LookupEncoder(words=words, characters=None, projection=None, output_dim=4)
    assert torch.equal(encoder(IDS[:, :1]), words.weight[[1, 4]])


def test_characters_alone_are_encoded(characters: CharEncoder):
    encoder = LookupEncoder(words=None, characters=characters, projection=None, output_dim=6)
    assert torch.equal(encoder(IDS[:, 1:]), characters(IDS[:, 1:]))
    assert encoder.embedding is characters.embedding


def test_words_come_before_characters_and_are_projected_together(words: nn.Embedding, characters: CharEncoder):
    projection = nn.Linear(10, 7)
    encoder = LookupEncoder(words=words, characters=characters, projection=projection, output_dim=7)
    joined = torch.cat([words.weight[[1, 4]], characters(IDS[:, 1:])], dim=1)
    assert torch.allclose(encoder(IDS), joined @ projection.weight.t() + projection.bias)


def test_packed_weights_give_the_same(words: nn.Embedding, characters: CharEncoder):
    projection = nn.Linear(10, 7)
    encoder = LookupEncoder(words=words, characters=characters, projection=projection, output_dim=7)
    encoder.requires_grad_(False)
    weights = {name: tensor.clone() for name, tensor in characters.state_dict().items()}
    parts = [f"convolutions.{index}" for index in range(2)]
    packed = LookupEncoder(
        words=words,
        characters=PackedCharEncoder(
            embedding=weights["embedding.weight"],
            convolutions=[PackedConvolution(weights[f"{part}.weight"], weights[f"{part}.bias"]) for part in parts],
            activation=torch.relu,
            highways=[],
            projection=None,
            output_dim=6,
            padding_id=6,
        ),
        projection=kernel_for("float32", projection.weight)(projection.weight, projection.bias),
        output_dim=7,
    )
    assert torch.allclose(packed(IDS), encoder(IDS), atol=1e-6)
