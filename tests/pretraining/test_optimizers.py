"""Which optimiser has which weights, and the steps of Muon; that their state is saved is in test_train.py."""

import pytest
import torch

from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.muon import Muon, by_eigenvalues, by_products, polar_factors
from elmokit.pretraining.optimizers import CombinedOptimizer, new_optimizer
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


def test_matrices_of_one_size_do_not_change_one_another() -> None:
    matrices = [torch.randn(*shape, generator=torch.Generator().manual_seed(3)) for shape in [(9, 4), (4, 7), (5, 6)]]
    together = polar_factors([matrices[0], matrices[1] * 1e-3, matrices[2]])
    alone = [polar_factors([matrix])[0] for matrix in (matrices[0], matrices[1] * 1e-3, matrices[2])]
    for (small, left), (expected, expected_left) in zip(together, alone, strict=True):
        assert left == expected_left
        torch.testing.assert_close(small, expected)
    assert polar_factors([torch.zeros(6, 3)])[0][0].isfinite().all()


def test_eigenvalues_give_what_products_give() -> None:
    matrices = torch.randn(3, 9, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    grams = matrices.mT @ matrices / matrices.square().sum(dim=(1, 2), keepdim=True)
    torch.testing.assert_close(by_eigenvalues(grams), by_products(grams))


def test_the_rows_of_a_convolution_are_those_of_a_matrix() -> None:
    start = torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(4))
    weight, matrix = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.reshape(6, 12).clone())
    optimizers = Muon([weight], lr=0.1), Muon([matrix], lr=0.1)
    for _ in range(3):
        weight.grad = torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(5))
        matrix.grad = weight.grad.reshape(6, 12)
        for optimizer in optimizers:
            optimizer.step()
    assert not torch.equal(weight, start)
    torch.testing.assert_close(weight.flatten(start_dim=1), matrix)


@pytest.mark.parametrize("weight_decay", [0.0, 2.0])
@pytest.mark.parametrize("shape", [(48, 8), (8, 40), (12, 12)])
def test_makes_the_steps_of_torchs_muon(shape: tuple[int, int], weight_decay: float) -> None:
    start = torch.randn(*shape, generator=torch.Generator().manual_seed(2))
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    optimizers = (
        Muon([ours], lr=0.01, weight_decay=weight_decay),
        torch.optim.Muon([theirs], lr=0.01, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
    )
    for step in range(5):
        gradient = torch.randn(*shape, generator=torch.Generator().manual_seed(10 + step))
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    moved = (ours - start).norm()
    assert (ours - theirs).norm() < 0.02 * moved  # torch iterates in bfloat16
