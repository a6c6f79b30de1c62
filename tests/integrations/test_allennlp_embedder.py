"""`ElmoEmbedder`: the published vectors with state, those of `encode` without, and the files of `allennlp elmo`."""

import io
import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.formats.published import find_published
from elmokit.integrations.allennlp import (
    DEFAULT_OPTIONS_FILE,
    DEFAULT_WEIGHT_FILE,
    ElmoEmbedder,
    ElmoTokenEmbedder,
)
from elmokit.vectors.files import load_vectors
from toy_bilm import TINY, random_bilm

PUBLISHED = Path(__file__).parents[1] / "fixtures" / "allennlp"
PAIR = (PUBLISHED / "options.json", PUBLISHED / "lm_weights.hdf5")
SENTENCES = [["A", "short", "sentence"], [], ["밥"]]


@pytest.fixture(scope="module")
def embedder() -> ElmoEmbedder:
    return ElmoEmbedder(*PAIR)


def test_the_state_can_be_forgotten():
    embedder = ElmoEmbedder(*PAIR, stateful=True)
    first, second = (embedder.embed_batch(SENTENCES) for _ in range(2))
    assert [layers.shape for layers in second] == [(3, 3, 32), (3, 0, 32), (3, 1, 32)]
    assert not np.array_equal(first[0], second[0])
    embedder.reset_states()
    assert np.array_equal(embedder.embed_batch(SENTENCES)[0], first[0])
    ElmoEmbedder(*PAIR).reset_states()


def test_with_state_words_are_cut_at_the_characters_of_the_model(tmp_path: Path):
    encoder = Elmo(random_bilm(replace(TINY, max_characters_per_token=10)), device="cpu")
    encoder.save(tmp_path / "model")
    layers = ElmoEmbedder(tmp_path / "model", stateful=True).embed_sentence(["abcdefghijklmnop", "b"])
    np.testing.assert_allclose(layers, encoder.encode([["abcdefgh", "b"]], layers="all")[0], atol=1e-6)


def test_without_state_a_sentence_has_the_vectors_of_encode_in_every_call(embedder: ElmoEmbedder):
    expected = Elmo(*PAIR[:1], weights=PAIR[1], device="cpu").encode(SENTENCES, layers="all")
    in_batches = list(embedder.embed_sentences(iter(SENTENCES), batch_size=2))
    for of_encode, of_batch, sentence in zip(expected, in_batches, SENTENCES, strict=True):
        assert of_encode.shape == of_batch.shape == (3, len(sentence), 32)
        np.testing.assert_allclose(of_batch, of_encode, atol=1e-6)
        np.testing.assert_allclose(embedder.embed_sentence(sentence), of_encode, atol=1e-6)


def test_a_batch_in_one_tensor_is_zero_at_padding(embedder: ElmoEmbedder):
    layers, mask = embedder.batch_to_embeddings(SENTENCES)
    assert layers.shape == (3, 3, 3, 32)
    assert mask.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    assert not (layers * ~mask[:, None, :, None]).any()
    torch.testing.assert_close(layers[2, :, 0], torch.from_numpy(embedder.embed_sentence(["밥"])[:, 0]))


@pytest.mark.parametrize("output_format", ["all", "top", "average"])
def test_a_file_has_a_dataset_per_line(embedder: ElmoEmbedder, output_format: str, tmp_path: Path):
    lines = io.StringIO("A short sentence\n 밥 \n")
    embedder.embed_file(lines, tmp_path / "vectors.hdf5", output_format)
    layers = embedder.embed_batch([["A", "short", "sentence"], ["밥"]])
    expected = {"all": layers, "top": [array[-1] for array in layers], "average": [a.mean(axis=0) for a in layers]}
    with h5py.File(tmp_path / "vectors.hdf5") as file:
        for number, array in enumerate(expected[output_format]):
            np.testing.assert_allclose(file[str(number)][...], array, atol=1e-6)
        assert file["sentence_to_index"].shape == (1,)
        assert json.loads(file["sentence_to_index"][0]) == {"A short sentence": "0", "밥": "1"}


def test_a_file_without_the_sentences_opens_as_one_of_ours(embedder: ElmoEmbedder, tmp_path: Path):
    lines = ["a b\n", "c\n"] * 6
    embedder.embed_file(lines, tmp_path / "vectors.hdf5", forget_sentences=True)
    assert [array.shape for array in load_vectors(tmp_path / "vectors.hdf5")] == [(3, 2, 32), (3, 1, 32)] * 6
    with h5py.File(tmp_path / "vectors.hdf5") as file:
        assert list(file) == [str(number) for number in range(12)]
    with h5py.File(tmp_path / "theirs.hdf5", "w") as file:  # as AllenNLP writes it with use_sentence_keys
        file["a b"] = np.zeros((3, 2, 32), np.float32)
    with pytest.raises(ValueError, match="holds no vectors; .* not numbered from 0, perhaps named by sentences: read"):
        load_vectors(tmp_path / "theirs.hdf5")


def test_without_files_the_model_is_the_published_original(monkeypatch: pytest.MonkeyPatch):
    """AllenNLP's two constants are the addresses of that model, in old scripts also without a word about files."""
    published = find_published("original")
    assert published is find_published(DEFAULT_OPTIONS_FILE)
    monkeypatch.setenv("ELMOKIT_OFFLINE", "1")
    calls = (
        ElmoEmbedder,
        ElmoTokenEmbedder,
        lambda: ElmoEmbedder(DEFAULT_OPTIONS_FILE, DEFAULT_WEIGHT_FILE),
        lambda: ElmoEmbedder("original"),
    )
    for opened in calls:
        with pytest.raises(FileNotFoundError, match="original"):
            opened()


def test_files_and_models_that_cannot_be_are_refused(embedder: ElmoEmbedder, tmp_path: Path):
    file = tmp_path / "vectors.hdf5"
    for call, message in (
        (lambda: embedder.embed_file(["a", "", "b"], file), "line 2 is blank; each line has to be a sentence"),
        (lambda: embedder.embed_file(["a"], file, "first"), "output_format is 'first'; expected 'all', 'top' or"),
        (lambda: ElmoEmbedder(weight_file="w.hdf5"), "no options_file was given; pass the name of a model"),
        (lambda: embedder.embed_sentence("I ate"), "sentence 0 is the string 'I ate'; expected a list of tokens"),
        (lambda: embedder.embed_batch("I ate"), "got the string 'I ate'; expected a list of sentences"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
