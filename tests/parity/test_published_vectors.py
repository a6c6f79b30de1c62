"""Both published fixtures through the public API, and against the reference written out once more in float64 NumPy."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from elmokit import Elmo
from toy_stored import datasets_of

TOLERANCE = 1e-5
SENTENCES = {"bilm_tf": "lm_embeddings_sentences.json", "allennlp": "sentences.json"}

Array = np.ndarray[Any, np.dtype[np.float64]]
States = dict[tuple[int, int], tuple[Array, Array]]


def largest_difference(ours: list[list[Any]], theirs: list[list[Any]]) -> float:
    assert [len(stream) for stream in ours] == [len(stream) for stream in theirs]
    pairs = zip(chain(*ours), chain(*theirs), strict=True)
    differences = [np.abs(mine - other).max() for mine, other in pairs]
    print(f"largest difference: {max(differences):.1e}")
    return float(max(differences))


@pytest.mark.parametrize("name", SENTENCES)
def test_every_published_vector_comes_out_when_the_state_is_carried_and_all_layers_of_the_reference(name: str):
    fixture = Path(__file__).parents[1] / "fixtures" / name
    elmo = Elmo.from_pretrained(fixture / "options.json", fixture / "lm_weights.hdf5", device="cpu")
    streams = [[line.split() for line in stream] for stream in json.loads((fixture / SENTENCES[name]).read_text())]
    published: list[list[Array]] = []  # of the top layer, both directions joined
    for number in range(3):
        with h5py.File(fixture / f"lm_embeddings_{number}.hdf5") as file:
            published.append([np.concatenate(file[str(line)][...], axis=1) for line in range(len(file))])
    assert [len(stream) for stream in published] == [10, 10, 10]
    assert largest_difference(elmo.encode_streams(streams, layers="top"), published) <= TOLERANCE
    expected = [Reference(fixture).stream(stream) for stream in streams]
    assert largest_difference([[layers[-1] for layers in stream] for stream in expected], published) <= TOLERANCE
    assert expected[0][0].shape == (3, len(streams[0][0]), 32)
    assert largest_difference(elmo.encode_streams(streams, layers="all"), expected) <= TOLERANCE


class Reference:
    """docs/model.md, sections 1 to 5, step by step; one stream at a time."""

    def __init__(self, fixture: Path) -> None:
        self.options = json.loads((fixture / "options.json").read_text())
        self.tokens: dict[str, Array] = {}
        datasets = datasets_of(fixture / "lm_weights.hdf5")
        self.weights = {name: array.astype(np.float64) for name, array in datasets.items()}

    def stream(self, sentences: list[list[str]]) -> list[Array]:
        """All layers (3,T,2P) of sentences that are read one after the other; the states go on."""
        states: States = {}
        results: list[Array] = []
        for sentence in sentences:
            bounded = ["<S>", *sentence, "</S>"]
            self.tokens |= {token: self.token(token) for token in bounded if token not in self.tokens}
            tokens = np.stack([self.tokens[token] for token in bounded])
            forward = self.direction(0, tokens, states)
            backward = [layer[::-1] for layer in self.direction(1, tokens[::-1], states)]
            layers = [np.concatenate(pair, axis=1) for pair in zip(forward, backward, strict=True)]
            results.append(np.stack([np.concatenate([tokens, tokens], axis=1), *layers])[:, 1:-1])
        return results

    def token(self, token: str) -> Array:
        embedded = self.weights["char_embed"][characters(token)]  # before the shift, so without the padding row
        pooled: list[Array] = []
        for index, (width, _) in enumerate(self.options["char_cnn"]["filters"]):
            kernel = self.weights[f"CNN/W_cnn_{index}"][0]
            windows = np.stack([embedded[start : start + width] for start in range(50 - width + 1)])
            convolved = np.einsum("pwd,wdn->pn", windows, kernel) + self.weights[f"CNN/b_cnn_{index}"]
            pooled.append(np.maximum(convolved.max(axis=0), 0.0))
        x = np.concatenate(pooled)
        for index in range(self.options["char_cnn"]["n_highway"]):
            w = {name: self.weights[f"CNN_high_{index}/{name}"] for name in ("W_carry", "b_carry")}
            w |= {name: self.weights[f"CNN_high_{index}/{name}"] for name in ("W_transform", "b_transform")}
            gate = sigmoid(x @ w["W_carry"] + w["b_carry"])
            x = gate * np.maximum(x @ w["W_transform"] + w["b_transform"], 0.0) + (1.0 - gate) * x
        return x @ self.weights["CNN_proj/W_proj"] + self.weights["CNN_proj/b_proj"]

    def direction(self, direction: int, inputs: Array, states: States) -> list[Array]:
        options = self.options["lstm"]
        layers: list[Array] = []
        for index in range(options["n_layers"]):
            cell_name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{index}/LSTMCell"
            kernel, bias, projection = (self.weights[f"{cell_name}/{name}"] for name in ("W_0", "B", "W_P_0"))
            zeros = (np.zeros(options["dim"]), np.zeros(options["projection_dim"]))
            c, h = states.get((direction, index), zeros)
            outputs: list[Array] = []
            for x in inputs:
                i, j, f, o = np.split(np.concatenate([x, h]) @ kernel + bias, 4)
                c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j)
                c = np.clip(c, -options["cell_clip"], options["cell_clip"])
                h = np.clip((sigmoid(o) * np.tanh(c)) @ projection, -options["proj_clip"], options["proj_clip"])
                outputs.append(h)
            states[direction, index] = c, h
            residual = inputs if index > 0 and options["use_skip_connections"] else 0.0
            inputs = np.stack(outputs) + residual
            layers.append(inputs)
        return layers


def characters(token: str) -> list[int]:
    spelling = {"<S>": [256], "</S>": [257]}.get(token, list(token.encode("utf-8", "ignore")[:48]))
    return [258, *spelling, 259, *[260] * (48 - len(spelling))]


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))
