"""An optimiser's state as named tensors: written, read back, and the next step is the same."""

import torch
from torch import nn

from elmokit.runs.optimizer_state import load_optimizer, optimizer_tensors


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
    restored.param_groups[0]["lr"] = 0.01
    load_optimizer(restored, tensors | {"model.weight": torch.zeros(1)})
    assert restored.param_groups[0].pop("lr") == 0.01  # settings stay its own
    restored.param_groups[0]["lr"] = 0.1
    step(parameters, optimizer, seed=2)
    step(others, restored, seed=2)
    for parameter, other in zip(parameters, others, strict=True):
        assert torch.equal(parameter, other)
