"""Linear layers for inference only: the weight is laid out once, for the kernel that multiplies it.

| kernel | weight | arithmetic | the result of a row depends on |
|---|---|---|---|
| `Blocked` | float32, in oneDNN's blocks | float32 | only that row, bit for bit |
| `Transposed` | float32 or bfloat16 | as the weight | the number of rows, by rounding |
| `BlockedBFloat16` | bfloat16, in oneDNN's blocks | bfloat16, summed in float32 | the number of rows, by rounding |
| `Float16` | float16, in FBGEMM's blocks | float32 | the number of rows, by rounding |
| `Int8`, `BlockedInt8` | int8, one scale per output | int8, one scale per row | only that row, bit for bit |

Torch itself multiplies with MKL, which is slow on few rows, especially on processors not made by Intel. The operators
of oneDNN and FBGEMM are private to torch, so each kernel is tried before it is used (see `kernel_for`).
"""

from __future__ import annotations

import ctypes
import time
import warnings
from collections.abc import Callable
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import torch
from torch import Tensor
from torch.nn import functional

from elmokit.system.python import STATE_LOCK

if TYPE_CHECKING:
    from jaxtyping import Float

Precision = Literal["float32", "bfloat16", "int8", "auto"]
"""float32: exact, and the same bits in any batch. auto: also exact, with the kernel that is faster on this machine.
bfloat16: weights in 16 bits (float16 weights and float32 arithmetic where the processor has no bfloat16 and that is
faster). int8: weights and activations in 8 bits."""
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8", "auto")

LARGEST_FLOAT16 = torch.finfo(torch.float16).max
ROWS_TIMED = 32
COLUMNS = 512
TYPICAL_ROWS = 128  # the number of rows that oneDNN's block layout is chosen for
ROWS_TOGETHER = 8
"""Numbers of rows up to `TYPICAL_ROWS` are rounded up to multiples of this: oneDNN compiles, and keeps, one program
per number of rows."""
BLOCK = 64  # outputs that oneDNN stores together
ROWS_AT_ONCE = 256
"""Rows of a weight that are rounded to whole numbers together."""
_TINY = torch.finfo(torch.float32).tiny

_torch: Any = torch
_onednn: Any = torch.ops.mkldnn
_onednn_int8: Any = torch.ops.onednn
_fbgemm: Any = torch.ops.quantized


class Kernel(Protocol):
    """Computes `inputs @ weight.T + bias` in float32, plus `total` if given, which may be overwritten."""

    def __call__(
        self, inputs: Float[Tensor, "N K"], total: Float[Tensor, "N M"] | None = None
    ) -> Float[Tensor, "N M"]: ...


MakeKernel: TypeAlias = "Callable[[Float[Tensor, 'M K'], Float[Tensor, ' M'] | None], Kernel]"


def check_precision(precision: str, device: torch.device | None = None) -> None:
    """Raise ValueError for a precision that is not known, naming those there are, or that the device does not have."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}; expected one of {', '.join(PRECISIONS)}")
    if precision == "int8" and device is not None and device.type != "cpu":
        raise ValueError(
            f"precision 'int8' works only on the CPU, not on {device}; give device='cpu' (--device cpu), or choose "
            "'bfloat16'"
        )


def kernel_for(precision: Precision, weight: Float[Tensor, "M *K"]) -> MakeKernel:
    """The constructor of the kernel for a model with this weight, on the device of the weight.

    Of several that work, the fastest in a short measurement is chosen; in int8, and in bfloat16 on a processor that
    multiplies it, the first: those are about as fast as each other, and a measurement would give a sentence other
    vectors in another process. Raises ValueError when this machine has no kernel of that precision.
    """
    check_precision(precision, weight.device)
    if weight.device.type != "cpu":
        return PlainBFloat16 if precision == "bfloat16" else Transposed
    candidates: dict[Precision, list[MakeKernel]] = {
        "float32": [Blocked],
        "auto": [Blocked, Transposed],
        "bfloat16": [BlockedBFloat16, Float16],
        "int8": [Int8, BlockedInt8],
    }
    working = [make for make in candidates[precision] if _works(make)]
    if working:
        takes_first = precision == "int8" or (precision == "bfloat16" and _multiplies_bfloat16())
        return working[0] if takes_first else _fastest(working, weight)
    if precision == "int8":
        raise ValueError("torch has no int8 matrix products for this machine; choose another precision")
    return PlainBFloat16 if precision == "bfloat16" else Transposed


def rows_are_independent(make_kernel: MakeKernel) -> bool:
    """Whether the result of a row is the same, bit for bit, whatever other rows are in the batch."""
    return make_kernel in (Blocked, Int8, BlockedInt8)


def weight_dtype(make_kernel: MakeKernel) -> torch.dtype:
    """The type in which the kernel wants its weight: a weight that has it already is not copied."""
    return torch.bfloat16 if make_kernel in (BlockedBFloat16, PlainBFloat16) else torch.float32


class Blocked:
    """Multiplies the inputs in pieces of `COLUMNS`: oneDNN sums a row sequentially, and pieces halve the rounding."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.pieces = [_onednn._reorder_linear_weight(piece, TYPICAL_ROWS) for piece in _pieces(weight)]
        self.bias = bias
        found = [_one_row(piece) for piece in self.pieces] if bias is None else []
        self.of_one_row = [multiply for multiply in found if multiply is not None]

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        if len(inputs) == 1 and len(self.of_one_row) == len(self.pieces):
            products = [multiply(columns) for multiply, columns in zip(self.of_one_row, _pieces(inputs), strict=True)]
            return reduce(Tensor.add_, products if total is None else [total, *products])
        if total is None and len(inputs) != round_up(len(inputs)):
            return self(_with_more_rows(inputs))[: len(inputs)]
        bias = self.bias
        for piece, columns in zip(self.pieces, _pieces(inputs), strict=True):
            if total is None:
                total = _onednn._linear_pointwise(columns, piece, bias, "none", [], "")
            else:
                total = _onednn._linear_pointwise.binary(columns, total, piece, bias, "add")
            bias = None
        assert total is not None
        return total


