"""Models of each format give the vectors of the programs that wrote them.

A second implementation in NumPy and double precision gives the published vectors too.
"""

import json
import math
import shutil
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from elmokit import Elmo, inspect
from elmokit.scoring import perplexity as scoring_perplexity
from elmokit.text.characters import padded
from toy_stored import datasets_of, read_stored

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
TOLERANCE = 1e-5
SENTENCES: list[list[str]] = json.loads((FIXTURES / "sentences.json").read_text())

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.filterwarnings("ignore:.* tokens are longer than")


def expected(name: str, key: str, *, number: int = len(SENTENCES)) -> list[Array]:
    with np.load(FIXTURES / name) as arrays:
        return [arrays[f"{key}/{index}"] for index in range(number)]


def layers_of(name: str) -> list[Array]:
    return Elmo.from_pretrained(FIXTURES / name, device="cpu").encode(SENTENCES, layers="all")


def largest_difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    assert [array.shape for array in ours] == [array.shape for array in theirs]
    largest = max(float(np.abs(mine - other).max()) for mine, other in zip(ours, theirs, strict=True))
    print(f"largest difference: {largest:.1e}")
    return largest


ALLENNLP = {name: name for name in ("frozen", "finetuned_projected", "fixed_mix")}
ALLENNLP |= {"frozen_old_pickle": "frozen", "layout_0.9": "frozen"}


@pytest.mark.parametrize("archive", ALLENNLP)
def test_an_archive_of_allennlp_gives_the_layers_of_its_own_bilm_and_the_vectors_of_its_token_embedder(archive: str):
    path = f"allennlp/{archive}.model.tar.gz"
    layers, theirs = layers_of(path), f"allennlp/{ALLENNLP[archive]}.expected.npz"
    assert largest_difference(layers, expected(theirs, "layers")) <= TOLERANCE
    if archive in ("frozen", "fixed_mix", "layout_0.9"):
        (mix,) = inspect(FIXTURES / path).mixes
        mixed = [mix(sentence) for sentence in layers]
        assert largest_difference(mixed, expected(theirs, "token_embedder")) <= TOLERANCE


@pytest.mark.parametrize(
    ("module", "keys"), [("elmo_token_embedder", ["token_embedder"]), ("elmo_two_mixes", ["elmo_0", "elmo_1"])]
)
def test_the_state_dict_of_a_module_gives_the_vectors_of_the_module(module: str, keys: list[str]):
    path = FIXTURES / f"allennlp/{module}.state_dict.th"
    layers = layers_of(str(path))
    mixes = inspect(path).mixes
    with np.load(FIXTURES / "allennlp/modules.expected.npz") as arrays:
        for key, mix in zip(keys, mixes, strict=True):
            theirs = [row[: sentence.shape[1]] for row, sentence in zip(arrays[key], layers, strict=True)]
            assert largest_difference([mix(sentence) for sentence in layers], theirs) <= TOLERANCE


def test_a_cached_vocabulary_of_allennlp_changes_nothing():
    first, second = (f"allennlp/elmo_token_embedder{suffix}.state_dict.th" for suffix in ("", "_cached_vocab"))
    assert read_stored(FIXTURES / first).config == read_stored(FIXTURES / second).config
    assert len(layers_of(second)) == len(SENTENCES)


def test_options_that_are_not_in_an_archive_are_a_risk():
    assert "relu, clipping at 3" in str(inspect(FIXTURES / "allennlp/frozen.model.tar.gz"))
    assert inspect(FIXTURES / "allennlp/layout_0.9.model.tar.gz").risks == []


@pytest.mark.parametrize(
    "archive", ["typical", "no_vocab", "vocab_gz", "n_characters_261", "other_hdf5_name", "in_folder"]
)
def test_a_zip_of_nlpl_gives_the_vectors_of_simple_elmo(archive: str):
    elmo = Elmo.from_pretrained(FIXTURES / f"nlpl/{archive}.zip", device="cpu")
    ours = elmo.encode(SENTENCES, layers="all")
    assert largest_difference(ours, expected("nlpl/typical.expected.npz", "cold")) <= TOLERANCE
    assert (elmo.vocabulary is None) == (archive == "no_vocab")


