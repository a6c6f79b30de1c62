"""The biLM for inference only: sentences of tokens -> the layer activations of `BiLM`, several times as fast.

The weights are packed for the kernels that multiply them (`layers.packed.linear`). Sentences are read in parallel
without padding. Boundaries are read only once: each sentence starts from the state after its boundary.
"""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.files.weights_file import give_back
from elmokit.layers import stacked
from elmokit.layers.char_encoder import ACTIVATIONS
from elmokit.layers.devices import for_inference, sent_to, without_autocast
from elmokit.layers.lookup_encoder import LookupEncoder
from elmokit.layers.packed.char_encoder import PackedCharEncoder, PackedConvolution, PackedHighway
from elmokit.layers.packed.linear import Precision, kernel_for, round_up, rows_are_independent, weight_dtype
from elmokit.layers.packed.lstm import PackedLSTM, PackedLSTMLayer, PackedState, StackedLSTM
from elmokit.layers.parallel import STATE_LOCK, run_in_parallel
from elmokit.layers.projected_lstm import FORGET_BIAS
from elmokit.text.character_numbers import PADDING_ID
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.spelling import ByteSpelling, Spelling

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from elmokit.layers.char_encoder import CharEncoder
    from elmokit.layers.packed.linear import Kernel, MakeKernel
    from elmokit.model.config import BiLMConfig

LARGE = 1 << 21
"""Before a weight of at least this many numbers, freed memory is returned; for smaller ones that takes too long."""
CHUNK, CHUNK_OF_GPU = 256, 4096  # tokens per call of the char encoder, to limit its memory
Key: TypeAlias = str | bytes
"""Stands for a token. Tokens with equal keys are spelt alike."""
State = list[list[PackedState]]
"""State of each direction and layer, with one row per sentence."""
Take: TypeAlias = Callable[..., Tensor]
"""Name of a weight, and perhaps a type -> the weight, on the device of the model."""


