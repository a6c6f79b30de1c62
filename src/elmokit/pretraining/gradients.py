"""Loss and gradients of a batch: the char encoder runs once per distinct token, then each direction runs separately.

On a CPU, each direction runs on a thread with half of the cores: one core for each is faster than two in one product.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.corpus.batches import Batch
from elmokit.layers.parallel import two_workers
from elmokit.layers.projected_lstm import LSTMState, ProjectedLSTM
from elmokit.layers.sampled_softmax import Negatives, Softmax, draw_negatives, sampled_softmax_loss
from elmokit.model.bilm import BiLM, BiLMState

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from elmokit.pretraining.config import PretrainingConfig

DROPOUT_SEED = 2**62  # so that masks and negatives use different random numbers

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class DrawnBatch:
    """A batch with its random draws. The config's seed and the batch's number determine them."""

    batch: Batch
    negatives: tuple[Negatives, ...]
    """One item per direction; empty for the full softmax. Processes that train together draw the same negatives."""
    number: int
    """Number of batches that the run has read before. Dropout depends on it, on the direction and on the process."""


def draw(batch: Batch, config: PretrainingConfig, *, num_tokens: int, number: int) -> DrawnBatch:
    """Draw the negatives of a batch, on the CPU."""
    negatives: list[Negatives] = []
    for direction in range(len(batch.directions) if config.softmax == "sampled" else 0):
        generator = torch.Generator().manual_seed(seed_for(config, number, direction))
        negatives.append(draw_negatives(config.num_negatives, num_tokens=num_tokens, generator=generator))
    return DrawnBatch(batch, tuple(negatives), number)


def seed_for(config: PretrainingConfig, number: int, direction: int) -> int:
    """Seed for the negatives (and, offset, the dropout) of a batch and direction, the same in all processes."""
    return ((config.seed * 1_000_003 + number) * 2 + direction) % 2**62


def dropout_masks(
    config: PretrainingConfig, shape: Sequence[int], *, like: Tensor, number: int, direction: int, rank: int
) -> list[Tensor]:
    """Masks for the input of each layer and the top output, with the dtype and device of `like`. Empty at rate 0."""
    if not config.dropout_rate:
        return []
    kept = 1.0 - config.dropout_rate
    seed = (seed_for(config, number, direction) + DROPOUT_SEED) ^ (rank << 32)
    generator = torch.Generator(like.device).manual_seed(seed)
    masks = [like.new_empty(shape) for _ in range(config.bilm.num_layers + 1)]
    return [mask.bernoulli_(kept, generator=generator).div_(kept) for mask in masks]


Backward = Callable[[DrawnBatch, "BiLMState | None"], "tuple[Sequence[float | Tensor], BiLMState]"]
"""Fills `.grad` from a batch and a state; returns each direction's mean loss and the state after the batch."""


def mean_gradients(
    backward: Backward, parameters: Sequence[nn.Parameter], group: Sequence[DrawnBatch], state: BiLMState | None
) -> tuple[Sequence[float | Tensor], BiLMState]:
    """Fill `.grad` with the mean gradients of a step's batches. Returns each direction's mean loss, and the state."""
    if len(group) == 1:
        return backward(group[0], state)
    losses: list[Sequence[float | Tensor]] = []
    sums = [torch.zeros_like(parameter) for parameter in parameters]
    for batch in group:
        losses_of_batch, state = backward(batch, state)
        losses.append(losses_of_batch)
        for total, parameter in zip(sums, parameters, strict=True):
            total += cast("Tensor", parameter.grad)
    for parameter, total in zip(parameters, sums, strict=True):
        parameter.grad = total.div_(len(group))
    assert state is not None  # there is a batch
    return [sum(column) / len(group) for column in zip(*losses, strict=True)], state


@dataclass(frozen=True)
class _DirectionResult:
    loss: float
    state: tuple[LSTMState, ...]
    grad_tokens: Tensor
    grad_softmax: tuple[Tensor, Tensor]
    """Gradients of weight and bias, or of the rows `softmax_ids` in each."""
    softmax_ids: Tensor | None
    grad_parameters: tuple[Tensor, ...]


