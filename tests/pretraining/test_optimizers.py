"""Two optimisers as one: a state that is saved like any other."""

from __future__ import annotations

import copy

import torch

from elmokit.pretraining.muon import Muon
from elmokit.pretraining.optimizers import CombinedOptimizer


def test_two_optimisers_share_one_state() -> None:
    def made() -> tuple[list[torch.nn.Parameter], CombinedOptimizer]:
        parameters = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(4, 2))]
        return parameters, CombinedOptimizer(torch.optim.AdamW(parameters[:1], lr=0.1), Muon(parameters[1:], lr=0.1))

    def step(parameters: list[torch.nn.Parameter], optimizer: CombinedOptimizer, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()

    parameters, optimizer = made()
    step(parameters, optimizer, 1)
    again, restored = made()
    for parameter, other in zip(parameters, again, strict=True):
        other.data.copy_(parameter.data)
    state = optimizer.state_dict()
    assert sorted(state["state"]) == [0, 1]
    restored.load_state_dict(copy.deepcopy(state))  # as a file would: torch shares what it is given
    for pair in ((parameters, optimizer), (again, restored)):
        step(*pair, 2)
    for parameter, other in zip(parameters, again, strict=True):
        assert torch.equal(parameter, other)
