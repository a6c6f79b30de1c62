"""ELMo in spaCy: the vectors are ours, for each of spaCy's tokens; pipelines are saved with the model, and trained."""

import pickle
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.layers.scalar_mix import ScalarMix
from elmokit.system.messages import FormatError
from page_code import blocks, read_page
from toy_bilm import random_bilm

pytest.importorskip("spacy", reason="needs the extra: pip install 'elmokit[spacy]'")

import spacy
from spacy.cli.init_config import fill_config
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin
from spacy.vectors import Vectors

from elmokit.integrations.spacy import ElmoPipe, make_elmo
from elmokit.integrations.spacy_mix import scalar_mix

ELMO = Elmo(random_bilm())
TOKENS = ["the", "cat", "sat", "."]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a toy model."""
    folder = tmp_path_factory.mktemp("toy") / "model"
    ELMO.save(folder)
    return str(folder)


def pipeline(model: str, *, sentences: bool = False, **config: Any) -> Any:
    nlp = spacy.blank("en")
    if sentences:
        nlp.add_pipe("sentencizer")
    nlp.add_pipe("elmo", config={"model": model, **config})
    return nlp


def assert_close(one: object, other: object) -> None:
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=2e-6)


@pytest.mark.parametrize("layers", ["top", "average", 1, "all"])
def test_each_token_has_the_vector_of_elmo_and_all_layers_are_one_after_the_other(model: str, layers: Any):
    doc = pipeline(model, layers=layers)("the cat sat.")
    (expected,) = ELMO.encode([TOKENS], layers=layers)
    assert_close(doc.tensor, np.concatenate(list(expected), axis=-1) if layers == "all" else expected)
    assert doc.tensor.dtype == np.float32


@pytest.mark.parametrize("has_static_vectors", [False, True])
def test_vectors_and_similarity_are_ours_also_in_a_pipeline_with_static_vectors(model: str, has_static_vectors: bool):
    nlp = pipeline(model)
    if has_static_vectors:
        nlp.vocab.vectors = Vectors(data=np.ones((1, 5), np.float32), keys=["cat"])
    doc, other = nlp("the cat sat."), nlp("a cat slept.")
    ours, theirs = ELMO.encode([TOKENS, ["a", "cat", "slept", "."]])
    assert_close([token.vector for token in doc], ours)
    assert_close(doc[1:3].vector, ours[1:3].mean(axis=0))
    assert_close(doc.vector, ours.mean(axis=0))
    assert doc.has_vector and doc[1:3].has_vector and doc[1].has_vector
    assert doc[1].vector_norm == pytest.approx(float(np.linalg.norm(ours[1])), rel=1e-5)
    cosine = float(Elmo.similarity(ours[1], theirs[1]))
    assert doc[1].similarity(other[1]) == pytest.approx(cosine, abs=1e-6) and cosine < 0.99999
    assert doc[:2].similarity(other) == pytest.approx(float(Elmo.similarity(doc[:2].vector, other.vector)), abs=1e-6)
    assert doc.similarity(other) == pytest.approx(float(Elmo.similarity(doc.vector, other.vector)), abs=1e-6)
    assert doc[1].similarity(nlp.vocab["dog"]) == 0  # "dog" alone has no vector
    assert not nlp("").vector.any()


def test_sentences_are_read_each_on_its_own_if_there_are_some(model: str):
    text = "the cat sat. a dog."
    assert_close(pipeline(model)(text).tensor, ELMO.encode([[*TOKENS, "a", "dog", "."]])[0])
    expected = np.concatenate(ELMO.encode([TOKENS, ["a", "dog", "."]]))
    assert_close(pipeline(model, sentences=True)(text).tensor, expected)


def test_white_space_has_zeros_and_changes_nothing(model: str):
    doc = pipeline(model)("the  cat\n sat.")
    assert [token.is_space for token in doc] == [False, True, False, True, False, False]
    assert_close(doc.tensor[[0, 2, 4, 5]], ELMO.encode([TOKENS])[0])
    assert not doc.tensor[[1, 3]].any()
    empty = pipeline(model)("")
    assert empty.tensor.shape == (0, 12) and not empty.has_vector


def test_our_own_tokens_can_be_read_and_are_laid_onto_those_of_spacy(model: str):
    nlp = pipeline(model, tokens="elmokit", sentences=True)
    doc = nlp("a cat. the cat sat.")
    assert_close(doc.tensor, np.concatenate(ELMO.encode([["a", "cat", "."], TOKENS])))
    merged = Doc(nlp.vocab, words=["the", "cat sat."], spaces=[True, False])
    (expected,) = ELMO.encode([TOKENS])
    assert_close(nlp.get_pipe("elmo")(merged).tensor, [expected[0], expected[1:].mean(axis=0)])
    split = Doc(nlp.vocab, words=["c", "at", " ", "sat", "."], spaces=[False, True, False, False, False])
    (expected,) = ELMO.encode(["cat  sat ."])
    assert_close(nlp.get_pipe("elmo")(split).tensor[[0, 1, 3, 4]], expected[[0, 0, 1, 2]])
    assert not split.tensor[2].any()
    marks = Doc(nlp.vocab, words=["a\u3099\u0e48\u094d", "\u0323"], spaces=[False, False])
    (expected,) = ELMO.encode([marks.text])  # our second token ends before the first
    assert_close(nlp.get_pipe("elmo")(marks).tensor, [expected.mean(axis=0), expected[0]])


def test_a_document_of_many_tokens_takes_linear_time():
    pipe, times = ElmoPipe(tokens="elmokit"), list[float]()
    for number in (10_000, 40_000):
        doc, vectors = Doc(spacy.blank("en").vocab, words=["cat"] * number), np.ones((number, pipe.width), np.float32)
        start = time.process_time()
        assert pipe._rows(doc[:], vectors).all()
        times.append(time.process_time() - start)
    assert times[1] < 7 * times[0]  # usually 4; over 10 if each token is compared with all


def test_a_stream_has_the_same_vectors_and_documents_keep_theirs_as_bytes(model: str):
    nlp = pipeline(model)
    texts = ["the cat sat.", "", "밥", "a dog and a cat"] * 3
    for doc, text in zip(nlp.pipe(texts, batch_size=5), texts, strict=True):
        assert_close(doc.tensor, nlp(text).tensor)
    doc = nlp("the cat sat.")
    with pytest.warns(UserWarning, match="user hooks"):  # spaCy's: it reads the tensor without them
        as_bytes = doc.to_bytes()
    np.testing.assert_array_equal(Doc(nlp.vocab).from_bytes(as_bytes)[1].vector, doc[1].vector)


@pytest.mark.filterwarnings("ignore:.*W109")  # the hooks stay behind, as docs/integrations/spacy.md says
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.timeout(120)  # children that wait for threads of their parent would never end
def test_two_processes_give_the_same_vectors(model: str):
    nlp = pipeline(model)
    texts = ["the cat sat.", "a dog", "밥"] * 20
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    list(nlp.pipe(texts))  # starts the threads
    docs = list(nlp.pipe(texts, n_process=2, batch_size=20))
    torch.set_num_threads(threads)
    assert [doc.text for doc in docs] == texts
    for doc, text in zip(docs, texts, strict=True):
        assert_close(doc.tensor, nlp(text).tensor)
        assert_close(doc[0].vector, nlp(text)[0].vector)


def test_a_pipeline_is_saved_with_its_model_and_a_damaged_one_is_refused(model: str, tmp_path: Path):
    nlp = pipeline(model, layers=1)
    expected = nlp("the cat sat.").tensor
    nlp.to_disk(tmp_path / "pipeline")
    config = tmp_path / "pipeline" / "config.cfg"
    config.write_text(config.read_text().replace(model, "a/folder/of/another/machine"))
    np.testing.assert_array_equal(spacy.load(tmp_path / "pipeline")("the cat sat.").tensor, expected)
    nlp.to_disk(tmp_path / "pipeline")  # into the same folder again
    elmo = nlp.get_pipe("elmo")
    without = elmo.to_bytes(exclude=["model"])
    assert len(without) < 10 and ElmoPipe(model, layers=1).from_bytes(without)(nlp("the cat sat.")).tensor.any()
    elmo.to_disk(tmp_path / "without", exclude=["model"])
    assert not (tmp_path / "without").exists()
    from_bytes = pipeline("nowhere", layers=1).from_bytes(nlp.to_bytes())
    np.testing.assert_array_equal(from_bytes("the cat sat.").tensor, expected)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(nlp.get_pipe("elmo")))(nlp.make_doc("the cat sat.")).tensor, expected
    )
    weights = tmp_path / "pipeline" / "elmo" / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-5])
    with pytest.raises(FormatError, match=r"model\.safetensors"):
        spacy.load(tmp_path / "pipeline")


def test_settings_that_are_not_there_are_refused(model: str):
    for settings, said in (
        ({"tokens": "theirs"}, "tokens is 'theirs'; expected spacy or elmokit"),
        ({"precision": "float8"}, "precision is 'float8'"),
        ({"batch_size": 0}, "batch_size is 0; expected a whole number"),
        ({"layers": "tpo"}, "layers is 'tpo'; expected 'average', 'all', 'top', a number"),
        ({"layers": 3}, "layers 0 .* to 2"),
        ({"model": "small-em"}, "unknown model 'small-em'"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=said):
            ElmoPipe(**({"model": model} | settings))(spacy.blank("en")("the cat"))


def test_spacy_finds_the_component_by_its_name():
    entries = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["entry-points"]
    assert entries["spacy_factories"] == {"elmo": f"{make_elmo.__module__}:{make_elmo.__name__}"}
    assert spacy.blank("xx").add_pipe("elmo").width == 512


MIX = '@architectures = "elmokit.ScalarMix.v1"\nwidth = 512\nnum_layers = 3'
LISTENER = '@architectures = "spacy.Tok2VecListener.v1"\nwidth = 512\nupstream = "elmo"'
TRAINING = {"max_steps": 400, "eval_frequency": 100, "optimizer.learn_rate": 0.05}


@pytest.mark.learnt
@pytest.mark.slow
@pytest.mark.parametrize(("layers", "tok2vec"), [("all", MIX), ("top", LISTENER)], ids=["mix", "listener"])
def test_a_tagger_learns_sentences_by_heart_with_the_config_of_the_page(
    model: str, tmp_path: Path, layers: str, tok2vec: str
):
    nlp = spacy.blank("en")
    gold = {"the cat sat.": ["DT", "NN", "VB", "."], "a dog": ["DT", "NN"]}
    docs = [nlp.make_doc(text) for text in gold]
    for doc, tags in zip(docs, gold.values(), strict=True):
        for token, tag in zip(doc, tags, strict=True):
            token.tag_ = tag
    DocBin(attrs=["TAG"], docs=docs).to_disk(tmp_path / "gold.spacy")
    (config,) = blocks(read_page("docs/integrations/spacy.md"), "ini")
    changes = {MIX: tok2vec, "512": "12", "small-en": model, '"all"': f'"{layers}"'}
    for said, wanted in changes.items():
        assert said in config
        config = config.replace(said, wanted)
    (tmp_path / "base.cfg").write_text(config)
    fill_config(tmp_path / "config.cfg", tmp_path / "base.cfg")
    settings = {f"training.{name}": value for name, value in TRAINING.items()}
    paths = {f"paths.{part}": str(tmp_path / "gold.spacy") for part in ("train", "dev")}
    train(tmp_path / "config.cfg", tmp_path / "out", overrides=paths | settings)
    trained = spacy.load(tmp_path / "out" / "model-last")
    for text, tags in gold.items():
        assert [token.tag_ for token in trained(text)] == tags


WIDTH, NUM_LAYERS = 4, 3


def annotated(num_tokens: int, *, seed: int = 0) -> Doc:
    doc = Doc(spacy.blank("en").vocab, words=["w"] * num_tokens)
    doc.tensor = np.random.default_rng(seed).normal(size=(num_tokens, NUM_LAYERS * WIDTH)).astype(np.float32)
    return doc


def mix() -> Any:
    model = scalar_mix(WIDTH, NUM_LAYERS)
    model.initialize()
    return model


def test_the_mix_and_its_gradients_are_those_of_torch():
    docs = [annotated(2), annotated(1, seed=1)]
    gradients = [np.random.default_rng(7).normal(size=(len(doc), WIDTH)).astype(np.float32) for doc in docs]
    model, reference = mix(), ScalarMix(num_layers=NUM_LAYERS)
    model.set_param("weights", np.array([0.5, -1.0, 2.0], np.float32))
    model.set_param("gamma", np.array([1.5], np.float32))
    reference.load_state_dict({"weights": torch.tensor([0.5, -1.0, 2.0]), "gamma": torch.tensor(1.5)})
    model = mix().from_bytes(model.to_bytes())
    mixed, backprop = model.begin_update(docs)
    for doc, rows, gradient in zip(docs, mixed, gradients, strict=True):
        layers = torch.from_numpy(doc.tensor.reshape(len(doc), NUM_LAYERS, WIDTH)).transpose(0, 1)[:, None]
        expected = reference(layers)[0]
        np.testing.assert_allclose(rows, expected.detach().numpy(), atol=1e-6)
        expected.backward(torch.from_numpy(gradient))
    assert backprop(gradients) == []
    assert reference.weights.grad is not None and reference.gamma.grad is not None
    np.testing.assert_allclose(model.get_grad("weights"), reference.weights.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(model.get_grad("gamma")[0], reference.gamma.grad.numpy(), atol=1e-5)


def test_without_vectors_there_are_zeros_before_training_and_a_refusal_in_it():
    bare = Doc(spacy.blank("en").vocab, words=["w", "w"])
    assert not mix().predict([bare])[0].any()
    with pytest.raises(ValueError, match=r"a doc.tensor of shape \(0,\); expected \(2, 12\): put a component elmo"):
        mix().begin_update([bare])
    with pytest.raises(ValueError, match=r"found a doc.tensor of shape \(2, 12\); expected \(2, 24\)"):
        scalar_mix(2 * WIDTH, NUM_LAYERS).initialize().predict([annotated(2)])
