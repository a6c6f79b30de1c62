"""The plain biLM that speed is compared with, in as few lines as possible; it reads the released options.json + HDF5.

It loops over the time steps of padded batches in corpus order, one direction after the other, and encodes the
characters of every token. It keeps no state. docs/model.md has the conventions; `tests/parity` proves them right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional


class PlainBiLM:
    """Call it with sentences (lists of tokens); it returns all layers (L,T,2D) of each sentence."""

    def __init__(self, folder: Path, *, weights: str = "lm_weights.hdf5", dtype: torch.dtype = torch.float32) -> None:
        options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
        self.dtype = dtype
        self.lstm_options, characters = options["lstm"], options["char_cnn"]
        self.activation = torch.relu if characters["activation"] == "relu" else torch.tanh
        with h5py.File(folder / weights) as file:

            def read(name: str) -> Tensor:
                return torch.from_numpy(file[name][...]).to(dtype)

            rows = read("char_embed")
            self.embedding = torch.cat([rows.new_zeros(1, rows.shape[1]), rows])
            self.convolutions = [
                (read(f"CNN/W_cnn_{index}")[0].permute(2, 1, 0).contiguous(), read(f"CNN/b_cnn_{index}"))
                for index in range(len(characters["filters"]))
            ]
            self.highways = [
                [read(f"CNN_high_{index}/{name}") for name in ("W_carry", "b_carry", "W_transform", "b_transform")]
                for index in range(characters["n_highway"])
            ]
            self.projection = read("CNN_proj/W_proj"), read("CNN_proj/b_proj")
            self.directions = [
                [
                    [
                        read(f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/{name}")
                        for name in ("W_0", "B", "W_P_0")
                    ]
                    for layer in range(self.lstm_options["n_layers"])
                ]
                for direction in (0, 1)
            ]

    @torch.no_grad()
    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        lengths = [len(sentence) + 2 for sentence in sentences]
        ids = torch.zeros(len(sentences), max(lengths), 50, dtype=torch.long)
        for row, sentence in enumerate(sentences):
            ids[row, : lengths[row]] = torch.tensor([character_ids(token) for token in ["<S>", *sentence, "</S>"]])
        tokens = self.encode(ids.flatten(0, 1)).view(*ids.shape[:2], -1)
        forward, backward = (self.read(tokens, lengths, direction) for direction in (0, 1))
        layers = [(tokens, tokens), *zip(forward, backward, strict=True)]
        joined = torch.stack([torch.cat(pair, dim=2) for pair in layers])
        return [joined[:, row, 1 : length - 1].numpy() for row, length in enumerate(lengths)]

    def encode(self, ids: Tensor) -> Tensor:
        embedded = self.embedding[ids].transpose(1, 2)
        pooled = [functional.conv1d(embedded, weight, bias).amax(dim=2) for weight, bias in self.convolutions]
        hidden = self.activation(torch.cat(pooled, dim=1))
        for carry, carry_bias, transform, transform_bias in self.highways:
            gate = torch.sigmoid(hidden @ carry + carry_bias)
            hidden = gate * torch.relu(hidden @ transform + transform_bias) + (1 - gate) * hidden
        weight, bias = self.projection
        return hidden @ weight + bias

    def read(self, inputs: Tensor, lengths: list[int], direction: int) -> list[Tensor]:
        """The outputs of each layer of one direction."""
        layers: list[Tensor] = []
        for index, (weight, bias, projection) in enumerate(self.directions[direction]):
            cell = torch.zeros(len(inputs), len(projection), dtype=self.dtype)
            output = torch.zeros(len(inputs), projection.shape[1], dtype=self.dtype)
            outputs = torch.zeros(*inputs.shape[:2], projection.shape[1], dtype=self.dtype)
            for step in range(inputs.shape[1]):
                rows = torch.tensor([row for row, length in enumerate(lengths) if step < length])
                at = torch.tensor([step if direction == 0 else lengths[row] - 1 - step for row in rows.tolist()])
                gates = torch.cat([inputs[rows, at], output[rows]], dim=1) @ weight + bias
                into, candidate, forget, out = gates.chunk(4, dim=1)
                kept = torch.sigmoid(forget + 1) * cell[rows] + torch.sigmoid(into) * torch.tanh(candidate)
                kept = clipped(kept, self.lstm_options["cell_clip"])
                said = clipped((torch.sigmoid(out) * torch.tanh(kept)) @ projection, self.lstm_options["proj_clip"])
                cell[rows], output[rows] = kept, said
                skips = index > 0 and self.lstm_options["use_skip_connections"]
                outputs[rows, at] = said + inputs[rows, at] if skips else said
            layers.append(outputs)
            inputs = outputs
        return layers


def character_ids(token: str) -> list[int]:
    spelling = {"<S>": [256], "</S>": [257]}.get(token, list(token.encode("utf-8", "ignore")[:48]))
    return [1 + code for code in [258, *spelling, 259, *[260] * (48 - len(spelling))]]


def clipped(values: Tensor, limit: float) -> Tensor:
    return values.clamp(-limit, limit) if limit else values
