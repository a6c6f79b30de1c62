"""Pretrain a biLM of elmokit on one GPU as fast as it goes: a step is one CUDA graph, both directions in each product.

python train.py NAME SHARDS_FOLDER VOCABULARY OUTPUT --seconds 400 [--projection-dim 256 ...]

The computation is that of `elmokit pretrain` (`check.py` compares loss and gradients in float64): streams without
padding, the state reset at sentence starts, sampled softmax, Muon and AdamW. Different are the order of the text, the
number of streams, and that the rate and the softmax follow the clock: constant, then a linear fall to 0 over the last
`--fall` of the seconds. OUTPUT.pt gets float32 weights and the settings, OUTPUT.jsonl the log. If the loss jumps, the
weights of at least `SAVE_EVERY` chunks before come back, at 0.7 times the rate.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import os
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from kernels import Kernels
from torch import Tensor
from torch.nn import functional

from elmokit.layers.devices import seeded
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.pretraining.optimizers import MOMENTUM, polar_factors
from elmokit.pretraining.recipes import mini
from elmokit.pretraining.train import new_softmax
from elmokit.text.indexer import ByteSpelling
from elmokit.text.vocabulary import Vocabulary

BPTT = 20
SAVE_EVERY, JUMP = 32, 1.0
"""Chunks between copies of weights and optimiser, and how far a loss may rise above the lowest."""
BEGIN, END = 0, 1


@dataclass
class Text:
    """Sentences as numbers of types, which are sorted by the length of their spelling."""

    tokens: np.ndarray
    """All sentences with their boundaries, one after the other."""
    offsets: np.ndarray
    rows: np.ndarray
    """Character ids (types, 50)."""
    lengths: np.ndarray
    targets: np.ndarray
    """Of each type, its number in the vocabulary."""


def _encode(path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    number: dict[str, int] = {}
    ids: list[int] = []
    lengths: list[int] = []
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for words in filter(None, map(str.split, lines)):
            ids += [number.setdefault(word, len(number)) for word in words]
            lengths.append(len(words))
    return list(number), np.array(ids, np.int32), np.array(lengths, np.int64)


def _spell(types: list[str]) -> np.ndarray:
    return ByteSpelling(50).rows(types).astype(np.int16)


def read_text(folder: Path, vocabulary: Vocabulary) -> Text:
    """All shards, read by a process each."""
    paths = sorted(folder.glob("train-*.xz"))
    with ProcessPoolExecutor(max(len(paths), 8)) as pool:
        parts = list(pool.map(_encode, paths))
        types = list(dict.fromkeys(["<S>", "</S>", *(word for words, _, _ in parts for word in words)]))
        size = len(types) // 8 + 1
        rows = np.concatenate(list(pool.map(_spell, [types[at : at + size] for at in range(0, len(types), size)])))
    lengths = (rows != rows[0, -1]).sum(axis=1)
    order = np.argsort(lengths, kind="stable")  # the boundaries stay first: nothing is shorter
    order = np.concatenate([[0, 1], order[order > 1]])
    new = np.empty(len(order), np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    number = dict(zip(types, new.tolist(), strict=True))
    tokens: list[np.ndarray] = []
    sizes: list[np.ndarray] = []
    for words, ids, counts in parts:
        mine = np.array([number[word] for word in words], np.int32)[ids]
        starts = np.cumsum(counts) - counts
        flat = np.insert(mine, starts, BEGIN)
        ends = np.cumsum(counts + 1)
        tokens.append(np.insert(flat, ends, END))
        sizes.append(counts + 2)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Text(
        tokens=np.concatenate(tokens),
        offsets=offsets,
        rows=rows[order],
        lengths=lengths[order],
        targets=np.asarray(vocabulary.ids([types[at] for at in order]), np.int32),
    )


class Batches:
    """Endless chunks of steps, made on the GPU: each direction has its own order of the sentences in each epoch."""

    def __init__(self, text: Text, *, streams: int, chunk: int, device: torch.device, seed: int) -> None:
        self.streams, self.chunk, self.device = streams, chunk, device
        self.tokens = torch.from_numpy(text.tokens).to(device)
        self.offsets = torch.from_numpy(text.offsets).to(device)
        self.targets = torch.from_numpy(text.targets).to(device)
        self.num_types = len(text.rows)
        self.generator = torch.Generator(device).manual_seed(seed)
        self.epoch = 0.0
        self._chunks = self._read()

    def next(self) -> tuple[Tensor, Tensor, Tensor]:
        """Types read, targets and whether no sentence starts, each (K,2,T,B)."""
        return next(self._chunks)

    def _read(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        number = 0
        while True:
            both = [self._direction(backward) for backward in (False, True)]
            steps = both[0][0].shape[1] // BPTT
            for at in range(0, steps - self.chunk + 1, self.chunk):
                window = slice(at * BPTT, (at + self.chunk) * BPTT)
                pieces = [torch.stack([side[part][:, window] for side in both]) for part in range(3)]
                self.epoch = number + at / steps
                yield tuple(
                    piece.view(2, self.streams, self.chunk, BPTT).permute(2, 0, 3, 1).contiguous() for piece in pieces
                )  # pyright: ignore[reportReturnType]
            number += 1

    def _direction(self, backward: bool) -> tuple[Tensor, Tensor, Tensor]:
        order = torch.randperm(len(self.offsets) - 1, generator=self.generator, device=self.device)
        starts, counts = self.offsets[order], (self.offsets[1:] - self.offsets[:-1])[order] - 1
        ends = counts.cumsum(0)
        inside = torch.arange(int(ends[-1]), device=self.device) - (ends - counts).repeat_interleave(counts)
        first, sign = (starts + counts, -1) if backward else (starts, 1)
        at = first.repeat_interleave(counts) + sign * inside
        read, predicted = self.tokens[at], self.targets[self.tokens[at + sign].long()]
        length = len(read) // self.streams // BPTT * BPTT
        return tuple(part[: self.streams * length].view(self.streams, length) for part in (read, predicted, inside > 0))  # pyright: ignore[reportReturnType]

    def distinct(self, types: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct types of each step in a flat tensor, where each step's begin (K+1), and (K,2,T,B) into them."""
        keys = types.long() + self.num_types * torch.arange(len(types), device=self.device)[:, None, None, None]
        values, index = torch.unique(keys, return_inverse=True)
        bounds = torch.searchsorted(values, self.num_types * torch.arange(len(types) + 1, device=self.device))
        return values % self.num_types, bounds, index - bounds[:-1, None, None, None]


