"""Linear layers for inference only. The weight is laid out once, for the kernel that multiplies it.

| kernel | weight | arithmetic | the result of a row depends on |
|---|---|---|---|
| `Blocked` | float32, in oneDNN's blocks | float32 | only that row, bit for bit |
| `Transposed` | float32 or bfloat16 | as the weight | the number of rows, by rounding |
| `BlockedBFloat16` | bfloat16, in oneDNN's blocks | bfloat16, summed in float32 | the number of rows, by rounding |
| `Float16` | float16, in FBGEMM's blocks | float32 | the number of rows, by rounding |
| `Int8` | int8, one scale per output | int8, one scale per row | only that row, bit for bit |

Torch itself multiplies with MKL, which is slow on few rows, especially on processors not made by Intel. The operators
of oneDNN and FBGEMM are private to torch, so each kernel is tried before it is used (see `kernel_for`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, cast

import torch
from torch import Tensor
from torch.nn import functional

from elmokit.layers.parallel import STATE_LOCK

if TYPE_CHECKING:
    from jaxtyping import Float

Precision = Literal["float32", "bfloat16", "int8"]
"""float32: exact, and the same bits in any batch. bfloat16: weights in 16 bits (float16 weights and float32 arithmetic
where the processor does not multiply bfloat16). int8: weights and activations in 8 bits."""
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8")

LARGEST_FLOAT16 = torch.finfo(torch.float16).max
COLUMNS = 512
TYPICAL_ROWS = 128  # the number of rows that oneDNN's block layout is chosen for
ROWS_TOGETHER = 4
"""Numbers of rows up to `TYPICAL_ROWS` are rounded up to multiples of this, because oneDNN compiles and keeps one
program per number of rows. Larger multiples would waste time on more empty rows."""
BLOCK = 64  # outputs of a row that are summed together
LARGEST_COPY = 1 << 22
"""Weights of at most this many numbers are kept a second time, for single rows. The products of larger ones wait for
memory, not for oneDNN."""
ROWS_AT_ONCE = 256
"""Number of rows of a weight that are rounded to whole numbers at a time."""
_TINY = torch.finfo(torch.float32).tiny

_torch: Any = torch
_onednn: Any = torch.ops.mkldnn
_fbgemm: Any = torch.ops.quantized


class Kernel(Protocol):
    """Computes `inputs @ weight.T + bias` in float32, plus `total` if given, which may be overwritten."""

    def __call__(
        self, inputs: Float[Tensor, "N K"], total: Float[Tensor, "N M"] | None = None
    ) -> Float[Tensor, "N M"]: ...


MakeKernel: TypeAlias = "Callable[[Float[Tensor, 'M K'], Float[Tensor, ' M'] | None], Kernel]"


def check_precision(precision: str, device: torch.device | None = None) -> None:
    """Raise ValueError for an unknown precision, naming the known ones, or one that the device does not support."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}; expected one of {', '.join(PRECISIONS)}")
    if precision == "int8" and device is not None and device.type != "cpu":
        raise ValueError(
            f"precision 'int8' works only on the CPU, not on {device}; give device='cpu' (--device cpu), or choose "
            "'bfloat16'"
        )


def kernel_for(precision: Precision, weight: Float[Tensor, "M *K"]) -> MakeKernel:
    """The constructor of the kernel for a model with this weight, on the device of the weight.

    It is the first kernel that works, so that two processes get the same vectors. Raises ValueError when this machine
    has no kernel of that precision.
    """
    check_precision(precision, weight.device)
    plain = PlainBFloat16 if precision == "bfloat16" else Transposed
    if weight.device.type != "cpu":
        return plain
    of_bfloat16: list[MakeKernel] = [BlockedBFloat16, Float16] if _multiplies_bfloat16() else [Float16, BlockedBFloat16]
    candidates: dict[Precision, list[MakeKernel]] = {"float32": [Blocked], "bfloat16": of_bfloat16, "int8": [Int8]}
    working = next((make for make in candidates[precision] if _works(make)), None)
    if working is None and precision == "int8":
        raise ValueError("torch has no int8 matrix products for this machine; choose another precision")
    return working or plain


