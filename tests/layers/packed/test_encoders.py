"""Packed weights give what the trained ones give."""

from collections.abc import Iterator

import pytest
import torch

from elmokit.layers.char_encoder import ACTIVATIONS, CharEncoder
from elmokit.layers.highway import Highway
from elmokit.layers.packed.char_encoder import PackedCharEncoder, PackedConvolution, PackedHighway
from elmokit.layers.packed.linear import kernel_for
from elmokit.layers.packed.lstm import GRAIN, LANES, sigmoid
from elmokit.text.character_numbers import PADDING_ID
from elmokit.text.characters import character_ids


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
        filters=[(1, 16), (7, 32)],
        activation=activation,
        num_highway_layers=2,
        projection_dim=projection_dim,
    )
    ids = torch.from_numpy(character_ids(["a", "밥", "word", "y" * 300, "</S>"]))
    with torch.no_grad():
        torch.testing.assert_close(packed(encoder, activation)(ids), encoder(ids), rtol=0, atol=1e-5)
        assert packed(encoder, activation)(ids[:0]).shape == (0, projection_dim)


@pytest.fixture(params=[1, 2, 3, 7, 12])
def num_threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_the_bits_of_a_row_depend_neither_on_the_threads_nor_on_the_other_rows(num_threads: int) -> None:
    values = torch.randn(40, 4096, generator=torch.Generator().manual_seed(0)) * 3
    alone = torch.cat([torch.sigmoid(row[None]) for row in values])
    for rows in (1, 17, 20, 29, 33, 40):
        assert torch.equal(sigmoid(values[:rows], out=torch.empty(rows, 4096)), alone[:rows])


@pytest.mark.parametrize("shape", [(0, 64), (1, 5), (7, 3 * LANES), (3, GRAIN + 1)])
def test_it_is_the_sigmoid_also_in_place_and_of_widths_that_fill_no_vector(
    num_threads: int, shape: tuple[int, int]
) -> None:
    values = torch.linspace(-9, 9, shape[0] * shape[1]).view(shape)
    expected = 1 / (1 + torch.exp(-values))
    assert sigmoid(values, out=values) is values
    torch.testing.assert_close(values, expected)