class Model:
    """The parameters of a biLM and its softmax, both directions stacked, and loss and gradients of a step."""

    def __init__(self, config: BiLMConfig, num_tokens: int, *, device: torch.device, dtype: torch.dtype) -> None:
        self.config, self.device, self.dtype = config, device, dtype
        recipe = replace(mini(), bilm=config)
        with seeded(0):
            self.bilm, softmax = BiLM(config), new_softmax(num_tokens, recipe)
        state = self.bilm.state_dict()
        lstm = {
            name: torch.stack([state[f"forward_lstm.{name}"], state[f"backward_lstm.{name}"]])
            for name in (key.removeprefix("forward_lstm.") for key in state if key.startswith("forward_lstm."))
        }
        encoder = {name: value for name, value in state.items() if name.startswith("char_encoder.")}
        named = encoder | lstm | {"weight": softmax.weight.detach(), "bias": softmax.bias.detach()}
        self.named = {name: value.to(device, dtype).contiguous().requires_grad_() for name, value in named.items()}
        self.kernels = Kernels(device.type == "cuda" and not os.environ.get("NO_TRITON"))

    def encode(self, rows: Tensor, groups: list[tuple[int, int]]) -> Tensor:
        """Token representations of (N,50) characters; of each group of rows only so many characters are read."""
        named, pieces, start = self.named, [], 0
        for count, length in groups:
            part = rows[start : start + count, :length]
            start += count
            embedded = named["char_encoder.embedding.weight"].index_select(0, part.reshape(-1)).view(*part.shape, -1)
            pooled = []
            for at, (width, filters) in enumerate(self.config.filters):
                places = length - width + 1
                inputs = torch.cat([embedded[:, tap : tap + places] for tap in range(width)], dim=2)
                weight = named[f"char_encoder.convolutions.{at}.weight"].transpose(1, 2).reshape(filters, -1)
                largest = (inputs.view(-1, inputs.shape[2]) @ weight.t()).view(count, places, filters).amax(dim=1)
                pooled.append(largest + named[f"char_encoder.convolutions.{at}.bias"])
            pieces.append(torch.cat(pooled, dim=1).relu())
        hidden = torch.cat(pieces)
        for at in range(self.config.num_highway_layers):
            gate, new = (self._linear(f"highways.{at}.{part}", hidden) for part in ("gate", "transform"))
            hidden = hidden + torch.sigmoid(gate) * (torch.relu(new) - hidden)
        return self._linear("projection", hidden)

    def _linear(self, name: str, inputs: Tensor) -> Tensor:
        weight, bias = (self.named[f"char_encoder.{name}.{part}"] for part in ("weight", "bias"))
        return functional.linear(inputs, weight, bias)

    def loss(
        self,
        rows: Tensor,
        groups: list[tuple[int, int]],
        index: Tensor,
        targets: Tensor,
        kept: Tensor,
        state: list[tuple[Tensor, Tensor]],
        *,
        negatives: int,
        dropout: float,
        drawn: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor, list[tuple[Tensor, Tensor]]]:
        """Loss x BPTT to differentiate, mean loss of each direction, and the state after the step."""
        named, config = self.named, self.config
        shape = index.shape
        inputs = self.encode(rows, groups).index_select(0, index.reshape(-1)).view(*shape, -1)
        mask = kept.to(self.dtype)
        last = []
        for layer in range(config.num_layers):
            inputs = functional.dropout(inputs, dropout)
            names = ("input_weight", "recurrent_weight", "bias", "projection_weight")
            weights = [named[f"layers.{layer}.{name}"] for name in names]
            bias = weights[2] + self._forget_bias()
            gates = torch.baddbmm(bias[:, None], inputs.reshape(2, shape[1] * shape[2], -1), weights[0].transpose(1, 2))
            output, cell, final = Recurrence.apply(
                self.kernels, gates.view(2, shape[1], shape[2], -1), mask, *state[layer], weights[1], weights[3],
                config.cell_clip,
            )  # fmt: skip
            last.append((cell, final))
            inputs = output + inputs if layer > 0 else output
        hidden = functional.dropout(inputs, dropout).reshape(-1, inputs.shape[3])
        softmax = named["weight"], named["bias"]
        losses = SoftmaxLoss.apply(self.kernels, hidden, *softmax, targets.reshape(-1), negatives, drawn)
        return losses.mean() * BPTT, losses.detach().view(2, -1).mean(dim=1), last

    def _forget_bias(self) -> Tensor:
        quarter = torch.arange(4 * self.config.lstm_dim, device=self.device) // self.config.lstm_dim
        return (quarter == 1).to(self.dtype)

    def state(self, streams: int) -> list[tuple[Tensor, Tensor]]:
        make = lambda dim: torch.zeros(2, streams, dim, device=self.device, dtype=self.dtype)  # noqa: E731
        return [(make(self.config.lstm_dim), make(self.config.projection_dim)) for _ in range(self.config.num_layers)]

    def state_dict(self) -> dict[str, Tensor]:
        """As elmokit names them; the softmax's begin with `softmax.`."""
        found: dict[str, Tensor] = {}
        for name, value in self.named.items():
            value = value.detach().float().cpu()
            if name.startswith("layers."):
                found |= {f"{side}_lstm.{name}": value[at].clone() for at, side in enumerate(("forward", "backward"))}
            else:
                found[name if name.startswith("char_encoder.") else f"softmax.{name}"] = value.clone()
        found["char_encoder.embedding.weight"][0] = 0.0
        return found