class PackedBiLM:
    """A biLM made from weights. The weights are not changed."""

    def __init__(
        self,
        config: BiLMConfig,
        weights: Mapping[str, Any],
        *,
        spelling: Spelling | None = None,
        precision: Precision = "float32",
        device: torch.device | None = None,
    ) -> None:
        """weights: tensors or arrays by name, as in `BiLM.state_dict()`.

        spelling: as for `BiLM`; a config with a `lookup` needs it. The default is the tokens' bytes.
        device: by default the weights' device.
        """

        def take(name: str, dtype: torch.dtype = torch.float32, *, copy: bool = False) -> Tensor:
            if prod(weights[name].shape) >= LARGE:
                _give_back_freed_memory()  # the memory that the previous weight needed
                if isinstance(weights[name], np.ndarray):
                    give_back(weights[name])  # the pages of the previous weights, if they are mapped
            return torch.as_tensor(weights[name], device=device).to(dtype, copy=copy)

        self.config = config
        some_weight = take("forward_lstm.layers.0.bias")
        self.device: torch.device = some_weight.device
        make_kernel = kernel_for(precision, some_weight)
        self.rows_are_independent: bool = rows_are_independent(make_kernel) and _fill_vectors(config)
        """Whether the activations of a token are the same, bit for bit, whatever else is read with it."""
        directions = ("forward_lstm", "backward_lstm")[: config.num_directions]
        # the largest matrices first, while little is packed: memory peaks at the packed ones plus one matrix
        self.lstms: list[PackedLSTM] | list[StackedLSTM]
        self._stack: StackedLSTM | None = None
        if self.device.type in stacked.STACKED_ON:
            self._stack = _stacked_lstm(config, take, directions, weight_dtype(make_kernel))
            self.lstms = [self._stack.direction(number) for number in range(len(directions))]
        else:
            self.lstms = [_lstm(config, take, name, make_kernel) for name in directions]
        self.char_encoder: PackedCharEncoder | LookupEncoder = _token_encoder(config, take, make_kernel)
        _give_back_freed_memory()
        spelling = spelling or ByteSpelling(config.max_characters_per_token)
        self.token_cache: TokenCache = TokenCache(self.char_encoder, spelling=spelling)
        self._after_boundary, outputs = self._read_boundaries()
        self.boundary_outputs = outputs
        """Top-layer outputs (W,D), one per direction, after the boundary where the direction starts a sentence."""

    def read(
        self, sentences: Sequence[Sequence[str]], state: State | None = None, *, depth: int | None = None
    ) -> tuple[list[Float[Tensor, "N E"]], State]:
        """Activations (N,2D) of layers 0 to `depth` (default: all) of the N tokens of all sentences, and the state.

        Without a state, each sentence is read as if between its boundaries; with a state, without boundaries. A
        sentence without tokens keeps its state.
        """
        with for_inference(), without_autocast(self.char_encoder.embedding.weight.device):
            return self._read(sentences, state, depth=self.config.num_layers if depth is None else depth)

    def _read(
        self, sentences: Sequence[Sequence[str]], state: State | None, *, depth: int
    ) -> tuple[list[Float[Tensor, "N E"]], State]:
        vectors, which = self.token_cache.distinct(sentences)
        tokens = vectors[which]
        width = len(self.lstms) * self.config.projection_dim
        # the last row is scratch, for sentences that have ended
        activations = [tokens.new_empty(len(tokens) + 1, width) for _ in range(1 + depth)]
        activations[0][:-1] = torch.cat([tokens] * len(self.lstms), dim=1)
        which = functional.pad(which, (0, 1))
        steps = _steps([len(sentence) for sentence in sentences], in_rounds=state is None)
        order, orders = sent_to(self.device, steps.order), sent_to(self.device, steps.orders[: len(self.lstms)])
        first = torch.zeros_like(order) if state is None else order
        running = [[layer.rows(first) for layer in layers[:depth]] for layers in state or self._after_boundary]
        if self._stack is not None:
            outputs = self._stack.read(vectors, which[orders], steps.batch_sizes, running)
        else:
            of_directions = zip(self.lstms, which[orders], running, strict=True)
            reads = [partial(lstm, vectors, rows, steps.batch_sizes, layers) for lstm, rows, layers in of_directions]
            is_parallel = len(reads) == 2 and self.device.type == "cpu"
            outputs = run_in_parallel(*reads) if is_parallel else [read() for read in reads]
        dim = self.config.projection_dim
        for direction, of_layers in enumerate(outputs):
            for layer, output in zip(activations[1:], of_layers, strict=True):
                layer[:, direction * dim : (direction + 1) * dim].index_copy_(0, orders[direction], output)
        if state is not None:
            back = torch.argsort(order)
            running = [[layer.rows(back) for layer in layers] for layers in running]
        return [layer[:-1] for layer in activations], running

    def zero_state(self, num_sentences: int) -> State:
        """A state of zeros for each of the sentences."""
        zeros, config = self.char_encoder.embedding.weight.new_zeros, self.config
        return [
            [
                PackedState(zeros(num_sentences, config.lstm_dim), zeros(num_sentences, config.projection_dim))
                for _ in range(config.num_layers)
            ]
            for _ in self.lstms
        ]

    @torch.inference_mode()
    def _read_boundaries(self) -> tuple[State, Float[Tensor, "W D"]]:
        """State and output of each direction, forward after the opening boundary, backward after the closing one."""
        state: State = []
        outputs: list[Float[Tensor, " D"]] = []
        for direction, boundary in zip(range(len(self.lstms)), (BEGIN_SENTENCE, END_SENTENCE), strict=False):
            layers, last = self.read([[boundary]], self.zero_state(1))
            state.append(last[direction])
            outputs.append(layers[-1][0].chunk(len(self.lstms))[direction])
        return state, torch.stack(outputs)


