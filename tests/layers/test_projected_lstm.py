"""Compares the recurrence and its backward pass with a plain loop; pretraining/test_gradients.py tests a stack."""

import pytest
import torch

from elmokit.layers.projected_lstm import LSTMState, ProjectedLSTM, ProjectedLSTMLayer
from toy_bilm import plain_layer

T, B, D, H = 6, 4, 5, 7
BATCH_SIZES = [4, 4, 3, 3, 1, 0]


def random_layer(*, lstm_dim: int = H, clip: float | None = 0.3) -> ProjectedLSTMLayer:
    projection_clip = None if clip is None else clip / 2
    layer = ProjectedLSTMLayer(projection_dim=D, lstm_dim=lstm_dim, cell_clip=clip, projection_clip=projection_clip)
    for parameter in layer.parameters():
        torch.nn.init.uniform_(parameter, -1.0, 1.0)
    return layer.double()


@pytest.mark.parametrize("lstm_dim", [H, D], ids=["projected", "unprojected"])
@pytest.mark.parametrize("clip", [0.3, None], ids=["clipped", "unclipped"])
def test_outputs_states_and_gradients_are_those_of_the_plain_loop(lstm_dim: int, clip: float | None) -> None:
    torch.manual_seed(0)
    layer = random_layer(lstm_dim=lstm_dim, clip=clip)
    inputs = torch.randn(T, B, D, dtype=torch.float64, requires_grad=True)
    cell = torch.randn(B, lstm_dim, dtype=torch.float64, requires_grad=True)
    output = torch.randn(B, D, dtype=torch.float64, requires_grad=True)
    carry_mask = (torch.rand(T, B, 1) > 0.3).double()

    outputs, state = layer(inputs, LSTMState(cell, output), batch_sizes=BATCH_SIZES, carry_mask=carry_mask)
    expected = plain_layer(layer, inputs, LSTMState(cell, output), BATCH_SIZES, carry_mask)

    got = (outputs, state.cell, state.output)
    weights = [torch.randn_like(tensor) for tensor in got]
    wanted = [inputs, cell, output, *layer.parameters()]
    gradients = torch.autograd.grad(sum(((g * w).sum() for g, w in zip(got, weights, strict=True))), wanted)
    plainly = torch.autograd.grad(sum(((e * w).sum() for e, w in zip(expected, weights, strict=True))), wanted)
    torch.testing.assert_close((*got, *gradients), (*expected, *plainly), rtol=0, atol=1e-12)
    with torch.no_grad():
        without, same = layer(inputs, LSTMState(cell, output), batch_sizes=BATCH_SIZES, carry_mask=carry_mask)
    assert torch.equal(without, outputs) and torch.equal(same.cell, state.cell)
    if clip is not None:
        assert (outputs.abs() == clip / 2).any() or lstm_dim == D
        assert (state.cell.abs() == clip).any()


def test_the_skip_connection_adds_the_dropped_input_as_bilm_tf_does() -> None:
    stack = ProjectedLSTM(
        num_layers=2, projection_dim=D, lstm_dim=H, cell_clip=None, projection_clip=None, use_skip_connections=True
    )
    inputs = torch.randn(T, B, D)
    nothing = torch.zeros(T, B, D)
    (first, second), _ = stack(inputs, input_masks=[torch.ones(T, B, D), nothing])
    alone, _ = stack.layers[1](nothing)
    torch.testing.assert_close(second, alone)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_products_are_in_16_bits_under_autocast_and_stay_near(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer, inputs = random_layer(clip=None).float(), torch.randn(T, B, D, requires_grad=True)
    expected, _ = layer(inputs)
    with torch.autocast("cpu", dtype=dtype):
        outputs, state = layer(inputs)
    assert outputs.dtype == state.cell.dtype == torch.float32
    gradients = [torch.autograd.grad(one.sum(), inputs)[0] for one in (outputs, expected)]
    for found, exact in ((outputs, expected), gradients):
        assert 0 < (found - exact).norm() / exact.norm() < 0.02
    doubles = inputs.detach().double()
    expected, _ = layer.double()(doubles)
    with torch.autocast("cpu", dtype=dtype):  # autocast leaves float64 alone
        torch.testing.assert_close(layer(doubles)[0], expected)


def test_without_gradients_no_step_is_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = random_layer()
    allocate, sizes = torch.Tensor.new_empty, []
    monkeypatch.setattr(torch.Tensor, "new_empty", lambda self, *size: sizes.append(size) or allocate(self, *size))
    with torch.no_grad():
        layer(torch.zeros(T, B, D, dtype=torch.float64))
    assert {size[0] for size in sizes if len(size) == 3} == {1}
    layer(torch.zeros(T, B, D, dtype=torch.float64))
    assert T in {size[0] for size in sizes}


def test_growing_rows_and_a_gradient_of_the_gradient_are_refused_rather_than_wrong() -> None:
    layer = random_layer()
    inputs = torch.randn(T, B, D, dtype=torch.float64, requires_grad=True)
    state = LSTMState(torch.zeros(B, H).double(), torch.zeros(B, D).double())
    outputs, _ = layer(inputs, state, batch_sizes=BATCH_SIZES)
    with pytest.raises(ValueError, match="never grow"):
        layer(inputs, state, batch_sizes=[1, 2])
    (gradient,) = torch.autograd.grad(outputs.square().sum(), inputs, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.square().sum().backward()
