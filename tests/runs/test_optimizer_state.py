"""An optimiser's state as named tensors: written, read back, and the next step is the same."""

import pytest
import torch
from torch import nn

from elmokit.runs.optimizer_state import load_optimizer, optimizer_tensors, tensors_under


def step(parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer, *, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer.step()


def test_an_optimiser_is_restored_from_its_tensors():
    parameters, others = ([nn.Parameter(torch.ones(size)) for size in (2, 3)] for _ in range(2))
    optimizer, restored = torch.optim.Adam(parameters, lr=0.1), torch.optim.Adam(others, lr=0.1)
    step(parameters, optimizer, seed=1)
    tensors = {name: tensor.clone() for name, tensor in optimizer_tensors(optimizer).items()}
    assert sorted(tensors) == [
        f"optimizer.{index}.{slot}" for index in (0, 1) for slot in ("exp_avg", "exp_avg_sq", "step")
    ]
    for parameter, other in zip(parameters, others, strict=True):
        other.data.copy_(parameter.data)
    load_optimizer(restored, tensors | {"model.weight": torch.zeros(1)})
    step(parameters, optimizer, seed=2)
    step(others, restored, seed=2)
    for parameter, other in zip(parameters, others, strict=True):
        assert torch.equal(parameter, other)


def test_settings_of_the_optimiser_stay_its_own():
    parameters = [nn.Parameter(torch.ones(2))]
    optimizer = torch.optim.Adam(parameters, lr=0.1)
    step(parameters, optimizer, seed=1)
    slower = torch.optim.Adam(parameters, lr=0.01)
    load_optimizer(slower, optimizer_tensors(optimizer))
    assert slower.param_groups[0]["lr"] == pytest.approx(0.01)


def test_tensors_are_chosen_by_prefix():
    one, other = torch.zeros(1), torch.ones(1)
    assert tensors_under("model.", {"model.a.b": one, "average.0": other}) == {"a.b": one}
