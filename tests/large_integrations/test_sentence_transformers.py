"""ELMo in sentence-transformers: the vectors are ours, the pooling is theirs, and saved models can be loaded."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.system.messages import FormatError
from toy_bilm import random_bilm
from toy_hub import Repository, serving_hub

pytest.importorskip("sentence_transformers", reason="needs the extra: pip install 'elmokit[sentence-transformers]'")

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from elmokit.integrations.sentence_transformers import MIX_NAME, ElmoWordEmbeddings

ELMO = Elmo(random_bilm())
SENTENCES = ["the cat sat .", "", "밥", "a dog and a cat"]


def transformer(elmo: Elmo = ELMO, *, pooling: str = "mean", **options: Any) -> SentenceTransformer:
    words = ElmoWordEmbeddings(elmo, **options)
    return SentenceTransformer(modules=[words, Pooling(words.get_embedding_dimension(), pooling)], device="cpu")


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("layers", ["top", "average", 0, 1, "mix"])
def test_pooled_vectors_are_those_of_elmo_and_a_mix_starts_as_the_average(layers: Any, pooling: Any):
    vectors = transformer(layers=layers, pooling=pooling).encode(SENTENCES)
    expected = ELMO.encode(SENTENCES, layers="average" if layers == "mix" else layers, pooling=pooling)
    np.testing.assert_allclose(vectors, expected, atol=2e-6)


def test_each_token_has_a_vector_and_sentences_may_be_lists_of_tokens_or_one_alone():
    model, expected = transformer(), ELMO.encode(SENTENCES)
    tokens = model.encode(SENTENCES, output_value="token_embeddings")
    assert [len(vectors) for vectors in tokens] == [4, 1, 1, 5]  # sentence-transformers gives at least one
    for index in (0, 2, 3):
        np.testing.assert_allclose(tokens[index], expected[index], atol=2e-6)
    for same in (model.encode([["the", "cat", "sat", "."]])[0], model.encode(SENTENCES[0])):
        np.testing.assert_allclose(same, expected[0].mean(axis=0), atol=2e-6)
    assert not model.encode(SENTENCES)[1].any()


def test_a_prompt_is_put_in_front_of_strings_and_tokenizer_and_width_are_those_of_elmo():
    model = transformer()
    vectors = model.encode(["cat sat ."], prompt="the ")
    prompted = ELMO.encode("the cat sat .")
    np.testing.assert_allclose(vectors[0], prompted.mean(axis=0), atol=2e-6)
    model.set_pooling_include_prompt(False)
    vectors = model.encode(["cat sat ."], prompt="the ")
    np.testing.assert_allclose(vectors[0], prompted[1:].mean(axis=0), atol=2e-6)
    model.max_seq_length = 1
    with pytest.raises(ValueError, match="prompt 'the ' has 1 token, and max_seq_length is 1, so nothing of the"):
        model.encode(["cat sat ."], prompt="the ")
    assert model.encode([["cat"], ["sat"]], prompt="the ").any()
    assert model.tokenizer("It's good.") == Elmo.tokenize("It's good.")
    assert model.get_embedding_dimension() == ELMO.dim == 12


def test_what_is_saved_is_loaded(tmp_path: Path):
    model = transformer(layers="mix")
    with torch.no_grad():
        model[0].embedding.mixes[0].weights.copy_(torch.tensor([0.5, -1.0, 2.0]))
    model.max_seq_length = 2
    expected = model.encode(SENTENCES)
    first_two = [" ".join(Elmo.tokenize(text)[:2]) for text in SENTENCES]
    np.testing.assert_allclose(model.encode(first_two), expected, atol=2e-6)
    model.save(str(tmp_path))
    loaded = SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True)
    np.testing.assert_array_equal(loaded.encode(SENTENCES), expected)
    assert not list(tmp_path.rglob("*.bin"))
    loaded.save(str(tmp_path))  # into the folder that it came from


def test_a_model_in_half_precision_is_saved_in_float32(tmp_path: Path):
    model = transformer(copy.deepcopy(ELMO), layers="mix").to(torch.bfloat16)
    model.save(str(tmp_path))
    loaded = SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True)
    kept = loaded.state_dict()
    for name, tensor in model.state_dict().items():
        assert torch.equal(kept[name], tensor.float())
    np.testing.assert_allclose(loaded.encode(SENTENCES), transformer(layers="mix").encode(SENTENCES), atol=0.05)
    for given in ({"dtype": "float16"}, {"torch_dtype": torch.float16}):
        loaded = SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True, model_kwargs=given)
        assert loaded.dtype == torch.float16 and loaded.encode(SENTENCES).dtype == np.float16


def test_of_weights_that_cannot_be_read_nothing_is_written_and_a_layer_that_is_not_there_is_refused(tmp_path: Path):
    words = ElmoWordEmbeddings(copy.deepcopy(ELMO)).to("meta")
    with pytest.raises(NotImplementedError, match="meta tensor"):
        words.save(str(tmp_path))
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="layers is 3; this model has layers 0 "):
        ElmoWordEmbeddings(ELMO, layers=3)


def test_a_damaged_mix_is_refused(tmp_path: Path):
    transformer(layers="mix").save(str(tmp_path / "mix"))
    transformer(layers="top").save(str(tmp_path / "top"))
    (tmp_path / "top" / MIX_NAME).replace(tmp_path / "mix" / MIX_NAME)
    with pytest.raises(FormatError, match=r"elmo_mix.safetensors: has the tensors .*; expected .*weights"):
        ElmoWordEmbeddings.load(str(tmp_path / "mix"))
    (tmp_path / "mix" / MIX_NAME).unlink()
    with pytest.raises(FileNotFoundError, match=r"elmo_mix.safetensors is missing"):
        ElmoWordEmbeddings.load(str(tmp_path / "mix"))


LOADED = """
import sys, numpy as np
from sentence_transformers import SentenceTransformer
model = SentenceTransformer("ann/sentences", device="cpu", trust_remote_code=True)
np.save(sys.argv[1], model.encode(sys.argv[2:]))
"""


@pytest.mark.slow
def test_it_is_loaded_from_the_hub(forks: Any, tmp_path: Path):
    model = transformer()
    model.save(str(tmp_path / "model"))
    saved = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    files = {path.relative_to(tmp_path / "model").as_posix(): path.read_bytes() for path in saved}
    with serving_hub() as hub:
        hub.repositories["ann/sentences"] = Repository()
        hub.repositories["ann/sentences"].commit(files)
        environment = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
        done = forks.run_script(LOADED, tmp_path / "vectors.npy", *SENTENCES, **environment)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "vectors.npy"), model.encode(SENTENCES))


def test_gradients_reach_the_mix_and_the_bilm_only_if_asked_for():
    for requires_grad in (False, True):
        model = transformer(copy.deepcopy(ELMO), layers="mix", requires_grad=requires_grad)
        model(model[0].preprocess(SENTENCES))["sentence_embedding"].square().sum().backward()
        changed = [name for name, weight in model.named_parameters() if weight.grad is not None and weight.grad.any()]
        assert "0.embedding.mixes.0.weights" in changed
        assert any(name.startswith("0.embedding.bilm.") for name in changed) == requires_grad