class _OneRow:
    """A row times a weight in oneDNN's layout, (M / `BLOCK`, K, `BLOCK`), as a sum of embeddings, each times a number.

    That sum is sequential, too, but begins after 10 us; oneDNN prepares for 50, longer than most products take.
    """

    def __init__(self, packed: Tensor) -> None:
        self.packed = packed  # the owner of the memory
        numbers = (ctypes.c_float * packed.numel()).from_address(_onednn.data_ptr(packed))
        self.embeddings = torch.frombuffer(numbers, dtype=torch.float32).view(-1, BLOCK)
        self.indices = torch.arange(len(self.embeddings), dtype=torch.int32, device="cpu")
        self.starts = self.indices[:: packed.shape[1]].contiguous()

    def __call__(self, row: Float[Tensor, "1 K"]) -> Float[Tensor, "1 M"]:
        weights = row.expand(self.starts.shape[0], -1).reshape(-1)
        return torch.embedding_bag(self.embeddings, self.indices, self.starts, False, 0, False, weights)[0].view(1, -1)


def _one_row(packed: Tensor) -> _OneRow | None:
    """None where the layout is another one, or the result not the same as oneDNN's, bit for bit."""
    num_outputs, num_inputs = packed.shape
    can_be_read = hasattr(_onednn, "data_ptr") and _onednn._nbytes(packed) == 4 * packed.numel()
    if num_outputs % BLOCK or not can_be_read:
        return None
    row, one_row = _line(-1, 1, rows=1, columns=num_inputs), _OneRow(packed)
    return one_row if torch.equal(one_row(row), _onednn._linear_pointwise(row, packed, None, "none", [], "")) else None


def round_up(num_rows: int) -> int:
    """The number of rows rounded up to one of few values; see `ROWS_TOGETHER`."""
    if num_rows <= ROWS_TOGETHER:
        return num_rows
    step = ROWS_TOGETHER if num_rows <= TYPICAL_ROWS else TYPICAL_ROWS
    return -(-num_rows // step) * step


def _with_more_rows(inputs: Tensor) -> Tensor:
    return functional.pad(inputs, (0, 0, 0, round_up(len(inputs)) - len(inputs)))


def _pieces(matrix: Tensor) -> list[Tensor]:
    if matrix.shape[1] <= COLUMNS:
        return [matrix.contiguous()]
    return [piece.contiguous() for piece in cast("tuple[Tensor, ...]", matrix.split(COLUMNS, dim=1))]


class Transposed:
    """Float32 products with a transposed weight, by torch's public operators."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight = weight.t().contiguous()
        self.bias = bias

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        if total is None:
            return inputs @ self.weight if self.bias is None else torch.addmm(self.bias, inputs, self.weight)
        total.addmm_(inputs, self.weight)
        return total if self.bias is None else total.add_(self.bias)


class PlainBFloat16:
    """Bfloat16 products by torch's public operators; sums are in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight = weight.bfloat16()
        self.bias = bias

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        return _sum(functional.linear(inputs.bfloat16(), self.weight).float(), self.bias, total)


class BlockedBFloat16:
    """Bfloat16 products with a weight in oneDNN's blocked layout, through a private operator of torch."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight = _onednn._reorder_linear_weight(weight.bfloat16(), TYPICAL_ROWS)
        self.bias = bias

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        rows = _with_more_rows(inputs.bfloat16())
        product = _onednn._linear_pointwise(rows, self.weight, None, "none", [], "")[: len(inputs)]
        return _sum(product.float(), self.bias, total)


class Float16:
    """Products with a float16 weight and float32 inputs by FBGEMM, for processors without bfloat16."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        if max(map(abs, torch.aminmax(weight))) > LARGEST_FLOAT16:  # a copy only where it is needed
            weight = weight.clamp(-LARGEST_FLOAT16, LARGEST_FLOAT16)
        self.weight = _fbgemm.linear_prepack_fp16(weight.contiguous(), bias)

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        product = _fbgemm.linear_dynamic_fp16(inputs, self.weight)
        return product if total is None else product.add_(total)


class Int8:
    """Products of int8 numbers by FBGEMM.

    Each row of the inputs is scaled to -1..1 separately: one scale per batch would make rows depend on each other.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, *, levels: int | None = None) -> None:
        self.levels = levels or _levels(Int8)
        self.bias = bias
        whole, scales = _whole_numbers(weight)
        with STATE_LOCK, warnings.catch_warnings():
            chosen = torch.backends.quantized.engine
            warnings.simplefilter("ignore")  # torch deprecates qint8 tensors; without them `_works` will be False
            torch.backends.quantized.engine = "fbgemm"
            try:
                zeros = torch.zeros(len(weight), dtype=torch.long, device=weight.device)
                quantised = _torch._make_per_channel_quantized_tensor(whole, scales, zeros, 0)
                self.weight = _fbgemm.linear_prepack(quantised, None)
            finally:
                torch.backends.quantized.engine = chosen

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        largest = _largest(inputs)
        multiply = _fbgemm.linear_with_input_q_dq_qweight_dq_output_fp32
        product = multiply(inputs / largest, 1 / self.levels, self.levels + 1, self.weight)
        return _sum(product.mul_(largest), self.bias, total)


class BlockedInt8:
    """Products of int8 numbers by oneDNN, with inputs rounded as in `Int8`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, *, levels: int | None = None) -> None:
        self.levels = levels or _levels(BlockedInt8)
        self.bias = bias
        whole, scales = _whole_numbers(weight)
        self.scales = scales / self.levels
        self.ones = torch.ones_like(scales)
        self.zeros = torch.zeros(len(weight), dtype=torch.long, device=weight.device)
        self.weight = _onednn_int8.qlinear_prepack(whole, None)

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        largest = _largest(inputs)
        zero = self.levels + 1
        steps = (inputs * (self.levels / largest)).round_().add_(zero).to(torch.uint8)
        weight = (self.weight, self.ones, self.zeros, None)  # no scales: AMX rounds them as the batch is
        product = _onednn_int8.qlinear_pointwise(steps, 1.0, zero, *weight, 1.0, 0, torch.float32, "none", [], "")
        return _sum(product.mul_(self.scales).mul_(largest), self.bias, total)


