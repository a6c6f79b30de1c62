"""Compares the Triton kernels with the torch functions; pretraining/test_gradients.py tests the torch functions."""

import importlib
import math
from functools import cache
from typing import Any

import pytest
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.layers import kernels
from toy_bilm import random_bilm

W, T, B, H = 2, 3, 6, 96
CLIP = 1.5  # exact in float32, like the scale below

Results = dict[str, torch.Tensor]


def cells(device: str, products: torch.dtype, cell_type: torch.dtype) -> Results:
    """One step in the middle of three, forward and backward."""
    generator = torch.Generator().manual_seed(0)

    def new(*shape: int, dtype: torch.dtype = cell_type) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).to(device)

    z, before, carry = 3 * new(W, T, B, 4 * H, dtype=products), 2 * new(W, B, H), (new(W, T, B) > 0).to(cell_type)
    to_hidden, to_cell = new(W, B, H, dtype=products), new(W, B, H)
    gates, cell, hidden = torch.zeros_like(z, dtype=cell_type), new(W, T, B, H), new(W, T, B, H, dtype=products)
    to_gates = torch.zeros_like(z)
    for clip in (CLIP, math.inf):
        kernels.cell_forward(z[:, 1], before, carry[:, 1], gates[:, 1], cell[:, 1], hidden[:, 1], clip=clip)
        of_step = gates[:, 1], cell[:, 1], before, carry[:, 1]
        kernels.cell_backward(to_hidden, *of_step, to_cell, to_gates[:, 1], clip=clip)
    return {"gates": gates, "cell": cell, "hidden": hidden, "to_gates": to_gates, "to_cell": to_cell}


def shares(device: str, products: torch.dtype, cell_type: torch.dtype) -> Results:
    generator = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(W, 5, 9001, generator=generator, dtype=torch.float64)
    offsets, true = torch.randn(W, 9001, generator=generator).double(), torch.randn(W, 5, generator=generator).double()
    offsets[1, -3:] = -math.inf  # columns that only pad the product
    hits = torch.tensor([[-1, 3, 9000, 4096, -1], [0, -1, 4095, 5, 17]], device=device)
    held = logits.to(products).to(device)
    losses, share = kernels.softmax_shares(
        held, offsets.to(device, cell_type), true.to(device, cell_type), hits, scale=0.25
    )
    return {"logits": held, "losses": losses, "share": share}


NEAR = [
    (torch.float64, torch.float64, 1e-12),
    (torch.float32, torch.float32, 1e-5),
    (torch.bfloat16, torch.float32, 2e-2),  # results are rounded to bfloat16, about three digits
]


@pytest.mark.cuda
@pytest.mark.parametrize("compute", [cells, shares])
@pytest.mark.parametrize(("products", "cell_type", "within"), NEAR)
def test_triton_kernels_compute_what_torch_computes(
    compute: Any, products: torch.dtype, cell_type: torch.dtype, within: float
) -> None:
    pytest.importorskip("triton")
    assert_near(compute("cuda", products, cell_type), compute("cpu", products, cell_type), within)


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs a second GPU")
def test_a_gpu_that_is_not_the_current_one_computes_the_same() -> None:
    (first,), (second,) = (Elmo(random_bilm(), device=device).encode([["a", "b"]]) for device in ("cuda:0", "cuda:1"))
    assert (first == second).all()


@pytest.mark.parametrize("compute", [cells, shares])
@pytest.mark.parametrize(("products", "cell_type", "within"), NEAR)
def test_interpreted_triton_kernels_compute_what_torch_computes(
    compute: Any, products: torch.dtype, cell_type: torch.dtype, within: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton", minversion="3.8", reason="needs Triton 3.8: older interpreters fail with NumPy 2.4")
    if torch.cuda.is_available():
        pytest.skip("the GPU runs the kernels themselves")
    expected = compute("cpu", products, cell_type)
    interpreted = importlib.import_module("elmokit.layers.triton_kernels")
    monkeypatch.setattr(kernels, "_triton_kernels", lambda _: interpreted)
    assert_near(compute("cpu", products, cell_type), expected, within)


def assert_near(found: Results, expected: Results, within: float) -> None:
    for name, value in expected.items():
        torch.testing.assert_close(found[name].cpu(), value, rtol=within, atol=within, msg=name)


@pytest.mark.parametrize("compute", [cells, shares])
def test_products_of_a_narrower_type_change_results_by_their_rounding(compute: Any) -> None:
    exact = compute("cpu", torch.float64, torch.float64)
    for name, value in compute("cpu", torch.bfloat16, torch.float32).items():
        torch.testing.assert_close(value.double(), exact[name], rtol=0.1, atol=0.1, msg=name)


def test_without_a_working_triton_the_gpu_computes_with_torch_after_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken:
        triton = object()

        @staticmethod
        def try_out() -> None:
            raise RuntimeError("Failed to find C compiler")

    monkeypatch.setattr(kernels, "import_module", lambda _: Broken)
    monkeypatch.setattr(kernels, "_working_triton_kernels", cache(kernels._working_triton_kernels.__wrapped__))  # pyright: ignore
    with pytest.warns(
        UserWarning, match="Triton does not work here.*C compiler and.*Failed to find C compiler"
    ) as seen:
        found = [kernels._working_triton_kernels() for _ in range(2)]  # pyright: ignore[reportPrivateUsage]
    assert found == [None, None] and len(seen) == 1