def rows_are_independent(make_kernel: MakeKernel) -> bool:
    """Whether the result of a row is the same, bit for bit, whatever other rows are in the batch."""
    return make_kernel in (Blocked, Int8)


def weight_dtype(make_kernel: MakeKernel) -> torch.dtype:
    """The type that the kernel wants for its weight. A weight of this type is not copied."""
    return torch.bfloat16 if make_kernel in (BlockedBFloat16, PlainBFloat16) else torch.float32


class Blocked:
    """Multiplies the inputs in pieces of `COLUMNS`: oneDNN sums a row sequentially, and pieces halve the rounding."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.pieces: Final = [_onednn._reorder_linear_weight(piece, TYPICAL_ROWS) for piece in _pieces(weight)]
        self.bias = bias
        self.one_row: Final = None if bias is not None or weight.numel() > LARGEST_COPY else _one_row(weight, self)

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        bias, num_rows = self.bias, len(inputs)
        if total is None and num_rows != round_up(num_rows):
            inputs = functional.pad(inputs, (0, 0, 0, round_up(num_rows) - num_rows))
        for piece, columns in zip(self.pieces, _pieces(inputs), strict=True):
            if total is None:
                total = _onednn._linear_pointwise(columns, piece, bias, "none", [], "")
            else:
                total = _onednn._linear_pointwise.binary(columns, total, piece, bias, "add")
            bias = None
        assert total is not None
        return total if len(total) == num_rows else total[:num_rows]


class _OneRow:
    """The product of `Blocked` for a single row, without the time that oneDNN takes to prepare (about 50 us).

    It is a sum of embeddings: rows of the transposed weight, `BLOCK` numbers long, times the numbers of the input. This
    sum is sequential, too, with one bag for each piece of `COLUMNS`.
    """

    def __init__(self, weight: Float[Tensor, "M K"]) -> None:
        num_blocks, num_inputs = len(weight) // BLOCK, weight.shape[1]
        self.embeddings: Final = weight.reshape(num_blocks, BLOCK, num_inputs).transpose(1, 2).reshape(-1, BLOCK)
        self.indices: Final = torch.arange(len(self.embeddings), dtype=torch.int32, device="cpu")
        self.starts: Final = self.indices.view(num_blocks, num_inputs)[:, ::COLUMNS].reshape(-1)
        self.num_blocks = num_blocks

    def __call__(self, inputs: Float[Tensor, "1 K"], total: Float[Tensor, "1 M"] | None = None) -> Float[Tensor, "1 M"]:
        weights = inputs.expand(self.num_blocks, -1).reshape(-1)
        sums = torch.embedding_bag(self.embeddings, self.indices, self.starts, False, 0, False, weights)[0]
        products = sums.view(self.num_blocks, -1, BLOCK).unbind(1)
        first = [] if total is None else [total.view(self.num_blocks, BLOCK)]
        return reduce(Tensor.add_, [*first, *products]).reshape(1, -1)


def _one_row(weight: Tensor, blocked: Blocked) -> _OneRow | None:
    """The product for single rows, or None if its result would differ from oneDNN's in any bit."""
    if len(weight) % BLOCK:
        return None
    row, one_row = _line(-1, 1, rows=1, columns=weight.shape[1]), _OneRow(weight)
    return one_row if torch.equal(one_row(row, None), blocked(row)) else None


def for_rows(kernel: Kernel, num_rows: int) -> Kernel:
    """The kernel, or for inputs of a single row a faster one that gives the same bits."""
    return kernel.one_row or kernel if num_rows == 1 and isinstance(kernel, Blocked) else kernel