def _whole_numbers(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The weight as integers in -127..127, and the scale of each row; of copies in float32 there are few rows."""
    whole, scales = torch.empty_like(weight, dtype=torch.int8), weight.new_empty(len(weight))
    for start in range(0, len(weight), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        torch.amax(weight[rows].abs(), dim=1, out=scales[rows])
        scales[rows].div_(127).clamp_(min=_TINY)
        whole[rows] = (weight[rows] / scales[rows, None]).round_()
    return whole, scales


def _largest(inputs: Tensor) -> Tensor:
    return inputs.abs().amax(dim=1, keepdim=True).clamp_min_(_TINY)


@cache
def _levels(make: type[Int8 | BlockedInt8]) -> int:
    """Positive levels of an activation: 127, or 63 on machines where the sum of two products overflows 16 bits."""
    ones = torch.ones(16, 64, dtype=torch.float32, device="cpu")
    product = make(ones, None, levels=127)(ones[:1])
    return 127 if bool((product - 64).abs().max() < 0.01) else 63


def _sum(product: Tensor, bias: Tensor | None, total: Tensor | None) -> Tensor:
    for term in (bias, total):
        if term is not None:
            product.add_(term)
    return product


def _works(make: MakeKernel) -> bool:
    """Whether the kernel gives the right result here; a private operator may be missing or change its arguments."""
    inputs, weight = _line(-1, 1, rows=3, columns=32), _line(1, -0.5, rows=16, columns=32)
    bias = torch.ones_like(weight[:, 0])
    expected = functional.linear(inputs, weight, bias)
    try:
        results = [make(weight, bias)(inputs), make(weight, None)(inputs, bias.expand(3, 16).clone())]
    except (RuntimeError, AttributeError, TypeError):
        return False
    return all(bool((result - expected).abs().max() < 0.02 * expected.abs().max()) for result in results)


def _multiplies_bfloat16() -> bool:
    """Whether this is an x86 processor with instructions for bfloat16; others need not have both kernels."""
    is_supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # private to torch
    return is_supported is not None and bool(is_supported())


def _line(first: float, last: float, *, rows: int, columns: int) -> Float[Tensor, "N K"]:
    """Evenly spaced numbers, whatever default dtype and device the program has set: they must not choose the kernel."""
    return torch.linspace(first, last, rows * columns, dtype=torch.float32, device="cpu").view(rows, columns)


def _fastest(kernels: list[MakeKernel], weight: Tensor) -> MakeKernel:
    if len(kernels) == 1:
        return kernels[0]
    inputs = _line(-1, 1, rows=ROWS_TIMED, columns=weight.shape[1])

    def seconds(make: MakeKernel) -> float:
        kernel = make(weight, None)
        times: list[float] = []
        for _ in range(4):  # the first warms up
            began = time.thread_time()
            kernel(inputs)
            times.append(time.thread_time() - began)
        return min(times)

    return min(kernels, key=seconds)
