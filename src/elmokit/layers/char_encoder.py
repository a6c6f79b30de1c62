"""Character CNN, highway layers and projection: characters of a token -> its context-independent vector (bilm-tf)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from elmokit.layers.devices import sent_to

if TYPE_CHECKING:
    from jaxtyping import Float, Int

LENGTH_STEP = 4  # tokens whose lengths round up to the same multiple of this are convolved together

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}
"""Activations that may follow the convolutions, by name."""


class CharEncoder(nn.Module):
    """Character ids (N,C) -> token representations (N,D).

    Id 0 is the padding token, whose embedding is zero. `padding_id` fills the row of a token after its last character.
    """

    def __init__(
        self,
        *,
        num_characters: int,
        padding_id: int,
        character_dim: int,
        filters: Sequence[tuple[int, int]],
        activation: str,
        num_highway_layers: int,
        projection_dim: int,
    ) -> None:
        super().__init__()
        self.num_filters: int = sum(number for _, number in filters)
        num_filters = self.num_filters
        self.output_dim = projection_dim
        self.padding_id = padding_id
        self.embedding: nn.Embedding = nn.Embedding(num_characters, character_dim, padding_idx=0)
        self.convolutions: nn.ModuleList = nn.ModuleList(
            nn.Conv1d(character_dim, number, width) for width, number in filters
        )
        self.activation: Callable[[Tensor], Tensor] = ACTIVATIONS[activation]
        self.highways: nn.ModuleList = nn.ModuleList(Highway(dim=num_filters) for _ in range(num_highway_layers))
        self.projection: nn.Linear | None = None
        if num_filters != projection_dim:
            self.projection = nn.Linear(num_filters, projection_dim)
        self.widest: int = max(width for width, _ in filters)
        self._reset_parameters(activation=activation)

    def _reset_parameters(self, *, activation: str) -> None:
        nn.init.uniform_(self.embedding.weight, -1.0, 1.0)
        with torch.no_grad():
            self.embedding.weight[0] = 0.0
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            if activation == "relu":
                nn.init.uniform_(convolution.weight, -0.05, 0.05)
            else:
                fan_in = convolution.in_channels * convolution.kernel_size[0]
                nn.init.normal_(convolution.weight, std=fan_in**-0.5)
            assert convolution.bias is not None
            nn.init.zeros_(convolution.bias)
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=self.projection.in_features**-0.5)
            nn.init.zeros_(self.projection.bias)

    def forward(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N D"]:
        if not len(character_ids):
            return self.transform(self.embedding.weight.new_zeros(0, self.num_filters))
        return self.transform(
            pool_by_length(
                character_ids,
                self._convolve,
                device=self.embedding.weight.device,
                widest=self.widest,
                padding_id=self.padding_id,
            )
        )

    def encode_groups(self, groups: Sequence[Int[Tensor, "_ _"]]) -> Float[Tensor, "N D"]:
        """Representations of the tokens of all groups (N,C). Each group may be cut as in `pool_by_length`."""
        return self.transform(torch.cat([self._convolve(group) for group in groups]))

    def transform(self, pooled: Float[Tensor, "N K"]) -> Float[Tensor, "N D"]:
        """Token representations from the largest responses of the filters."""
        hidden = self.activation(pooled)
        for highway in self.highways:
            hidden = highway(hidden)
        return hidden if self.projection is None else self.projection(hidden)

    def _convolve(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N K"]:
        convolve_and_max = cast("Callable[..., Tensor]", _ConvolveAndMax.apply)
        pooled: list[Tensor] = []
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
            weights = (self.embedding.weight, convolution.weight)
            largest = convolve_and_max(character_ids, *weights, torch.is_grad_enabled())
            pooled.append(largest + convolution.bias)
        return torch.cat(pooled, dim=1)


class Highway(nn.Module):
    """Highway layer (Srivastava et al., 2015), with the transform gate that bilm-tf calls "carry".

    `g * relu(transform(x)) + (1 - g) * x` with `g = sigmoid(gate(x))`, on (N,K) -> (N,K).
    """

    def __init__(self, *, dim: int) -> None:
        super().__init__()
        self.transform: nn.Linear = nn.Linear(dim, dim)
        self.gate: nn.Linear = nn.Linear(dim, dim)
        for linear, bias in ((self.transform, 0.0), (self.gate, -2.0)):  # -2: mostly carries x at first (bilm-tf)
            nn.init.normal_(linear.weight, std=linear.in_features**-0.5)
            nn.init.constant_(linear.bias, bias)

    def forward(self, inputs: Float[Tensor, "N K"]) -> Float[Tensor, "N K"]:
        gate, transformed = torch.sigmoid(self.gate(inputs)), torch.relu(self.transform(inputs))
        return inputs + gate * (transformed - inputs)


def pool_by_length(
    character_ids: Int[Tensor, "N C"],
    convolve: Callable[[Int[Tensor, "N C"]], Float[Tensor, "N K"]],
    *,
    device: torch.device,
    widest: int,
    padding_id: int,
    fewest: int = 1,
) -> Float[Tensor, "N K"]:
    """Maximum of every filter over all positions. Padding characters count, but few of their positions are computed.

    After the end of a token, all windows of one width contain only padding characters and are equal, so one of them is
    enough: a token of n characters needs n + `widest` positions, where `widest` is the width of the widest filter.
    `convolve` returns the maxima (N,K) of tokens cut to a common length, on `device`. Each call gets at least `fewest`
    tokens, except the last, which gets the longest tokens. There must be at least one token. Ids on the CPU are sorted
    there, so that nothing waits for a GPU.
    """
    size = character_ids.shape[1]
    lengths = (character_ids != padding_id).sum(dim=1) + widest
    lengths = ((lengths + LENGTH_STEP - 1) // LENGTH_STEP * LENGTH_STEP).clamp_(max=size)
    order = torch.argsort(lengths, stable=True)
    by_length: dict[int, int] = Counter(cast("list[int]", lengths.tolist()))
    pieces: list[Tensor] = []
    start = end = 0
    for length, count in sorted(by_length.items()):
        end += count
        if end - start >= fewest or end == len(order):
            pieces.append(convolve(sent_to(device, character_ids[order[start:end], :length])))
            start = end
    return torch.cat(pieces)[sent_to(device, torch.argsort(order))]


def windows(embedded: Float[Tensor, "N C D"], width: int) -> Float[Tensor, "M WD"]:
    """All inputs of a filter of this width: C - width + 1 rows per token, token after token."""
    positions = embedded.shape[1] - width + 1
    rows = torch.cat([embedded[:, start : start + positions] for start in range(width)], dim=2)
    return rows.view(-1, rows.shape[2])


class _ConvolveAndMax(torch.autograd.Function):
    """Largest response (N,K) of K filters over all windows of N tokens.

    Each response comes from a single window, so its gradient only reaches the `width` characters of that window. The
    backward pass therefore scatters into a table of characters and filters, which is much less work than the dense
    gradient of a convolution.
    """

    @staticmethod
    def forward(ctx: Any, character_ids: Tensor, embedding: Tensor, weight: Tensor, save_for_backward: bool) -> Tensor:
        num_filters, dim, width = weight.shape
        num_tokens, size = character_ids.shape
        positions = size - width + 1
        device = weight.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        rows = windows(functional.embedding(character_ids, embedding.to(dtype)), width)
        kernel = weight.to(dtype).transpose(1, 2).reshape(num_filters, width * dim)
        responses = (rows @ kernel.t()).view(num_tokens, positions, num_filters)
        largest = responses.amax(dim=1)
        if save_for_backward and any(ctx.needs_input_grad):
            ctx.save_for_backward(character_ids, embedding, weight, _first_equal(responses, largest))
        return largest.to(weight.dtype)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - torch's stubs give the decorator other names
        ctx: Any, *gradients: Tensor
    ) -> tuple[None, Tensor, Tensor, None]:
        character_ids, embedding, weight, where = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        num_filters, _, width = weight.shape
        to_embedding = torch.zeros_like(embedding)
        to_weight = torch.empty_like(weight)
        ids = character_ids.long()
        for tap in range(width):
            characters = ids.gather(1, where + tap)
            to_table = embedding.new_zeros(len(embedding), num_filters).scatter_add_(0, characters, gradients[0])
            to_embedding.addmm_(to_table, weight[:, :, tap])
            to_weight[:, :, tap] = to_table.t() @ embedding
        to_embedding[0] = 0.0  # the padding token stays zero
        return None, to_embedding, to_weight, None


def _first_equal(responses: Float[Tensor, "N P K"], largest: Float[Tensor, "N K"]) -> Int[Tensor, "N K"]:
    """First position of the largest response. It compares bits as integers, which is 5 times as fast as floats.

    If no response is equal, returns the last position: two NaNs may have different bits.
    """
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[responses.element_size()]
    num_positions = responses.shape[1]
    kind = torch.uint8 if num_positions < 256 else torch.int32
    equal = (responses.view(bits) == largest.view(bits)[:, None]).view(torch.uint8).to(kind)
    left = torch.arange(num_positions, 0, -1, dtype=kind, device=equal.device)
    return (num_positions - equal.mul_(left[:, None]).amax(dim=1).long()).clamp_(max=num_positions - 1)