class TokenCache:
    """Sentences of tokens -> representations of their distinct tokens; drops the least recently used ones."""

    max_tokens = 32_768
    """The vectors take 64 MiB for `original` and 32 MiB for `small-en`; Python's objects for them as much again."""

    def __init__(self, char_encoder: PackedCharEncoder | LookupEncoder | CharEncoder, *, spelling: Spelling) -> None:
        self.char_encoder = char_encoder
        self.spelling = spelling
        self._rows: OrderedDict[Key, int] = OrderedDict()
        """Row of each remembered token in the table, the least recently used token first."""
        self._table: Float[Tensor, "R D"] | None = None

    @torch.no_grad()
    def distinct(self, sentences: Sequence[Sequence[str]]) -> tuple[Float[Tensor, "U D"], Int[Tensor, " N"]]:
        """Vectors (U,D) of the U distinct tokens, and the row (N,) of each token, over the concatenated sentences."""
        rows: dict[Key, int] = {}
        tokens: list[str] = []
        inverse: list[int] = []
        for sentence in sentences:
            for token, key in zip(sentence, self.spelling.keys(sentence), strict=True):
                row = rows.setdefault(key, len(rows))
                if row == len(tokens):
                    tokens.append(token)
                inverse.append(row)
        vectors = self._vectors_of(dict(zip(rows, tokens, strict=True)))
        return vectors, self._numbers(inverse)

    def forget(self) -> None:
        """Drop all cached representations."""
        with STATE_LOCK:
            self._rows.clear()

    def _vectors_of(self, spelling: dict[Key, str]) -> Float[Tensor, "U D"]:
        if not spelling:
            return self.char_encoder.embedding.weight.new_zeros(0, self.char_encoder.output_dim)
        pieces: list[Tensor] = []
        with STATE_LOCK:
            known = {key: self._rows[key] for key in spelling if key in self._rows}
            for key in known:
                self._rows.move_to_end(key)
            if known and self._table is not None:
                pieces.append(self._table.index_select(0, self._numbers(list(known.values()))))
        new = {key: token for key, token in spelling.items() if key not in known}
        if new:
            pieces.append(self._encode(list(new.values())))
            with STATE_LOCK:
                self._remember(list(new)[-self.max_tokens :], pieces[-1][-self.max_tokens :])
        if len(pieces) == 1:
            return pieces[0]
        place = {key: number for number, key in enumerate((*known, *new))}
        return torch.cat(pieces).index_select(0, self._numbers([place[key] for key in spelling]))

    def _remember(self, keys: list[Key], vectors: Float[Tensor, "M D"]) -> None:
        for key in keys:
            if key in self._rows:  # another thread has added it meanwhile
                self._rows.move_to_end(key)
            else:
                is_full = len(self._rows) >= self.max_tokens
                self._rows[key] = self._rows.popitem(last=False)[1] if is_full else len(self._rows)
        if self._table is None or len(self._table) < len(self._rows):
            with torch.inference_mode(False):  # such a table can be written to in any mode
                table = vectors.new_empty(2 * len(self._rows), vectors.shape[1])
                if self._table is not None:
                    table[: len(self._table)] = self._table
                self._table = table
        self._table.index_copy_(0, self._numbers([self._rows[key] for key in keys]), vectors)

    def _encode(self, tokens: Sequence[str]) -> Float[Tensor, "M D"]:
        device = self.char_encoder.embedding.weight.device
        chunk = CHUNK if device.type == "cpu" else CHUNK_OF_GPU
        rows = (self.spelling.rows(tokens[start : start + chunk]) for start in range(0, len(tokens), chunk))
        return torch.cat([self.char_encoder(torch.from_numpy(ids)) for ids in rows])

    def _numbers(self, values: Sequence[int]) -> Int[Tensor, " N"]:
        return sent_to(self.char_encoder.embedding.weight.device, torch.from_numpy(np.array(values, np.int64)))


@dataclass(frozen=True)
class _Steps:
    """The reading order of the tokens of parallel sentences: step by step, and within a step row by row."""

    order: Int[Tensor, " B"]
    """Index of the sentence in each row, the longest sentence first."""
    batch_sizes: list[int]
    """Number of rows in each step."""
    orders: Int[Tensor, "2 N"]
    """For each direction, indices into the concatenated sentences; for ended rows, the index after the last token."""


def _steps(lengths: Sequence[int], *, in_rounds: bool) -> _Steps:
    """The reading order of sentences of these lengths.

    in_rounds: pad the number of rows in each step to a round number (`round_up`) with rows that have ended.
    """
    ends = np.cumsum(lengths, dtype=np.int64)
    order = np.argsort(-np.array(lengths, np.int64), kind="stable")
    sizes = np.array(lengths, np.int64)[order]
    num_steps = int(sizes[0]) if len(sizes) else 0
    batch_sizes = len(sizes) - np.searchsorted(sizes[::-1], np.arange(num_steps), side="right")
    if in_rounds:
        distinct, which = np.unique(batch_sizes, return_inverse=True)
        batch_sizes = np.array([min(round_up(rows), len(sizes)) for rows in distinct.tolist()], np.int64)[which]
    step = np.repeat(np.arange(num_steps), batch_sizes)
    row = np.arange(len(step)) - np.repeat(np.cumsum(batch_sizes) - batch_sizes, batch_sizes)
    has_ended = step >= sizes[row]
    orders = np.stack([(ends - lengths)[order][row] + step, ends[order][row] - 1 - step])
    orders[:, has_ended] = sizes.sum()
    return _Steps(torch.from_numpy(order), batch_sizes.tolist(), torch.from_numpy(orders))


def _fill_vectors(config: BiLMConfig) -> bool:
    """Whether all widths fill whole SIMD vectors; the remainder of a row would be computed by different code."""
    word_dim = 0 if config.lookup is None else config.lookup.word_dim
    widths = (config.projection_dim, config.lstm_dim, config.num_filters, word_dim)
    return all(width % 32 == 0 for width in widths)