@pytest.mark.parametrize("name", ["char", "char_1layer", "forward_only", "word", "word_shared"])
def test_the_softmax_of_a_checkpoint_gives_the_perplexities_of_bilm_tf(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """bilm-tf's test() averages the losses of both directions, which gives the geometric mean of the perplexities."""
    text = tmp_path / "text"  # bilm-tf uses Python's split(), which takes U+3000 for white space
    text.write_text((FIXTURES / "checkpoints/test_lines.txt").read_text().replace("\u3000", " "))
    theirs = json.loads((FIXTURES / f"checkpoints/{name}.perplexity.json").read_text())
    for batch_size in (1, 3):
        monkeypatch.setattr(scoring_perplexity, "CARRIED_ROWS", batch_size)
        ours = scoring_perplexity.perplexity(str(FIXTURES / "checkpoints" / name), [text], carry_state=True)
        sides = [side.perplexity for side in (ours.forward, ours.backward) if side is not None]
        expected_mean = theirs[f"batch_size_{batch_size}"]["average_perplexity"]
        assert math.prod(sides) ** (1 / len(sides)) == pytest.approx(expected_mean, rel=2e-6)
        assert ours.num_predictions == batch_size * theirs[f"batch_size_{batch_size}"]["n_batches"]


@pytest.mark.parametrize("name", ["char", "word", "word_shared"])
def test_a_checkpoint_and_the_pair_dumped_from_it_give_the_vectors_of_bilm_tf(name: str):
    theirs = expected(f"checkpoints/{name}.expected.npz", "cold")
    pair = FIXTURES / f"checkpoints/{name}/options.json", FIXTURES / f"checkpoints/{name}.dumped.hdf5"
    ours = Elmo.from_pretrained(*pair, device="cpu").encode(SENTENCES, layers="all")
    in_a_zip = [layers_of("nlpl/checkpoint.zip")] if name == "char" else []
    for found in (ours, layers_of(f"checkpoints/{name}"), *in_a_zip):
        assert largest_difference(found, theirs) <= TOLERANCE


def test_cached_token_vectors_give_the_vectors_of_their_characters(tmp_path: Path):
    source = FIXTURES / "checkpoints"
    files = ["char/options.json", "char/vocab.txt", "char.dumped.hdf5", "char.token_embeddings.hdf5"]
    folder = Path(shutil.copytree(source / "char", tmp_path / "char", ignore=shutil.ignore_patterns("model*")))
    for name in files[2:]:
        shutil.copy(source / name, folder)
    cached = Elmo.from_pretrained(folder / "options.json", folder / "char.token_embeddings.hdf5", device="cpu")
    assert cached.vocabulary is not None
    words = [[token for token in cached.vocabulary.tokens if token not in ("<S>", "</S>", "<UNK>")]]
    characters = Elmo.from_pretrained(folder, device="cpu").encode(words, layers="all")
    assert largest_difference(cached.encode(words, layers="all"), characters) <= TOLERANCE


@pytest.mark.parametrize(
    "name", ["char_word", "char_word_newzip", "word_only", "clip_zero", "char_word.zip", "char_word_in_folder.zip"]
)
def test_a_model_of_elmoformanylangs_gives_all_of_its_layers(name: str):
    elmo = Elmo.from_pretrained(FIXTURES / "many_langs" / name, device="cpu")
    path = f"many_langs/{'char_word' if name.endswith('.zip') else name}.expected.npz"
    with np.load(FIXTURES / path) as arrays:
        cut_words = arrays["cut_words"]
    words = json.loads((FIXTURES / "many_langs/cut_words.json").read_text())
    ours, average = elmo.encode([*SENTENCES, words], layers="all"), elmo.encode(SENTENCES, layers="average")
    assert largest_difference(ours, [*expected(path, "layer-2"), cut_words]) <= TOLERANCE
    assert largest_difference(average, expected(path, "layer-1")) <= TOLERANCE


def test_the_module_gives_what_the_packed_model_gives():
    """The module runs with gradients and in batches, as in task models."""
    for name in ("many_langs/char_word", "checkpoints/word"):
        bilm = Elmo.from_pretrained(FIXTURES / name, device="cpu").bilm
        ids = padded([["<S>", *sentence, "</S>"] for sentence in SENTENCES], bilm.spelling.rows)
        layers = bilm(torch.from_numpy(ids)).layers.detach().numpy()
        ours = [row[:, 1 : 1 + len(sentence)] for row, sentence in zip(layers.swapaxes(0, 1), SENTENCES, strict=True)]
        assert largest_difference(ours, layers_of(name)) <= TOLERANCE


STREAMS = {"bilm_tf": "lm_embeddings_sentences.json", "allennlp": "sentences.json"}

States = dict[tuple[int, int], tuple[Array, Array]]


@pytest.mark.parametrize("name", STREAMS)
def test_every_published_vector_comes_out_when_the_state_is_carried_and_all_layers_of_the_reference(name: str):
    fixture = Path(__file__).parents[1] / "fixtures" / name
    elmo = Elmo.from_pretrained(fixture / "options.json", fixture / "lm_weights.hdf5", device="cpu")
    streams = [[line.split() for line in stream] for stream in json.loads((fixture / STREAMS[name]).read_text())]
    published: list[list[Array]] = []  # of the top layer, both directions joined
    for number in range(3):
        with h5py.File(fixture / f"lm_embeddings_{number}.hdf5") as file:
            published.append([np.concatenate(file[str(line)][...], axis=1) for line in range(len(file))])
    assert [len(stream) for stream in published] == [10, 10, 10]
    lines = [*chain(*published)]
    assert largest_difference([*chain(*elmo.encode_streams(streams, layers="top"))], lines) <= TOLERANCE
    expected = [layers for stream in streams for layers in Reference(fixture).stream(stream)]
    assert largest_difference([layers[-1] for layers in expected], lines) <= TOLERANCE
    assert expected[0].shape == (3, len(streams[0][0]), 32)
    assert largest_difference([*chain(*elmo.encode_streams(streams, layers="all"))], expected) <= TOLERANCE


class Reference:
    """docs/model.md, sections 1 to 5, step by step; one stream at a time."""

    def __init__(self, fixture: Path) -> None:
        self.options = json.loads((fixture / "options.json").read_text())
        self.tokens: dict[str, Array] = {}
        datasets = datasets_of(fixture / "lm_weights.hdf5")
        self.weights = {name: array.astype(np.float64) for name, array in datasets.items()}

    def stream(self, sentences: list[list[str]]) -> list[Array]:
        """All layers (3,T,2P) of sentences that are read one after the other; the states carry over."""
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
