"""The char encoder visits few positions, but gives the same result as a convolution over all of them."""

import random

import pytest
import torch

from elmokit.layers.char_encoder import CharEncoder, Highway, pool_by_length
from elmokit.layers.lookup_encoder import LookupEncoder
from elmokit.text.character_numbers import PADDING_ID
from elmokit.text.characters import character_ids

LETTERS = [chr(code) for code in range(33, 127)]


def encoder(*, activation: str = "relu", num_highway_layers: int = 1, projection_dim: int = 8) -> CharEncoder:
    torch.manual_seed(0)
    return CharEncoder(
        num_characters=262,
        padding_id=PADDING_ID,
        character_dim=3,
        filters=[(1, 4), (2, 5), (7, 6)],
        activation=activation,
        num_highway_layers=num_highway_layers,
        projection_dim=projection_dim,
    )


def ids(*tokens: str) -> torch.Tensor:
    return torch.from_numpy(character_ids(list(tokens)))


@pytest.mark.parametrize(("activation", "size"), [("relu", 50), ("tanh", 50), ("tanh", 300), ("tanh", 600)])
def test_values_and_gradients_are_those_of_a_convolution_over_all_positions(activation: str, size: int) -> None:
    words = ["a", "", "word", "밥", *("x" * length for length in (41, 42, 45, 47, 48)), "y" * 300, "<S>"]
    words.append("".join(random.Random(1).choices(LETTERS, k=600)))
    tokens = torch.from_numpy(character_ids(words, max_characters_per_token=size))
    layer = encoder(activation=activation, num_highway_layers=0, projection_dim=15).double()
    embedded = layer.embedding(tokens).transpose(1, 2)
    pooled = torch.cat([convolution(embedded).max(dim=2).values for convolution in layer.convolutions], dim=1)
    found, expected = layer(tokens), torch.relu(pooled) if activation == "relu" else torch.tanh(pooled)
    weights, parameters = torch.randn_like(expected), list(layer.parameters())
    assert len(parameters) == 7 and layer(tokens[:0]).shape == (0, 15)
    got, wanted = (torch.autograd.grad((values * weights).sum(), parameters) for values in (found, expected))
    torch.testing.assert_close((found, *got), (expected, *wanted), rtol=0, atol=1e-12)


def test_few_tokens_of_a_length_are_convolved_with_longer_ones() -> None:
    tokens = ids(*(length * "x" for length in (20, 1, 9, 1, 30, 2)))
    sizes: list[tuple[int, int]] = []

    def first_character(cut: torch.Tensor) -> torch.Tensor:
        sizes.append((cut.shape[0], cut.shape[1]))
        return cut[:, :3].float()

    found = pool_by_length(tokens, first_character, device=tokens.device, widest=3, padding_id=PADDING_ID, fewest=4)
    assert torch.equal(found, tokens[:, :3].float())
    assert sizes == [(4, 16), (2, 36)]


def test_a_padding_token_stays_zero_in_training() -> None:
    layer = encoder(activation="tanh")  # unlike a ReLU, it has a gradient at zero
    tokens = torch.cat([ids("a"), torch.zeros(1, 50, dtype=torch.int32)])
    layer(tokens).sum().backward()
    assert layer.embedding.weight.grad is not None
    assert not layer.embedding.weight.grad[0].any()
    assert layer.embedding.weight.grad[PADDING_ID].any()


def test_infinite_weights_give_gradients_and_no_index_out_of_bounds() -> None:
    """Training can then end with its error for divergence."""
    layer = encoder()
    with torch.no_grad():
        layer.embedding.weight[1:] = torch.tensor([torch.inf, -torch.inf, 1.0])
    layer(ids("a", "word")).sum().backward()
    assert layer.embedding.weight.grad is not None
    assert not layer.embedding.weight.grad.isfinite().all()


def test_the_characters_of_a_dictionary_may_stand_alone() -> None:
    layer, tokens = encoder(num_highway_layers=0, projection_dim=15), ids("a", "word")
    lookup = LookupEncoder(words=None, characters=layer, projection=None, output_dim=15)
    assert torch.equal(lookup(tokens), layer(tokens)) and lookup.embedding is layer.embedding


def test_a_highway_layer_by_hand_and_a_new_one_that_mostly_carries_its_input() -> None:
    torch.manual_seed(0)
    gates = torch.sigmoid(Highway(dim=64).gate(torch.randn(100, 64)))
    assert 0.1 < float(gates.mean().detach()) < 0.25  # the sigmoid of -2 is 0.12
    layer = Highway(dim=1)
    with torch.no_grad():
        layer.transform.weight.fill_(2.0)
        layer.transform.bias.fill_(1.0)
        layer.gate.weight.fill_(0.0)
        layer.gate.bias.fill_(0.0)
    # gate 1/2: half of relu(2x + 1), half of x
    torch.testing.assert_close(layer(torch.tensor([[3.0], [-3.0]])), torch.tensor([[5.0], [-1.5]]))


def test_a_gradient_of_the_gradient_is_refused_rather_than_wrong() -> None:
    layer = encoder(num_highway_layers=0)
    weight = layer.embedding.weight
    (gradient,) = torch.autograd.grad(layer(ids("a", "word")).square().sum(), weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
