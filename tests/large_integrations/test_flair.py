"""ELMo in flair gives our vectors and is saved with its model; examples/integrations/with_flair.py trains a tagger."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.system.messages import FormatError
from toy_bilm import random_bilm

pytest.importorskip("flair", reason="needs the extra: pip install 'elmokit[flair]'")

from flair.data import Sentence
from flair.embeddings.base import load_embeddings

from elmokit.integrations.flair import ElmoEmbeddings

ELMO = Elmo(random_bilm())
TOKENS = [["the", "cat", "sat", "."], ["밥"], ["a", "dog", "."]]


def sentences() -> list[Sentence]:
    return [Sentence(tokens, use_tokenizer=False) for tokens in TOKENS]


def vectors(embedded: list[Sentence]) -> list[np.ndarray]:
    return [torch.stack([token.embedding for token in sentence]).numpy() for sentence in embedded]


def assert_same(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", ["all", "top", "average"])
def test_flair_s_name_of_the_layers_is_taken(mode: str):
    found = ElmoEmbeddings(ELMO, embedding_mode=mode)
    assert found.layers == mode and found.name == ElmoEmbeddings(ELMO, layers=mode).name
    with pytest.raises(ValueError, match="layers and embedding_mode were given; expected one of them"):
        ElmoEmbeddings(ELMO, layers=0, embedding_mode=mode)
    with pytest.raises(ValueError, match="embedding_mode is 'last'; expected 'all', 'top' or 'average'"):
        ElmoEmbeddings(ELMO, embedding_mode="last")


def test_flair_s_two_files_are_taken():
    pair = [str(Path(__file__).parents[1] / "fixtures/allennlp" / name) for name in ("options.json", "lm_weights.hdf5")]
    found = ElmoEmbeddings(options_file=pair[0], weight_file=pair[1])
    assert_same(vectors(found.embed(sentences())), Elmo(pair[0], weights=pair[1]).encode(TOKENS))
    for given in ({"options_file": pair[0]}, {"weight_file": pair[1]}):
        with pytest.raises(ValueError, match="expected both options_file and weight_file, or neither"):
            ElmoEmbeddings(**given)


@pytest.mark.parametrize("layers", ["top", "average", 0, np.int64(1), "all"])
def test_tokens_get_the_vectors_of_elmo_once_and_all_layers_are_one_after_the_other(
    layers: Any, monkeypatch: pytest.MonkeyPatch
):
    embeddings, embedded = ElmoEmbeddings(ELMO, layers=layers), sentences()
    expected = ELMO.encode(TOKENS, layers=layers)
    if layers == "all":
        expected = [np.concatenate(list(of_sentence), axis=-1) for of_sentence in expected]
    assert_same(vectors(embeddings.embed(embedded)), expected)
    assert embeddings.embedding_length == (36 if layers == "all" else 12)
    monkeypatch.setattr(Elmo, "encode", lambda *_: pytest.fail("once is enough"))
    embeddings.embed(embedded)


def test_the_name_of_a_model_of_a_path_is_the_same_wherever_it_is(tmp_path: Path):
    for folder in ("here/best", "there/best", "other/best"):
        (Elmo(random_bilm(seed=8)) if folder.startswith("other") else ELMO).save(tmp_path / folder)
    names = [ElmoEmbeddings(tmp_path / folder).name for folder in ("here/best", "there/best", "other/best")]
    assert names[0] == names[1] == f"elmo-best-{ELMO.fingerprint()[:12]}-top"
    assert names[2].startswith("elmo-best-") and names[2] != names[0]


def test_names_tell_models_layers_and_precisions_apart():
    exact, fast = ElmoEmbeddings("small-en"), ElmoEmbeddings(Elmo("small-en", precision="int8"))
    lower, own = ElmoEmbeddings(exact.elmo, layers=1), ElmoEmbeddings(ELMO)
    assert (exact.name, fast.name, lower.name) == ("elmo-small-en-top", "elmo-small-en-top-int8", "elmo-small-en-1")
    assert own.name.startswith("elmo-") and ElmoEmbeddings(ELMO, name="mine").name == "mine"
    sentence = Sentence(["the", "bank"], use_tokenizer=False)
    exact.embed(sentence)
    fast.embed(sentence)
    assert not torch.equal(sentence[0].get_embedding([exact.name]), sentence[0].get_embedding([fast.name]))


def test_copies_and_what_is_saved_have_the_same_vectors():
    embeddings = ElmoEmbeddings(ELMO, layers="average", name="mine")
    saved = embeddings.save_embeddings()
    for same in (copy.deepcopy(embeddings), load_embeddings(saved)):
        assert same.name == "mine"
        assert_same(vectors(same.embed(sentences())), vectors(embeddings.embed(sentences())))


def test_a_damaged_model_and_a_layer_that_is_not_there_are_refused():
    saved = ElmoEmbeddings(ELMO).save_embeddings()
    weights = saved["files"]["model.safetensors"]
    for damage, message in (({"model.safetensors": weights[:-5]}, r"model\.saf"), ({"../config.json": b"{"}, "config")):
        with pytest.raises(FormatError, match=message):
            load_embeddings(saved | {"files": saved["files"] | damage})
    with pytest.raises(ValueError, match=r"layers is 3; this model has layers 0 .* to 2"):
        ElmoEmbeddings(ELMO, layers=3)
