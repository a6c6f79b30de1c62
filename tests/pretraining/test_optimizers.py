"""Two optimisers as one: a state that is saved like any other."""

from __future__ import annotations

import copy

import pytest
import torch

from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.muon import Muon
from elmokit.pretraining.optimizers import CombinedOptimizer, new_optimizer
from elmokit.pretraining.recipes import recipe


@pytest.mark.parametrize(
    ("muon_for", "expected"),
    [
        ("lstm", {"forward_lstm", "backward_lstm"}),
        ("all", {"forward_lstm", "backward_lstm", "convolutions", "highways", "projection"}),
    ],
)
def test_muon_has_the_matrices_that_it_is_for(muon_for: str, expected: set[str]) -> None:
    config = recipe("tiny", [f"muon_for={muon_for}", "projection_dim=16"])
    bilm, softmax = BiLM(config.bilm), Softmax(num_tokens=5, dim=config.bilm.projection_dim)
    optimizer = new_optimizer(config, bilm, softmax)
    assert isinstance(optimizer, CombinedOptimizer)
    adamw, muon = ({id(p) for group in part.param_groups for p in group["params"]} for part in optimizer.parts)
    names = {id(parameter): name.removeprefix("char_encoder.") for name, parameter in bilm.named_parameters()}
    assert {names[one].split(".")[0] for one in muon} == expected
    assert all(parameter.ndim > 1 for parameter in bilm.parameters() if id(parameter) in muon)
    assert adamw.isdisjoint(muon) and len(adamw | muon) == len([*bilm.parameters(), *softmax.parameters()])


@pytest.mark.parametrize(("device", "fused"), [("cpu", True), ("meta", False)])
def test_adagrad_is_one_kernel_where_torch_has_it(device: str, fused: bool) -> None:
    config = recipe("tiny", ["optimizer=adagrad"])
    with torch.device(device):
        bilm, softmax = BiLM(config.bilm), Softmax(num_tokens=5, dim=config.bilm.projection_dim)
        optimizer = new_optimizer(config, bilm, softmax)
    assert [group["fused"] for group in optimizer.param_groups] == [fused]


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
