"""Which optimiser has which weights, and the steps of Muon; that their state is saved is in test_train.py."""

import pytest
import torch

from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.optimizers import (
    CombinedOptimizer,
    Muon,
    by_eigenvalues,
    by_products,
    new_optimizer,
    polar_factors,
)
from elmokit.pretraining.recipes import recipe


@pytest.mark.parametrize(
    ("muon_for", "expected"),
    [
        ("lstm", {"forward_lstm", "backward_lstm"}),
        ("all", {"forward_lstm", "backward_lstm", "convolutions", "highways", "projection"}),
    ],
)
def test_muon_has_the_matrices_that_it_is_for_and_decays_only_these(muon_for: str, expected: set[str]) -> None:
    config = recipe("tiny", [f"muon_for={muon_for}", "projection_dim=16", "weight_decay=0.1"])
    bilm, softmax = BiLM(config.bilm), Softmax(num_tokens=5, dim=config.bilm.projection_dim)
    optimizer = new_optimizer(config, bilm, softmax)
    assert isinstance(optimizer, CombinedOptimizer)
    adamw, muon = ({id(p) for group in part.param_groups for p in group["params"]} for part in optimizer.parts)
    assert [[group["weight_decay"] for group in part.param_groups] for part in optimizer.parts] == [[0.0], [0.1]]
    names = {id(parameter): name.removeprefix("char_encoder.") for name, parameter in bilm.named_parameters()}
    assert {names[one].split(".")[0] for one in muon} == expected
    assert all(parameter.ndim > 1 for parameter in bilm.parameters() if id(parameter) in muon)
    assert adamw.isdisjoint(muon) and len(adamw | muon) == len([*bilm.parameters(), *softmax.parameters()])


def test_adagrad_is_several_kernels_where_torch_has_not_one() -> None:
    config = recipe("tiny", ["optimizer=adagrad"])
    with torch.device("meta"):
        bilm, softmax = BiLM(config.bilm), Softmax(num_tokens=5, dim=config.bilm.projection_dim)
        optimizer = new_optimizer(config, bilm, softmax)
    assert [group["fused"] for group in optimizer.param_groups] == [False]  # on CPUs one: test_gradients.py


def test_eigenvalues_give_what_products_give() -> None:
    matrices = torch.randn(3, 9, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    grams = matrices.mT @ matrices / matrices.square().sum(dim=(1, 2), keepdim=True)
    torch.testing.assert_close(by_eigenvalues(grams), by_products(grams))


@pytest.mark.parametrize("weight_decay", [0.0, 2.0])
def test_makes_the_steps_of_torchs_muon_for_each_matrix_and_for_convolutions(weight_decay: float) -> None:
    generator = torch.Generator().manual_seed(2)
    starts = [torch.randn(*shape, generator=generator) for shape in [(48, 8), (8, 40), (12, 12), (12, 8, 3)]]
    ours = [torch.nn.Parameter(start.clone()) for start in starts]
    theirs = [torch.nn.Parameter(start.flatten(start_dim=1).clone()) for start in starts]
    optimizers = (
        Muon(ours, lr=0.01, weight_decay=weight_decay),
        torch.optim.Muon(theirs, lr=0.01, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(5):
        for size, weight, matrix in zip((1, 1e-3, 1, 1e-3), ours, theirs, strict=True):
            weight.grad = size * torch.randn(weight.shape, generator=generator)
            matrix.grad = weight.grad.flatten(start_dim=1).clone()
        for optimizer in optimizers:
            optimizer.step()
    for start, weight, matrix in zip(starts, ours, theirs, strict=True):
        assert (weight.flatten(1) - matrix).norm() < 0.02 * (weight - start).norm()  # torch iterates in bfloat16
    assert polar_factors([torch.zeros(6, 3)])[0][0].isfinite().all()
