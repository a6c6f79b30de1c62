"""The encoder of words and characters in dictionaries, and its packed form."""

from __future__ import annotations

import pytest
import torch

from elmokit.layers.char_encoder import CharEncoder
from elmokit.layers.lookup_encoder import LookupEncoder
from elmokit.layers.packed.char_encoder import PackedCharEncoder, PackedConvolution
from elmokit.layers.packed.linear import kernel_for
from elmokit.layers.packed.lookup_encoder import PackedLookupEncoder


def characters() -> CharEncoder:
    torch.manual_seed(0)
    settings = {"num_characters": 9, "padding_id": 6, "character_dim": 3, "num_highway_layers": 0}
    return CharEncoder(filters=((1, 2), (2, 4)), activation="relu", projection_dim=6, **settings)


IDS = torch.tensor([[1, 8, 1, 2, 7, 6], [4, 8, 3, 7, 6, 6]])


def test_words_alone_are_looked_up():
    encoder = LookupEncoder(num_words=5, word_dim=4, characters=None, output_dim=4, projects=False)
    assert encoder.words is not None
    assert torch.equal(encoder(IDS[:, :1]), encoder.words.weight[[1, 4]])


def test_words_come_before_characters_and_are_projected_together():
    encoder = LookupEncoder(num_words=5, word_dim=4, characters=characters(), output_dim=7, projects=True)
    assert encoder.words is not None and encoder.characters is not None and encoder.projection is not None
    joined = torch.cat([encoder.words.weight[[1, 4]], encoder.characters(IDS[:, 1:])], dim=1)
    assert torch.allclose(encoder(IDS), joined @ encoder.projection.weight.t() + encoder.projection.bias)


def test_characters_alone_are_encoded():
    encoder = LookupEncoder(num_words=0, word_dim=0, characters=characters(), output_dim=6, projects=False)
    assert encoder.characters is not None
    assert torch.equal(encoder(IDS[:, 1:]), encoder.characters(IDS[:, 1:]))
    assert encoder.embedding is encoder.characters.embedding


def test_widths_must_fit_without_a_projection():
    with pytest.raises(ValueError, match="vectors of 4 without a projection; expected 5"):
        LookupEncoder(num_words=5, word_dim=4, characters=None, output_dim=5, projects=False)


@pytest.mark.parametrize("has_words", [True, False])
def test_the_packed_encoder_gives_the_same(has_words: bool):
    num_words, word_dim = (5, 4) if has_words else (0, 0)
    encoder = LookupEncoder(
        num_words=num_words, word_dim=word_dim, characters=characters(), output_dim=7, projects=True
    ).requires_grad_(False)
    assert encoder.characters is not None and encoder.projection is not None
    weights = {name: tensor.clone() for name, tensor in encoder.characters.state_dict().items()}
    parts = [f"convolutions.{index}" for index in range(2)]
    packed = PackedLookupEncoder(
        words=None if encoder.words is None else encoder.words.weight,
        characters=PackedCharEncoder(
            embedding=weights["embedding.weight"],
            convolutions=[PackedConvolution(weights[f"{part}.weight"], weights[f"{part}.bias"]) for part in parts],
            activation=torch.relu,
            highways=[],
            projection=None,
            output_dim=6,
            padding_id=6,
        ),
        projection=kernel_for("float32", encoder.projection.weight)(encoder.projection.weight, encoder.projection.bias),
        output_dim=7,
    )
    ids = IDS if has_words else IDS[:, 1:]
    assert torch.allclose(packed(ids), encoder(ids), atol=1e-6)
    assert torch.equal(packed.embedding.weight, encoder.embedding.weight)