class LossAndGradients:
    """Fills `.grad` of a biLM and its softmax from batches, one direction at a time, or each on a thread."""

    def __init__(
        self, bilm: BiLM, softmax: Softmax, config: PretrainingConfig, *, device: torch.device, rank: int = 0
    ) -> None:
        self.rank = rank
        self.bilm = bilm
        self.softmax = softmax
        self.config = config
        self.device = device
        self.dtype: Final = getattr(torch, config.precision)
        self.threads: ThreadPoolExecutor | None = None
        if device.type == "cpu" and bilm.backward_lstm is not None and torch.get_num_threads() > 1:
            self.threads = two_workers(torch.get_num_threads())

    def backward(self, drawn: DrawnBatch, state: BiLMState | None) -> tuple[tuple[float, ...], BiLMState]:
        """Fill `.grad` with the gradients of loss x bptt_steps for one batch, as in the released code.

        Returns each direction's mean loss in nats per predicted token, and the state that the next batch starts from.
        """
        ids = torch.from_numpy(drawn.batch.character_ids).to(self.device)
        num_pieces = 2 if self.threads is not None and len(ids) > 1 else 1
        pieces = self._in_parallel(self._encode, ids.tensor_split(num_pieces))
        seen = torch.cat([piece.detach() for piece in pieces])
        lstms = self.bilm.lstms
        states = [None] * len(lstms) if state is None else state.directions

        def direction(index: int) -> _DirectionResult:
            return self._direction(lstms[index], seen, drawn, states[index], direction=index)

        results = self._in_parallel(direction, range(len(lstms)))
        self._fill_char_encoder(pieces, functools.reduce(torch.add, [result.grad_tokens for result in results]))
        for lstm, result in zip(lstms, results, strict=True):
            for parameter, gradient in zip(lstm.parameters(), result.grad_parameters, strict=True):
                parameter.grad = gradient
        self._fill_softmax(results)
        return tuple(result.loss for result in results), BiLMState(tuple(result.state for result in results))

    def _direction(
        self,
        lstm: ProjectedLSTM,
        tokens: Float[Tensor, "N D"],
        drawn: DrawnBatch,
        state: tuple[LSTMState, ...] | None,
        *,
        direction: int,
    ) -> _DirectionResult:
        batch = drawn.batch.directions[direction]
        leaf = tokens.detach().requires_grad_()
        inputs, index = self._inputs(leaf, batch.tokens)
        carry_mask = None
        if self.config.reset_state and batch.starts.any():
            starts = torch.from_numpy(batch.starts).to(self.device)
            carry_mask = (~starts).to(tokens.dtype)[:, :, None]
        of_draw = {"number": drawn.number, "direction": direction, "rank": self.rank}
        masks = dropout_masks(self.config, (*batch.tokens.shape, tokens.shape[1]), like=tokens, **of_draw)
        with self._autocast():
            outputs, last = lstm(inputs, state, index=index, carry_mask=carry_mask, input_masks=masks or None)
        hidden = outputs[-1] * masks[-1] if masks else outputs[-1]
        targets = torch.from_numpy(batch.targets).to(self.device).flatten()
        negatives = drawn.negatives[direction] if drawn.negatives else None
        loss, softmax_ids, softmax = self._loss(hidden.flatten(0, 1), targets, negatives)
        share = 0.5 if self.bilm.backward_lstm is not None else 1.0
        parameters = [leaf, *softmax, *lstm.parameters()]
        gradients = torch.autograd.grad(loss * (share * self.config.bptt_steps), parameters)
        return _DirectionResult(
            loss=float(loss.detach()),
            state=tuple(layer.map(Tensor.detach) for layer in last),
            grad_tokens=gradients[0],
            grad_softmax=(gradients[1], gradients[2]),
            softmax_ids=softmax_ids,
            grad_parameters=gradients[3:],
        )

    def _inputs(
        self, tokens: Float[Tensor, "N D"], positions: Int[np.ndarray, "T B"]
    ) -> tuple[Float[Tensor, "T B D"] | Float[Tensor, "M D"], Int[Tensor, "T B"] | None]:
        """The LSTM's input. Without dropout, equal words stay equal, so each is there once, with an index of positions.

        This is not done in bfloat16: the gradient of a frequent word would be a sum of many small numbers.
        """
        if self.config.dropout_rate or self.dtype != tokens.dtype:
            return functional.embedding(torch.from_numpy(positions).to(self.device), tokens), None
        distinct, index = np.unique(positions, return_inverse=True)
        index = torch.from_numpy(index.reshape(positions.shape)).to(self.device)
        return functional.embedding(torch.from_numpy(distinct).to(self.device), tokens), index

    def _loss(
        self, hidden: Float[Tensor, "N D"], targets: Int[Tensor, " N"], negatives: Negatives | None
    ) -> tuple[Tensor, Tensor | None, tuple[Tensor, Tensor]]:
        """The loss, the ids of its softmax rows (None: all), and their weights and biases as leaf tensors."""
        weight, bias = self.softmax.weight.detach(), self.softmax.bias.detach()
        if negatives is None:
            weight, bias = weight.requires_grad_(), bias.requires_grad_()
            products = hidden.to(self.dtype) @ weight.to(self.dtype).t()
            return functional.cross_entropy(products.to(hidden.dtype) + bias, targets), None, (weight, bias)
        negatives = replace(negatives, ids=negatives.ids.to(self.device))
        ids = torch.cat([targets, negatives.ids])
        weight, bias = weight[ids].requires_grad_(), bias[ids].requires_grad_()
        n = len(targets)
        loss = sampled_softmax_loss(
            hidden,
            (weight[:n], bias[:n]),
            (weight[n:], bias[n:]),
            targets=targets,
            negatives=negatives,
            num_tokens=len(self.softmax.bias),
            product_dtype=self.dtype,
        )
        return loss, ids, (weight, bias)

    def _encode(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N D"]:
        with self._autocast():
            return self.bilm.encode_tokens(character_ids).to(self.softmax.weight.dtype)

    def _autocast(self) -> torch.autocast:
        """Context, for one thread, with matrix products in the precision of the config."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16)

    def _fill_char_encoder(self, pieces: list[Tensor], gradient: Float[Tensor, "N D"]) -> None:
        parameters = list(self.bilm.char_encoder.parameters())
        parts = list(zip(pieces, gradient.tensor_split(len(pieces)), strict=True))
        gradients = self._in_parallel(lambda part: torch.autograd.grad(part[0], parameters, part[1]), parts)
        for parameter, shares in zip(parameters, zip(*gradients, strict=True), strict=True):
            parameter.grad = functools.reduce(torch.add, shares)

    def _in_parallel(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
        """Results in the order of the parts, each on a separate thread if there are threads."""
        return list(map(function, parts) if self.threads is None else self.threads.map(function, parts))

    def _fill_softmax(self, results: list[_DirectionResult]) -> None:
        """Sum both directions' gradients. With sampling, most rows of the buffer are zero before and after."""
        for index, parameter in enumerate((self.softmax.weight, self.softmax.bias)):
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            else:
                parameter.grad.zero_()
            for result in results:
                if result.softmax_ids is None:
                    parameter.grad.add_(result.grad_softmax[index])
                else:
                    parameter.grad.index_add_(0, result.softmax_ids, result.grad_softmax[index])
