"""Muon: orthogonal steps, the same as torch's own."""

from __future__ import annotations

import pytest
import torch

from elmokit.pretraining.muon import Muon, by_eigenvalues, by_products, polar_factors


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    [(small, is_left)] = polar_factors([matrix])
    return small @ matrix if is_left else matrix @ small


@pytest.mark.parametrize("shape", [(40, 8), (8, 40), (12, 12)])
def test_singular_values_come_near_one_and_the_directions_stay(shape: tuple[int, int]) -> None:
    matrix = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    found = left.t() @ orthogonal(matrix) @ right.t()
    values = found.diagonal()
    assert (values > 0.6).all() and (values < 1.3).all()
    torch.testing.assert_close(found, torch.diag(values), atol=1e-9, rtol=0)


def test_matrices_of_one_size_do_not_change_one_another() -> None:
    matrices = [torch.randn(*shape, generator=torch.Generator().manual_seed(3)) for shape in [(9, 4), (4, 7), (5, 6)]]
    together = polar_factors([matrices[0], matrices[1] * 1e-3, matrices[2]])
    alone = [polar_factors([matrix])[0] for matrix in (matrices[0], matrices[1] * 1e-3, matrices[2])]
    for (small, left), (expected, expected_left) in zip(together, alone, strict=True):
        assert left == expected_left
        torch.testing.assert_close(small, expected)


def test_eigenvalues_give_what_products_give() -> None:
    matrices = torch.randn(3, 9, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    grams = matrices.mT @ matrices / matrices.square().sum(dim=(1, 2), keepdim=True)
    torch.testing.assert_close(by_eigenvalues(grams), by_products(grams))


def test_zeros_stay_zeros() -> None:
    assert torch.equal(orthogonal(torch.zeros(6, 3)), torch.zeros(6, 3))


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


def test_makes_the_steps_of_torchs_muon() -> None:
    start = torch.randn(48, 8, generator=torch.Generator().manual_seed(2))
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    optimizers = (
        Muon([ours], lr=0.01),
        torch.optim.Muon([theirs], lr=0.01, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
    )
    for step in range(5):
        gradient = torch.randn(48, 8, generator=torch.Generator().manual_seed(10 + step))
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = gradient.clone()
            optimizer.step()
    moved = (ours - start).norm()
    assert (ours - theirs).norm() < 0.02 * moved  # torch iterates in bfloat16
