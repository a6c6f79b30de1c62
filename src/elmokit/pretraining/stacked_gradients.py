"""Loss and gradients of a batch on a GPU: both directions are in each product, and the batch is one CUDA graph.

`gradients.py` computes the same losses, gradients and states up to rounding. On a CPU, the code here runs without a
graph, so that tests can compare the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elmokit.layers.char_encoder import CharEncoder
from elmokit.layers.devices import sent_to, widest_float
from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import Softmax
from elmokit.layers.stacked import StackedState, stacked_layers, stacked_lstm, stacked_softmax
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.pretraining.gradients import DrawnBatch, dropout_masks
from elmokit.system.messages import warn_caller

if TYPE_CHECKING:
    from elmokit.pretraining.config import PretrainingConfig

LENGTHS = (12, 16, 24)
"""Groups of tokens are cut to these numbers of characters; the last group keeps all. Source: the experiment that
trained `small-en` (experiments/LOG.md, 2026-11-26)."""
SPARE = 1.25
"""A group that is too small gets this many times the rows of the batch. A new size needs a new graph: seconds."""
MULTIPLE = 64  # a group's number of rows is a multiple of this


@dataclass(frozen=True)
class _Tensors:
    """The input for a batch. Shapes change rarely. W is the number of directions."""

    characters: tuple[Tensor, ...]
    """Character ids (N,C) of distinct tokens, in groups by length, with rows of padding that no position reads."""
    positions: tuple[Tensor, Tensor, Tensor]
    """(W,T,B): the row to read, the target, and 0.0 where the state is reset before reading."""
    negatives: tuple[Tensor, ...]
    """Ids (W,S) and numbers of draws (W,); empty for the full softmax."""
    masks: tuple[Tensor, ...]
    """Dropout masks (W,L+1,T,B,D); empty without dropout."""
    state: list[StackedState]

    @property
    def all(self) -> list[Tensor]:
        return [*self.characters, *self.positions, *self.negatives, *self.masks, *chain(*self.state)]


@dataclass(frozen=True)
class _Results:
    losses: Tensor
    gradients: list[Tensor]
    """In the order of `StackedGradients.parameters`."""
    state: list[StackedState]


class StackedGradients:
    """Fills `.grad` of a biLM and its softmax from batches, as `LossAndGradients` does.

    Each batch overwrites the gradients and the state that were returned for the batch before it.
    """

    def __init__(
        self, bilm: BiLM, softmax: Softmax, config: PretrainingConfig, *, device: torch.device, rank: int = 0
    ) -> None:
        assert isinstance(bilm.char_encoder, CharEncoder)
        self.encoder: Final = bilm.char_encoder
        self.bilm = bilm
        self.softmax = softmax
        self.config = config
        self.device = device
        self.rank = rank
        self.dtype: Final = getattr(torch, config.precision)
        self.parameters: Final = [*bilm.parameters(), *softmax.parameters()]
        self.records_graph: bool = device.type == "cuda"
        self._graph: _Graph | None = None
        self._rows: dict[int, int] = {}
        """Number of rows of each group of tokens, by its number of characters."""

    def backward(self, drawn: DrawnBatch, state: BiLMState | None) -> tuple[tuple[Tensor, ...], BiLMState]:
        """As `LossAndGradients.backward`, but the losses are on the device, which may not have computed them yet.

        If a GPU cannot record a graph, it computes without one, after a warning.
        """
        tensors = self._tensors(drawn, state)
        results = self._replay(tensors) if self.records_graph else self._compute(tensors)
        for parameter, gradient in zip(self.parameters, results.gradients, strict=True):
            parameter.grad = gradient
        losses = results.losses.clone().unbind()
        sides = (tuple(LSTMState(cell[w], output[w]) for cell, output in results.state) for w in range(len(losses)))
        return losses, BiLMState(tuple(sides))

    def _tensors(self, drawn: DrawnBatch, state: BiLMState | None) -> _Tensors:
        config, like, directions = self.config, self.softmax.weight.detach(), drawn.batch.directions
        groups, rows = self._grouped(drawn.batch.character_ids)
        index, targets, starts = (
            np.stack([getattr(direction, name) for direction in directions]) for name in ("tokens", "targets", "starts")
        )
        carry = self._on_device(~starts if config.reset_state else np.ones_like(starts)).to(like.dtype)
        negatives: tuple[Tensor, ...] = ()
        if drawn.negatives:
            num_draws = torch.tensor([own.num_draws for own in drawn.negatives], dtype=widest_float(self.device))
            ids = torch.stack([own.ids for own in drawn.negatives])
            negatives = (sent_to(self.device, ids), sent_to(self.device, num_draws))
        of_draw: dict[str, Any] = {"like": like, "number": drawn.number, "rank": self.rank}
        shape = (*index.shape[1:], like.shape[1])
        masks = [dropout_masks(config, shape, direction=w, **of_draw) for w in range(len(directions))]
        return _Tensors(
            characters=tuple(map(self._on_device, groups)),
            positions=(self._on_device(rows[index]), self._on_device(targets), carry),
            negatives=negatives,
            masks=(torch.stack([torch.stack(own) for own in masks]),) if config.dropout_rate else (),
            state=self._state(state, batch_size=index.shape[2]),
        )

    def _grouped(self, character_ids: NDArray[np.int32]) -> tuple[list[NDArray[np.int32]], NDArray[np.int64]]:
        """Character ids in groups by length, and each token's row in the concatenation of all groups."""
        size, widest, padding_id = character_ids.shape[1], self.encoder.widest, self.encoder.padding_id
        limits = [*(length for length in LENGTHS if widest <= length < size), size]
        lengths: NDArray[np.int64] = (character_ids != padding_id).sum(axis=1)
        needed = lengths + widest  # room for a window of padding, as in `pool_by_length`
        group_of: NDArray[np.int64] = np.searchsorted(np.array(limits), np.minimum(needed, size))
        groups: list[NDArray[np.int32]] = []
        place, start = np.empty(len(character_ids), np.int64), 0
        for number, limit in enumerate(limits):
            own = np.flatnonzero(group_of == number)
            if len(own) > self._rows.get(limit, 0):
                self._rows[limit] = int(np.ceil(len(own) * SPARE / MULTIPLE)) * MULTIPLE
            group = np.full((self._rows.get(limit, 0), limit), padding_id, character_ids.dtype)
            group[: len(own)] = character_ids[own, :limit]
            place[own] = np.arange(start, start + len(own))
            start += len(group)
            groups.append(group)
        return [group for group in groups if len(group)], place

    def _state(self, state: BiLMState | None, *, batch_size: int) -> list[StackedState]:
        sizes = self.config.bilm
        if state is None:
            zeros = self.softmax.weight.new_zeros
            rows = (sizes.num_directions, batch_size)
            return [
                (zeros((*rows, sizes.lstm_dim)), zeros((*rows, sizes.projection_dim))) for _ in range(sizes.num_layers)
            ]
        layers = zip(*state.directions, strict=True)
        return [
            (torch.stack([own.cell for own in layer]), torch.stack([own.output for own in layer])) for layer in layers
        ]

    def _on_device(self, values: NDArray[Any]) -> Tensor:
        return sent_to(self.device, torch.from_numpy(values))

    def _compute(self, tensors: _Tensors) -> _Results:
        low = self.dtype == torch.bfloat16
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=low, cache_enabled=False):
            tokens = self.encoder.encode_groups(tensors.characters).to(self.softmax.weight.dtype)
        index, targets, carry = tensors.positions
        masks = tensors.masks[0] if tensors.masks else None
        outputs, last = stacked_lstm(
            stacked_layers(self.bilm.lstms),
            tokens.index_select(0, index.flatten()).view(*index.shape, -1),
            tensors.state,
            use_skip_connections=self.config.bilm.use_skip_connections,
            carry=carry,
            input_masks=masks,
            product_dtype=self.dtype,
        )
        hidden = outputs[-1] if masks is None else outputs[-1] * masks[:, -1]
        found = stacked_softmax(
            hidden.detach().flatten(1, 2),
            self.softmax,
            targets.flatten(1),
            negatives=(tensors.negatives[0], tensors.negatives[1]) if tensors.negatives else None,
            scale=self.config.bptt_steps / len(index),
            product_dtype=self.dtype,
        )
        of_bilm = torch.autograd.grad(hidden, list(self.bilm.parameters()), found.to_hidden.view(hidden.shape))
        # fused optimisers read memory in order and ignore the strides
        gradients = [gradient.contiguous() for gradient in (*of_bilm, found.to_weight, found.to_bias)]
        return _Results(found.losses, gradients, last)

    def _replay(self, tensors: _Tensors) -> _Results:
        if self._graph is None or not self._graph.fits(tensors):
            self._graph = None  # frees its memory for the next graph
            try:
                self._graph = _Graph(self._compute, tensors)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                self.records_graph = False
                warn_caller(f"this GPU cannot record a step as a graph, so training is slower ({error})")
                return self._compute(tensors)
        return self._graph.replay(tensors)


class _Graph:
    """A computation recorded on a GPU for tensors of these shapes. The GPU repeats it as one launch."""

    def __init__(self, compute: Callable[[_Tensors], _Results], tensors: _Tensors) -> None:
        self.tensors = tensors
        with torch.cuda.device(tensors.all[0].device):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):  # before recording, Triton compiles its kernels, and cuBLAS chooses its own
                    compute(tensors)
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            # thread_local: meanwhile, NCCL's thread may ask the GPU about earlier work
            with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                self.results = compute(tensors)

    def fits(self, tensors: _Tensors) -> bool:
        return [tensor.shape for tensor in tensors.all] == [tensor.shape for tensor in self.tensors.all]

    def replay(self, tensors: _Tensors) -> _Results:
        """The results, in memory that the next replay overwrites."""
        with torch.cuda.device(tensors.all[0].device):
            for own, new in zip(self.tensors.all, tensors.all, strict=True):
                own.copy_(new)
            self.graph.replay()
        return self.results