class Recurrence(torch.autograd.Function):
    """Steps of one layer of both directions, from the products with the inputs (2,T,B,4H); see `_Recurrence`."""

    @staticmethod
    def forward(
        ctx: Any,
        kernels: Kernels,
        gates: Tensor,
        mask: Tensor,
        cell: Tensor,
        output: Tensor,
        recurrent: Tensor,
        projection: Tensor,
        clip: float,
    ) -> Any:
        gates = gates.clone()
        _, steps, streams, _ = gates.shape
        cells = gates.new_empty(2, steps, streams, cell.shape[2])
        hidden, outputs = torch.empty_like(cells), gates.new_empty(2, steps, streams, output.shape[2])
        previous = torch.empty_like(outputs)
        to_gates, to_output = recurrent.transpose(1, 2), projection.transpose(1, 2)
        torch.mul(output, mask[:, 0, :, None], out=previous[:, 0])
        for step in range(steps):
            gates[:, step].baddbmm_(previous[:, step], to_gates)
            before = cell if step == 0 else cells[:, step - 1]
            kernels.cell_forward(gates[:, step], before, mask[:, step], cells[:, step], hidden[:, step], clip)
            outputs[:, step] = torch.bmm(hidden[:, step], to_output).clamp_(-clip, clip)
            if step + 1 < steps:
                torch.mul(outputs[:, step], mask[:, step + 1, :, None], out=previous[:, step + 1])
        ctx.kernels, ctx.clip = kernels, clip
        ctx.save_for_backward(gates, mask, cell, recurrent, projection, cells, hidden, outputs, previous)
        return outputs, cells[:, -1].clone(), outputs[:, -1].clone()

    @staticmethod
    def backward(ctx: Any, grad_outputs: Tensor, *_: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        gates, mask, cell, recurrent, projection, cells, hidden, outputs, previous = ctx.saved_tensors
        _, steps, streams, dim = outputs.shape
        to_gates, to_outputs = torch.empty_like(gates), grad_outputs * (outputs.abs() < ctx.clip)
        inside = outputs.abs() < ctx.clip
        to_cell = torch.zeros_like(cell)
        for step in reversed(range(steps)):
            if step + 1 < steps:
                back = torch.bmm(to_gates[:, step + 1], recurrent)
                to_outputs[:, step].add_(back.mul_(mask[:, step + 1, :, None]).mul_(inside[:, step]))
            to_hidden = torch.bmm(to_outputs[:, step], projection)
            before = cell if step == 0 else cells[:, step - 1]
            ctx.kernels.cell_backward(
                to_hidden, gates[:, step], cells[:, step], before, mask[:, step], to_cell, to_gates[:, step], ctx.clip
            )
        flat = to_gates.view(2, steps * streams, -1)
        to_recurrent = torch.bmm(flat.transpose(1, 2), previous.view(2, steps * streams, dim))
        to_outputs = to_outputs.view(2, steps * streams, dim)
        to_projection = torch.bmm(to_outputs.transpose(1, 2), hidden.view(2, steps * streams, -1))
        return None, to_gates, None, None, None, to_recurrent, to_projection, None


class SoftmaxLoss(torch.autograd.Function):
    """Losses (N,) of the full softmax (no negatives), or of one over `negatives` distinct draws; as elmokit's."""

    @staticmethod
    def forward(
        ctx: Any,
        kernels: Kernels,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        negatives: int,
        drawn: Any,
    ) -> Tensor:
        targets = targets.long()
        num = len(bias)
        own = weight.index_select(0, targets)
        true = (hidden * own).sum(dim=1) + bias.index_select(0, targets)
        low = hidden.dtype
        if negatives:
            ids, count = draw(negatives, num, hidden.device) if drawn is None else drawn
            columns = torch.full((num,), -1, dtype=torch.long, device=hidden.device)
            columns.scatter_(0, ids, torch.arange(len(ids), device=hidden.device))
            hits, others = columns.index_select(0, targets), weight.index_select(0, ids)
            true = true - log_expected(targets, count, num).to(low)
            offsets = bias.index_select(0, ids) - log_expected(ids, count, num).to(low)
        else:
            low = torch.bfloat16 if hidden.is_cuda else low
            extra = -num % 64  # products of other sizes are slow
            ids, hits, others = None, targets, functional.pad(weight.to(low), (0, 0, 0, extra))
            offsets = functional.pad(bias, (0, extra), value=-math.inf)
        logits = hidden.to(low) @ others.to(low).t()
        losses, true_share = kernels.shares(logits, offsets, true, hits, 1.0 / len(hidden))
        to_hidden = (logits @ others.to(low)).to(hidden.dtype) + true_share[:, None] * own
        to_others = (logits.t() @ hidden.to(low)).to(hidden.dtype)
        to_offsets = (logits.new_ones(1, len(logits)) @ logits).squeeze(0).to(hidden.dtype)
        to_own = true_share[:, None] * hidden
        if ids is None:
            to_weight, to_bias = to_others[:num], to_offsets[:num]
        else:
            to_weight, to_bias = torch.zeros_like(weight), torch.zeros_like(bias)
            to_weight.index_add_(0, ids, to_others)
            to_bias.index_add_(0, ids, to_offsets)
        to_weight.index_add_(0, targets, to_own)
        to_bias.index_add_(0, targets, true_share)
        ctx.save_for_backward(to_hidden, to_weight, to_bias)
        return losses

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        scale = gradient[0] * len(gradient)  # of a mean: the same for every loss
        return (None, *(value * scale for value in ctx.saved_tensors), None, None, None)


def draw(negatives: int, num_tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Distinct log-uniform draws, and how many draws they took: the ids that come first if each has its own clock."""
    ranks = torch.arange(num_tokens, device=device, dtype=torch.float64)
    chance = torch.log1p(1 / (ranks + 1)) / math.log(num_tokens + 1)
    uniform = torch.rand(num_tokens, device=device, dtype=torch.float64).clamp_min(1e-300)
    times, ids = torch.sort(-uniform.log() / chance)
    return ids[:negatives], times[negatives - 1]


def log_expected(ids: Tensor, count: Tensor, num_tokens: int) -> Tensor:
    """Log of the probability of at least one occurrence in `count` draws."""
    chance = torch.log1p(1 / (ids.double() + 1)) / math.log(num_tokens + 1)
    return torch.log(-torch.expm1(count * torch.log1p(-chance))).float()


class Optimizer:
    """Muon for matrices, AdamW for the rest, at a rate on the device."""

    def __init__(self, named: dict[str, Tensor], *, betas: tuple[float, float], decay: float) -> None:
        device = next(iter(named.values())).device
        self.rate = torch.zeros((), device=device)
        is_matrix = lambda name: name.endswith("_weight") or ("char_encoder." in name and "embedding" not in name)  # noqa: E731
        self.matrices = [value for name, value in named.items() if is_matrix(name) and name.endswith("weight")]
        own = set(map(id, self.matrices))
        self.others = [value for value in named.values() if id(value) not in own]
        self.decay = decay
        self.adam = torch.optim.AdamW(
            self.others, lr=self.rate, betas=betas, weight_decay=0.0, fused=True, capturable=device.type == "cuda"
        )
        self.momentum = [torch.zeros_like(value) for value in self.matrices]

    def tensors(self) -> list[Tensor]:
        """What it remembers, once it has made a step."""
        return [*self.momentum, *(value for slots in self.adam.state.values() for value in slots.values())]

    def step(self) -> None:
        self.adam.step()
        targets: list[Tensor] = []
        directions: list[Tensor] = []
        for weight, momentum in zip(self.matrices, self.momentum, strict=True):
            gradient = weight.grad
            assert gradient is not None
            momentum.lerp_(gradient, 1 - MOMENTUM)
            direction = gradient.lerp(momentum, MOMENTUM)
            stacked = weight.ndim == 3 and len(weight) == 2  # both directions of a layer
            for target, one in zip(weight, direction, strict=True) if stacked else [(weight, direction)]:
                targets.append(target.view(len(target), -1))
                directions.append(one.flatten(start_dim=1))
        for target, one, (small, is_left) in zip(targets, directions, polar_factors(directions), strict=True):
            factors = (small, one) if is_left else (one, small)
            if self.decay:
                target.mul_(1 - self.rate * self.decay)
            target.sub_((factors[0] @ factors[1]) * (self.rate * (0.2 * max(target.shape) ** 0.5)))


def groups_of(rows: int, lengths: Tensor, types: Tensor, bounds: Tensor, widest: int) -> list[tuple[int, int]]:
    """How many of the rows of a step, shortest first, are read to which length: from the steps of a chunk."""
    limits = [12, 16, 24]
    found: list[int] = []
    ends = bounds.tolist()
    for limit in limits:
        short = (lengths[types] + widest <= limit).long()
        fits = []
        for at in range(len(ends) - 1):
            inside = ends[at + 1] - ends[at]
            fits.append(rows - inside + int(short[ends[at] : ends[at + 1]].sum()))  # what fills up the row is short
        found.append(max(min(fits) - 48, 0) // 16 * 16)
    edges = [0, *found, rows]
    sizes = [50 if limit is None else limit for limit in (*limits, None)]
    return [(edges[at + 1] - edges[at], size) for at, size in enumerate(sizes) if edges[at + 1] > edges[at]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("shards", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--until", type=float, default=0.0, help="clock at which training ends, in place of --seconds")
    parser.add_argument("--wait-for", type=Path, help="start training when this file exists")
    parser.add_argument("--streams", type=int, default=256)
    parser.add_argument("--projection-dim", type=int, default=256)
    parser.add_argument("--lstm-dim", type=int, default=1024)
    parser.add_argument("--negatives", type=int, default=8192)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=6e-3)
    parser.add_argument("--beta2", type=float, default=0.99)
    parser.add_argument("--decay", type=float, default=0.0, help="of Muon's matrices, per step and rate")
    parser.add_argument("--fall", type=float, default=0.4)
    parser.add_argument(
        "--full", type=float, default=0.0, help="share of the seconds with the full softmax, at the end"
    )
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-graph", action="store_true")
    arguments = parser.parse_args()
    train(arguments)


def train(arguments: argparse.Namespace) -> None:
    began = time.monotonic()
    say = lambda *words: print(f"[{arguments.name} {time.monotonic() - began:6.1f}]", *words, flush=True)  # noqa: E731
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(arguments.seed)
    vocabulary = Vocabulary.read(arguments.vocabulary)
    kept = arguments.output.with_suffix(".text")
    if kept.exists():
        text: Text = pickle.loads(kept.read_bytes())
    else:
        text = read_text(arguments.shards, vocabulary)
        kept.write_bytes(pickle.dumps(text, protocol=5))
    say(f"{len(text.tokens):,} tokens with boundaries, {len(text.offsets) - 1:,} sentences, {len(text.rows):,} types")
    config = replace(mini().bilm, projection_dim=arguments.projection_dim, lstm_dim=arguments.lstm_dim)
    model = Model(config, len(vocabulary), device=device, dtype=torch.float32)
    optimizer = Optimizer(model.named, betas=(0.9, arguments.beta2), decay=arguments.decay)
    batches = Batches(text, streams=arguments.streams, chunk=arguments.chunk, device=device, seed=arguments.seed)
    lengths = torch.from_numpy(text.lengths).to(device)
    all_rows = torch.from_numpy(text.rows).to(device, torch.long)

    first = batches.next()
    types, bounds, _ = batches.distinct(first[0])
    most = int((bounds[1:] - bounds[:-1]).max())
    rows = -(-(most + most // 20) // 64) * 64
    groups = groups_of(rows, lengths, types, bounds, 5)
    say(f"{rows} distinct types a step, {groups}")
    chunk = arguments.chunk
    shape = (chunk, 2, BPTT, arguments.streams)
    at = torch.zeros(1, dtype=torch.long, device=device)
    held = {
        "types": torch.zeros(chunk, rows, dtype=torch.long, device=device),
        "index": torch.zeros(shape, dtype=torch.long, device=device),
        "targets": torch.zeros(shape, dtype=torch.long, device=device),
        "kept": torch.zeros(shape, dtype=torch.bool, device=device),
    }
    losses = torch.zeros(chunk, 2, device=device)
    state = model.state(arguments.streams)
    overflow = torch.zeros((), dtype=torch.long, device=device)
    parameters = list(model.named.values())

    def load(piece: tuple[Tensor, Tensor, Tensor]) -> None:
        types, bounds, index = batches.distinct(piece[0])
        counts = bounds[1:] - bounds[:-1]
        fill = (rows - counts).clamp_min(0)  # the distinct types stand at the end of a row, longest last
        columns = torch.arange(rows, device=device)[None] - fill[:, None]
        source = (bounds[:-1, None] + columns).clamp(0, len(types) - 1)
        held["types"].copy_(torch.where(columns >= 0, types[source], 0))
        held["index"].copy_((index + fill[:, None, None, None]).clamp_max(rows - 1))
        overflow.add_((counts > rows).sum())
        held["targets"].copy_(piece[1])
        held["kept"].copy_(piece[2])
        at.zero_()

    def step(negatives: int) -> None:
        now = {name: value.index_select(0, at).squeeze(0) for name, value in held.items()}
        loss, means, last = model.loss(
            all_rows.index_select(0, now["types"]), groups, now["index"], now["targets"], now["kept"], state,
            negatives=negatives, dropout=arguments.dropout,
        )  # fmt: skip
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient.contiguous()
        with torch.no_grad():
            for old, new in zip(state, last, strict=True):
                old[0].copy_(new[0])
                old[1].copy_(new[1])
            losses.index_copy_(0, at, means[None])
            at.add_(1)
            norm = torch.stack([p.grad.square().sum() for p in parameters if p.grad is not None]).sum().sqrt()
            scale = (10.0 / (norm + 1e-6)).clamp_max(1.0)
            for parameter in parameters:
                assert parameter.grad is not None
                parameter.grad.mul_(scale)
            torch.backends.cuda.matmul.allow_tf32 = False
            optimizer.step()
            torch.backends.cuda.matmul.allow_tf32 = True

    def captured(negatives: int) -> Any:
        if arguments.no_graph or device.type == "cpu":
            return lambda: step(negatives)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step(negatives)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        for parameter in parameters:
            parameter.grad = None
        at.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(negatives)
        at.zero_()
        return graph.replay

    load(first)
    optimizer.rate.fill_(1e-5)
    runs = {arguments.negatives: captured(arguments.negatives)}
    if arguments.full:
        runs[0] = captured(0)
    for negatives, replay in runs.items():
        at.zero_()
        _synchronise(device)
        start = time.monotonic()
        for _ in range(min(8, chunk)):
            replay()
        _synchronise(device)
        say(f"{(time.monotonic() - start) / min(8, chunk) * 1000:.2f} ms a step with {negatives or 'all'} negatives")
    if arguments.wait_for:
        while not arguments.wait_for.exists():
            time.sleep(0.2)
    seconds = arguments.seconds if not arguments.until else arguments.until - time.time()
    say(f"training for {seconds:.0f} s")
    start, steps, last_said = time.monotonic(), 0, 0.0
    everything = [*parameters, *optimizer.tensors(), *(part for layer in state for part in layer)]
    copies = [[value.detach().clone() for value in everything]] * 2
    lowest, factor = math.inf, 1.0
    log = arguments.output.with_suffix(".jsonl").open("w", encoding="utf-8")
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(arguments).items()}
    gpu = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    log.write(json.dumps({"settings": settings, "seconds": seconds, "device": gpu, "torch": torch.__version__}) + "\n")
    piece = first
    while (passed := time.monotonic() - start) < seconds:
        share = passed / seconds
        rate = factor * arguments.rate * min(1.0, (steps + chunk / 2) / 200, (1 - share) / arguments.fall)
        optimizer.rate.fill_(rate)
        load(piece)
        replay = runs[0 if arguments.full and share >= 1 - arguments.full else arguments.negatives]
        for _ in range(chunk):
            replay()
        piece = batches.next()  # made while the GPU works
        means = losses.mean(dim=0).tolist()
        steps += chunk
        passed = time.monotonic() - start
        record = {
            "step": steps, "tokens": steps * BPTT * arguments.streams, "epoch": round(batches.epoch, 3), "rate": rate,
            "loss": means, "seconds": round(passed, 2), "too_many_types": int(overflow),
        }  # fmt: skip
        log.write(json.dumps(record) + "\n")
        log.flush()
        if passed - last_said > 10:
            last_said = passed
            done = record["tokens"]
            say(f"step {steps}, {done / passed:,.0f} tokens/s, {done / 1e6:.1f} M tokens, loss {means}")
        if not max(means) < lowest + JUMP:
            factor *= 0.7
            say(f"step {steps}: loss {means}; back to earlier weights, at {factor:.2f} times the rate")
            with torch.no_grad():
                for value, copy in zip(everything, copies[0], strict=True):
                    value.copy_(copy)
            copies = [copies[0]] * 2
        elif steps // chunk % SAVE_EVERY == 0:
            copies = [copies[1], [value.detach().clone() for value in everything]]
        lowest = min(lowest, *means)
    _synchronise(device)
    say(f"{steps} steps, {record['tokens'] / 1e6:.1f} M tokens in {time.monotonic() - start:.1f} s, loss {means}")
    stored = {"state": model.state_dict(), "bilm": asdict(config), "settings": settings, "log": record}
    torch.save(stored, arguments.output)
    say("saved")


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
