import math

import pytest
import torch
from torch import Tensor, nn

from elmokit.layers.tasks.recurrent import (
    AlternatingHighwayLSTM,
    BiGRU,
    BiLSTM,
    CoupledBiLSTM,
    CoupledLSTMLayer,
    HighwayLSTMLayer,
    VariationalDropout,
)

LENGTHS = [5, 2, 1]
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]


def encoders() -> list[nn.Module]:
    torch.manual_seed(0)
    made: list[nn.Module] = [
        BiLSTM(input_dim=3, hidden_dim=4),
        BiGRU(input_dim=3, hidden_dim=4),
        AlternatingHighwayLSTM(input_dim=3, hidden_dim=8, num_layers=3, recurrent_dropout_rate=0.1),
        CoupledBiLSTM(input_dim=3, hidden_dim=4, recurrent_dropout_rate=0.1),
    ]
    for encoder in made:
        for parameter in encoder.parameters():
            nn.init.uniform_(parameter, -1.0, 1.0)  # with biases of zero, reading padding would do nothing
    return [encoder.double().eval() for encoder in made]


def random_inputs() -> Tensor:
    return torch.randn(3, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("encoder", encoders(), ids=lambda encoder: type(encoder).__name__)
def test_padding_order_and_neighbours_change_nothing_and_padding_stays_zero(encoder: nn.Module):
    inputs = random_inputs()
    outputs = encoder(inputs, MASK)
    assert outputs.shape == (3, 5, 8)
    assert not outputs[~MASK].any() and outputs[MASK].all()
    torch.testing.assert_close(encoder(inputs.masked_fill(~MASK[..., None], 1e6), MASK), outputs)
    torch.testing.assert_close(encoder(inputs.flip(0), MASK.flip(0)).flip(0), outputs)
    for row, length in enumerate(LENGTHS):
        alone = encoder(inputs[row : row + 1, :length], MASK[row : row + 1, :length])
        torch.testing.assert_close(alone[0], outputs[row, :length])


@pytest.mark.parametrize("encoder", encoders(), ids=lambda encoder: type(encoder).__name__)
def test_every_token_reads_both_its_sides_also_next_to_a_sentence_without_tokens(encoder: nn.Module):
    inputs, mask = random_inputs().requires_grad_(), MASK.clone()
    mask[1] = False
    outputs = encoder(inputs, mask)
    assert not outputs[1].any()
    torch.testing.assert_close(outputs[0], encoder(inputs, MASK)[0])
    for token in (0, 4):
        (gradient,) = torch.autograd.grad(encoder(inputs, MASK)[0, token].sum(), inputs)
        assert gradient[0].any(dim=1).all() and not gradient[1:].any()


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


FROM_INPUT, BIAS = [0.5, -1.0, 0.3, 0.8, 2.0, -0.7], [0.1, -0.2, 0.3, 0.1, 0.0, 1.0]
FROM_HIDDEN = [0.2, 0.4, -0.6, 0.1, -0.9]
TOKENS = (1.5, -0.5)


def outputs_of_one_unit(layer: HighwayLSTMLayer | CoupledLSTMLayer) -> list[float]:
    """The outputs of a layer with the first of these weights, in the layer's reading order."""
    with torch.no_grad():
        weights = (layer.input_weight, layer.recurrent_weight, layer.bias)
        for weight, numbers in zip(weights, (FROM_INPUT, FROM_HIDDEN, BIAS), strict=True):
            weight.flatten().copy_(torch.tensor(numbers[: len(weight)]))
    order = [1, 0] if layer.reads_backward else [0, 1]
    return layer(torch.tensor(TOKENS)[order].reshape(2, 1, 1), torch.ones(2, 1, 1)).flatten()[order].tolist()


@pytest.mark.parametrize("reads_backward", [False, True])
def test_highway_and_coupled_layers_computed_by_hand(reads_backward: bool):
    settings = {"input_dim": 1, "hidden_dim": 1, "reads_backward": reads_backward, "recurrent_dropout_rate": 0.0}
    h = c = 0.0
    expected: list[float] = []
    for x in TOKENS:
        i, f, o, r, j = (w * x + u * h + b for w, u, b in zip(FROM_INPUT, FROM_HIDDEN, BIAS, strict=False))
        k = FROM_INPUT[5] * x + BIAS[5]
        c = sigmoid(f) * c + sigmoid(i) * math.tanh(j)
        h = sigmoid(r) * sigmoid(o) * math.tanh(c) + (1 - sigmoid(r)) * k
        expected.append(h)
    assert outputs_of_one_unit(HighwayLSTMLayer(**settings)) == pytest.approx(expected, rel=1e-5)
    coupled = CoupledLSTMLayer(**settings)
    c, h = coupled.first_cell.item(), coupled.first_hidden.item()
    assert c != 0 != h
    expected = []
    for x in TOKENS:
        i, j, o = (w * x + u * h + b for w, u, b in zip(FROM_INPUT[:3], FROM_HIDDEN, BIAS, strict=False))
        c = (1 - sigmoid(i)) * c + sigmoid(i) * math.tanh(j)
        h = sigmoid(o) * math.tanh(c)
        expected.append(h)
    assert outputs_of_one_unit(coupled) == pytest.approx(expected, rel=1e-5)


def test_recurrent_dropout_drops_outputs_of_highway_layers_and_what_coupled_ones_remember_only_while_training():
    torch.manual_seed(0)
    settings = {"input_dim": 3, "hidden_dim": 40, "reads_backward": False, "recurrent_dropout_rate": 0.5}
    highway, coupled = HighwayLSTMLayer(**settings), CoupledLSTMLayer(**settings)
    given = torch.randn(4, 2, 3), torch.ones(4, 2, 1)
    dropped = highway(*given) == 0
    assert (dropped == dropped[:1]).all() and 0.3 < dropped.float().mean() < 0.7  # the same at every step
    assert (dropped[0, 0] != dropped[0, 1]).any()
    assert coupled(*given).all() and (coupled(*given) != coupled(*given)).any()
    for layer in (highway.eval(), coupled.eval()):
        first, second = layer(*given), layer(*given)
        assert first.all() and (first == second).all()


def test_starts_with_orthonormal_blocks_and_open_forget_gates():
    settings = {"input_dim": 6, "hidden_dim": 4, "reads_backward": False, "recurrent_dropout_rate": 0.1}
    layer, coupled, both = HighwayLSTMLayer(**settings), CoupledLSTMLayer(**settings), BiLSTM(input_dim=6, hidden_dim=4)
    blocks = [*layer.input_weight.chunk(6), *layer.recurrent_weight.chunk(5)]
    blocks += torch.cat([coupled.input_weight, coupled.recurrent_weight], dim=1).chunk(3)
    blocks += [*both.forward_lstm.weight_hh_l0.chunk(4), *both.backward_lstm.weight_hh_l0.chunk(4)]
    for block in blocks:
        torch.testing.assert_close(block @ block.T, torch.eye(4))
    assert layer.bias.tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 16
    assert not coupled.bias.any() and coupled.first_cell.all() and coupled.first_hidden.all()
    for lstm in (both.forward_lstm, both.backward_lstm):
        assert (lstm.bias_hh_l0 + lstm.bias_ih_l0).tolist() == [0.0] * 4 + [1.0] * 4 + [0.0] * 8
    gru = BiGRU(input_dim=6, hidden_dim=4).forward_gru
    assert 0.03 < gru.weight_ih_l0.std() < 0.06 and gru.weight_ih_l0.abs().max() <= 0.1
    assert not gru.bias_hh_l0.any() and not gru.bias_ih_l0.any()


def test_drops_the_same_features_at_every_token_and_scales_the_others():
    torch.manual_seed(0)
    dropped = VariationalDropout(rate=0.75)(torch.ones(20, 3, 30))
    assert set(dropped.unique().tolist()) == {0.0, 4.0}
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[0] != dropped[1]).any()  # each sentence has its own mask
    assert abs(dropped.mean().item() - 1.0) < 0.2
    inputs = torch.randn(2, 3, 4)  # nothing changes outside training or at a rate of zero
    assert VariationalDropout(rate=0.5).eval()(inputs) is inputs
    assert VariationalDropout(rate=0.0)(inputs) is inputs
