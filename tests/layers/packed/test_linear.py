import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from elmokit.layers.packed import linear as packed_linear
from elmokit.layers.packed.linear import (
    Blocked,
    BlockedBFloat16,
    Float16,
    Int8,
    PlainBFloat16,
    Precision,
    Transposed,
    for_rows,
    kernel_for,
    rows_are_independent,
)

LARGEST_ERRORS = {  # of a product, in units of its largest number
    Blocked: 3e-6,
    Transposed: 3e-6,
    PlainBFloat16: 0.01,
    BlockedBFloat16: 0.01,
    Float16: 0.002,
    Int8: 0.03,
}
HERE = [make for make in LARGEST_ERRORS if packed_linear._works(make)]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("make", HERE)
@given(num_rows=st.integers(1, 40), num_inputs=st.sampled_from([1, 16, 96, 700, 1100]), seed=st.integers(0, 99))
@settings(max_examples=12)
def test_each_kernel_multiplies_and_adds(make: type[Blocked], num_rows: int, num_inputs: int, seed: int):
    inputs, weight = random(num_rows, num_inputs, seed=seed), random(64, num_inputs, seed=seed + 1)
    bias, total = random(64, seed=seed + 2), random(num_rows, 64, seed=seed + 3)
    for with_bias, with_total in ((None, None), (bias, None), (None, total), (bias, total)):
        exact = functional.linear(inputs.double(), weight.double())
        exact = exact + (0 if with_bias is None else bias) + (0 if with_total is None else total)
        result = make(weight, with_bias)(inputs, None if with_total is None else total.clone())
        assert result.dtype == torch.float32
        assert (result - exact).abs().max() <= LARGEST_ERRORS[make] * exact.abs().max().clamp(min=1)


@pytest.mark.parametrize("make", [make for make in HERE if rows_are_independent(make)])
def test_a_row_has_the_same_bits_whatever_is_beside_it(make: type[Blocked]):
    inputs, weight, total = random(130, 600), random(128, 600, seed=1), random(130, 128, seed=2)
    inputs[7] *= 1000  # one scale for the whole batch would drown the other rows
    for bias, with_total in ((random(128, seed=3), True), (None, True), (None, False)):
        kernel = make(weight, bias)
        together = kernel(inputs, total.clone() if with_total else None)
        for start, end in ((0, 1), (7, 8), (3, 20), (100, 130)):
            alone = for_rows(kernel, end - start)(
                inputs[start:end].contiguous(), total[start:end].clone() if with_total else None
            )
            assert torch.equal(alone, together[start:end])


def test_a_single_row_is_summed_apart_only_where_that_gives_the_bits_of_a_batch(monkeypatch: pytest.MonkeyPatch):
    if Blocked not in HERE:
        pytest.skip("torch has no products of oneDNN here")
    assert Blocked(random(96, 600), None).one_row is None  # blocks of 64 outputs
    monkeypatch.setattr(packed_linear, "LARGEST_COPY", 128 * 600)
    assert Blocked(random(192, 600), None).one_row is None  # too large to be kept twice
    multiply = Blocked.__call__
    monkeypatch.setattr(Blocked, "__call__", lambda self, inputs: multiply(self, inputs) * (1 + 1e-6))
    assert Blocked(random(128, 600), None).one_row is None


@pytest.mark.skipif(Int8 not in HERE, reason="torch has no int8 products of FBGEMM here")
def test_in_int8_zeros_stay_zero_and_the_largest_products_do_not_overflow():
    assert torch.equal(Int8(torch.zeros(16, 32), None)(torch.zeros(2, 32)), torch.zeros(2, 16))
    result = Int8(torch.ones(16, 512), None)(torch.ones(1, 512))
    torch.testing.assert_close(result, torch.full((1, 16), 512.0), rtol=0.01, atol=0)


def test_weights_beyond_float16_are_cut_to_its_largest_number():
    if Float16 not in HERE:
        pytest.skip("torch has no float16 products here")
    assert torch.isfinite(Float16(torch.full((16, 32), 1e6), None)(torch.ones(1, 32))).all()


@pytest.fixture
def untried() -> Iterator[None]:
    """Make this test, and the tests after it, try the kernels again."""
    packed_linear._works.cache_clear()
    yield
    packed_linear._works.cache_clear()


@pytest.mark.usefixtures("untried")
def test_without_private_operators_that_give_products_there_is_float32_and_bfloat16(monkeypatch: pytest.MonkeyPatch):
    weight = random(16, 32)
    with monkeypatch.context() as patch:  # a kernel with wrong results
        patch.setattr(Blocked, "__call__", lambda self, inputs, total=None: torch.zeros(len(inputs), 16))
        assert kernel_for("float32", weight) is Transposed
    packed_linear._works.cache_clear()
    for name in ("_onednn", "_fbgemm"):
        monkeypatch.setattr(packed_linear, name, object())
    assert kernel_for("float32", weight) is Transposed
    assert kernel_for("bfloat16", weight) is PlainBFloat16
    with pytest.raises(ValueError, match="no int8 matrix products for this machine"):
        kernel_for("int8", weight)
    with pytest.raises(ValueError, match="precision is 'float8'; expected one of float32, bfloat16, int8"):
        kernel_for("float8", weight)  # type: ignore[arg-type]


@pytest.mark.skipif(not {BlockedBFloat16, Float16} <= set(HERE), reason="torch has one kind of such products here")
@pytest.mark.parametrize(("has_instructions", "chosen"), [(True, BlockedBFloat16), (False, Float16)])
def test_a_processor_without_bfloat16_multiplies_float16(
    monkeypatch: pytest.MonkeyPatch, has_instructions: bool, chosen: type
):
    monkeypatch.setattr(packed_linear, "_multiplies_bfloat16", lambda: has_instructions)
    assert kernel_for("bfloat16", random(16, 32)) is chosen


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_the_default_dtype_and_device_of_the_program_do_not_choose_the_kernel(precision: Precision):
    weight = torch.ones(16, 32)
    usual = kernel_for(precision, weight)
    packed_linear._works.cache_clear()
    with torch.device("meta"):
        assert kernel_for(precision, weight) is usual
    packed_linear._works.cache_clear()
    torch.set_default_dtype(torch.float64)
    try:
        assert kernel_for(precision, weight) is usual
    finally:
        torch.set_default_dtype(torch.float32)


def test_two_threads_that_make_int8_weights_leave_the_engine_of_torch_as_it_was(monkeypatch: pytest.MonkeyPatch):
    others = [engine for engine in torch.backends.quantized.supported_engines if engine not in ("fbgemm", "none")]
    if not packed_linear._works(Int8) or not others:
        pytest.skip("torch has no int8 products of FBGEMM here, or nothing else")
    monkeypatch.setattr(torch.backends.quantized, "engine", others[0])
    prepack: Any = torch.ops.quantized.linear_prepack
    seen: list[str] = []

    def prepack_slowly(*given: object) -> object:
        time.sleep(0.1)
        seen.append(torch.backends.quantized.engine)
        return prepack(*given)

    monkeypatch.setattr(packed_linear, "_fbgemm", SimpleNamespace(linear_prepack=prepack_slowly))
    with ThreadPoolExecutor(3) as threads:
        for _ in range(3):
            threads.submit(Int8, torch.ones(16, 32), None, levels=127)
            time.sleep(0.03)
    assert seen == 3 * ["fbgemm"] and torch.backends.quantized.engine == others[0]