def _token_encoder(config: BiLMConfig, take: Take, make_kernel: MakeKernel) -> PackedCharEncoder | LookupEncoder:
    lookup = config.lookup
    projection = None
    if "char_encoder.projection.weight" in config.tensor_shapes():
        projection = make_kernel(take("char_encoder.projection.weight"), take("char_encoder.projection.bias"))
    of_characters = partial(_char_encoder, config, take, make_kernel)
    if lookup is None:
        return of_characters(prefix="char_encoder", projection=projection, padding_id=PADDING_ID)
    characters = None
    if lookup.num_symbols:
        characters = of_characters(prefix="char_encoder.characters", projection=None, padding_id=lookup.padding_id)
    return LookupEncoder(
        words=nn.Embedding.from_pretrained(take("char_encoder.words.weight")) if lookup.num_words else None,
        characters=characters,
        projection=projection,
        output_dim=config.projection_dim,
    )


def _char_encoder(
    config: BiLMConfig, take: Take, make_kernel: MakeKernel, *, prefix: str, projection: Kernel | None, padding_id: int
) -> PackedCharEncoder:
    def kernel(name: str) -> Kernel:
        return make_kernel(take(f"{name}.weight"), take(f"{name}.bias"))

    convolutions = [f"{prefix}.convolutions.{index}" for index in range(len(config.filters))]
    highways = [f"{prefix}.highways.{index}" for index in range(config.num_highway_layers)]
    return PackedCharEncoder(
        embedding=take(f"{prefix}.embedding.weight"),
        convolutions=[PackedConvolution(take(f"{name}.weight"), take(f"{name}.bias")) for name in convolutions],
        activation=ACTIVATIONS[config.activation],
        highways=[PackedHighway(kernel(f"{name}.transform"), kernel(f"{name}.gate")) for name in highways],
        projection=projection,
        output_dim=config.projection_dim if projection is not None else config.num_filters,
        padding_id=padding_id,
    )


def _lstm(config: BiLMConfig, take: Take, name: str, make_kernel: MakeKernel) -> PackedLSTM:
    layers: list[PackedLSTMLayer] = []
    dtype = weight_dtype(make_kernel)
    for index in range(config.num_layers):
        prefix = f"{name}.layers.{index}"

        def gates(name: str, bias: Tensor | None, *, prefix: str = prefix) -> Kernel:
            return make_kernel(_with_double_candidate(take(f"{prefix}.{name}", dtype, copy=True)), bias)

        bias = _with_double_candidate(take(f"{prefix}.bias", copy=True))
        bias[config.lstm_dim : 2 * config.lstm_dim] += FORGET_BIAS
        project = None
        if config.projection_dim != config.lstm_dim:
            project = make_kernel(take(f"{prefix}.projection_weight", dtype, copy=True).mul_(2), None)
        layer = PackedLSTMLayer(
            from_input=gates("input_weight", bias),
            from_output=gates("recurrent_weight", None),
            project=project,
            projection_dim=config.projection_dim,
            cell_clip=config.cell_clip,
            projection_clip=None if project is None else config.projection_clip,
        )
        layers.append(layer)
    return PackedLSTM(layers, config.use_skip_connections)


def _stacked_lstm(config: BiLMConfig, take: Take, directions: Sequence[str], dtype: torch.dtype) -> StackedLSTM:
    def stack(name: str, dtype: torch.dtype = dtype) -> Tensor:
        return torch.stack([take(f"{direction}.{name}", dtype) for direction in directions])

    layers: list[stacked.StackedLayer] = []
    for number in range(config.num_layers):
        name = f"layers.{number}"
        projection = None
        if config.projection_dim != config.lstm_dim:
            projection = stack(f"{name}.projection_weight")
        of_gates = (
            stack(f"{name}.input_weight"),
            stack(f"{name}.recurrent_weight"),
            stack(f"{name}.bias", torch.float32),
        )
        layers.append(stacked.StackedLayer((*of_gates, projection), config.cell_clip, config.projection_clip))
    return StackedLSTM(layers, config.use_skip_connections)


def _with_double_candidate(gates: Float[Tensor, "G *D"]) -> Float[Tensor, "G *D"]:
    """The same tensor with its last quarter doubled, which is exact in every type."""
    gates[len(gates) // 4 * 3 :].mul_(2)
    return gates


def _give_back_freed_memory() -> None:
    """Return freed memory to the system (glibc's `malloc_trim`, about a millisecond); nothing on other systems."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