def round_up(num_rows: int) -> int:
    """The number of rows rounded up to one of few values; see `ROWS_TOGETHER`."""
    if num_rows <= ROWS_TOGETHER:
        return num_rows
    step = ROWS_TOGETHER if num_rows <= TYPICAL_ROWS else TYPICAL_ROWS
    return -(-num_rows // step) * step


def _pieces(matrix: Tensor) -> list[Tensor]:
    if matrix.shape[1] <= COLUMNS:
        return [matrix.contiguous()]
    return [piece.contiguous() for piece in cast("tuple[Tensor, ...]", matrix.split(COLUMNS, dim=1))]


class Transposed:
    """Float32 products with a transposed weight, by torch's public operators."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight: Tensor = weight.t().contiguous()
        self.bias = bias

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        if total is None:
            return inputs @ self.weight if self.bias is None else torch.addmm(self.bias, inputs, self.weight)
        total.addmm_(inputs, self.weight)
        return total if self.bias is None else total.add_(self.bias)


class PlainBFloat16:
    """Bfloat16 products by torch's public operators; sums are in float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight: Tensor = weight.bfloat16()
        self.bias = bias

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        return _sum(functional.linear(inputs.bfloat16(), self.weight).float(), self.bias, total)


class BlockedBFloat16:
    """Bfloat16 products with a weight in oneDNN's blocked layout, through a private operator of torch."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight: Tensor = _onednn._reorder_linear_weight(weight.bfloat16(), TYPICAL_ROWS)
        self.bias = bias

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        rows = functional.pad(inputs.bfloat16(), (0, 0, 0, round_up(len(inputs)) - len(inputs)))
        product = _onednn._linear_pointwise(rows, self.weight, None, "none", [], "")[: len(inputs)]
        return _sum(product.float(), self.bias, total)


class Float16:
    """Products with a float16 weight and float32 inputs by FBGEMM, for processors without bfloat16."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        if max(map(abs, torch.aminmax(weight))) > LARGEST_FLOAT16:  # a copy only where it is needed
            weight = weight.clamp(-LARGEST_FLOAT16, LARGEST_FLOAT16)
        self.weight: Any = _fbgemm.linear_prepack_fp16(weight.contiguous(), bias)

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        product = _fbgemm.linear_dynamic_fp16(inputs, self.weight)
        return product if total is None else product.add_(total)


class Int8:
    """Products of int8 numbers by FBGEMM.

    Each row of the inputs is scaled to -1..1 separately: one scale per batch would make rows depend on each other.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, *, levels: int | None = None) -> None:
        self.levels: Final = levels or _levels()
        self.bias = bias
        whole, scales = _whole_numbers(weight)
        with STATE_LOCK, warnings.catch_warnings():
            chosen = torch.backends.quantized.engine
            warnings.simplefilter("ignore")  # torch deprecates qint8 tensors; without them `_works` will be False
            torch.backends.quantized.engine = "fbgemm"
            try:
                zeros = torch.zeros(len(weight), dtype=torch.long, device=weight.device)
                quantised = _torch._make_per_channel_quantized_tensor(whole, scales, zeros, 0)
                self.weight: Any = _fbgemm.linear_prepack(quantised, None)
            finally:
                torch.backends.quantized.engine = chosen

    def __call__(self, inputs: Tensor, total: Tensor | None = None) -> Tensor:
        largest = _largest(inputs)
        multiply = _fbgemm.linear_with_input_q_dq_qweight_dq_output_fp32
        product = multiply(inputs / largest, 1 / self.levels, self.levels + 1, self.weight)
        return _sum(product.mul_(largest), self.bias, total)


def _whole_numbers(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The weight as integers in -127..127, and the scale of each row. Copies only a few rows at a time in float32."""
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
def _levels() -> int:
    """Positive levels of an activation: 127, or 63 on machines where the sum of two products overflows 16 bits."""
    ones = torch.ones(16, 64, dtype=torch.float32, device="cpu")
    product = Int8(ones, None, levels=127)(ones[:1])
    return 127 if bool((product - 64).abs().max() < 0.01) else 63


def _sum(product: Tensor, bias: Tensor | None, total: Tensor | None) -> Tensor:
    for term in (bias, total):
        if term is not None:
            product.add_(term)
    return product


@cache
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
    """Evenly spaced numbers, whatever the program's default dtype and device, which must not decide on the kernel."""
    return torch.linspace(first, last, rows * columns, dtype=torch.float32, device="cpu").view(rows, columns)
