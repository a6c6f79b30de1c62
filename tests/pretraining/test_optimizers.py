"""Which optimiser has which weights; that its state is saved like any other is in test_train.py."""

from __future__ import annotations

import pytest
import torch

from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
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
