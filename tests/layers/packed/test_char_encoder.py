from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.layers.char_encoder import ACTIVATIONS, CharEncoder
from elmokit.layers.highway import Highway
from elmokit.layers.packed.char_encoder import PackedCharEncoder, PackedConvolution, PackedHighway
from elmokit.layers.packed.linear import kernel_for
from elmokit.text.character_numbers import PADDING_ID
from elmokit.text.characters import character_ids


@given(width=st.integers(1, 7), length=st.integers(7, 12), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_a_packed_convolution_is_the_largest_response_of_a_plain_one(width: int, length: int, seed: int):
    convolution = torch.nn.Conv1d(4, 32, width)
    embedded = torch.randn(5, length, 4, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        expected = convolution(embedded.transpose(1, 2)).amax(dim=2)
        packed = PackedConvolution(convolution.weight.detach(), convolution.bias.detach())
        torch.testing.assert_close(packed(embedded), expected, rtol=0, atol=2e-6)


def packed(encoder: CharEncoder, activation: str) -> PackedCharEncoder:
    make = kernel_for("float32", torch.ones(16, 16))

    def kernel(linear: torch.nn.Linear):
        return make(linear.weight.detach(), linear.bias.detach())

    highways = [highway for highway in encoder.highways if isinstance(highway, Highway)]
    return PackedCharEncoder(
        embedding=encoder.embedding.weight.detach(),
        convolutions=[PackedConvolution(one.weight.detach(), one.bias.detach()) for one in encoder.convolutions],
        activation=ACTIVATIONS[activation],
        highways=[PackedHighway(kernel(highway.transform), kernel(highway.gate)) for highway in highways],
        projection=None if encoder.projection is None else kernel(encoder.projection),
        output_dim=encoder.output_dim,
        padding_id=PADDING_ID,
    )


@pytest.mark.parametrize(("activation", "projection_dim"), [("relu", 16), ("tanh", 48)])
def test_packed_weights_give_the_token_representations_of_the_trained_ones(activation: str, projection_dim: int):
    torch.manual_seed(0)
    encoder = CharEncoder(
        num_characters=262,
        padding_id=PADDING_ID,
        character_dim=4,
        filters=[(1, 16), (3, 32)],
        activation=activation,
        num_highway_layers=2,
        projection_dim=projection_dim,
    )
    ids = torch.from_numpy(character_ids(["a", "밥", "word", "y" * 300, "</S>"]))
    with torch.no_grad():
        torch.testing.assert_close(packed(encoder, activation)(ids), encoder(ids), rtol=0, atol=1e-5)
        assert packed(encoder, activation)(ids[:0]).shape == (0, projection_dim)
