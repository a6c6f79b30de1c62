"""context2vec: contexts without their word, the words that fit a gap, and the folder of a trained model."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.text.vocabulary import Vocabulary
from paper.__main__ import main
from paper.comparators.context2vec import (
    Context2vec,
    ContextEncoder,
    open_context2vec,
    read_context2vec,
    train_context2vec,
)

SENTENCES = ["the cat drinks milk", "the dog eats meat", "a bird sings songs", "a boy reads books"]
SETTINGS = ["word_dim=8", "lstm_dim=12", "dim=10", "min_count=1", "negatives=5", "batch_size=4", "learning_rate=0.02"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("context2vec")
    (folder / "shard.txt").write_text("".join(f"{line}\n" for line in SENTENCES) * 4)
    train_context2vec([folder / "shard.txt"], folder / "run", [*SETTINGS, "epochs=150"])
    return folder / "run"


def test_layers_are_the_target_vectors_and_the_contexts_without_the_word():
    torch.manual_seed(0)
    vocabulary = Vocabulary(["<UNK>", "<S>", "</S>", *sorted(set(" ".join(SENTENCES).split()))])
    encoder = ContextEncoder(vocabulary, word_dim=4, lstm_dim=6, dim=5)
    torch.nn.init.normal_(encoder.targets.weight)
    untrained = Context2vec(encoder, vocabulary)
    (_, with_cat), (_, with_dog) = untrained.layers([["the", "cat", "drinks"], ["the", "dog", "drinks"]])
    np.testing.assert_array_equal(with_cat[1], with_dog[1])
    assert not np.allclose(with_cat[0], with_dog[0])  # there it is a word of the context
    assert not np.allclose(with_cat[2], with_dog[2])
    sentence = ["The", "cat", "unseen"]
    layers = untrained.layers([sentence])[0]
    weight = encoder.targets.weight.detach().numpy()
    np.testing.assert_array_equal(layers[0], weight[vocabulary.ids(["the", "cat", "<UNK>"])])
    among = untrained.layers([["a"], SENTENCES[1].split(), [], sentence])  # the same in any batch
    np.testing.assert_allclose(among[3], layers, atol=1e-6)
    assert among[2].shape == (2, 0, 5)


@pytest.mark.learnt
def test_a_trained_model_knows_what_fits_into_a_gap(folder: Path):
    model = read_context2vec(folder)
    hits: list[bool] = []
    for sentence in SENTENCES:
        words = sentence.split()
        for position, word in list(enumerate(words))[1:]:  # two sentences have the same first word
            gap = [*words[:position], "[]", *words[position + 1 :]]
            (best, score), second = model.substitutes(gap, number=2)
            hits.append(best == word)
            assert 0 < second[1] <= score <= 1
    assert sum(hits) >= 9 and len(hits) == 12  # usually all
    targets = torch.nn.functional.normalize(model.encoder.targets.weight)
    context = torch.from_numpy(model.layers([["the", "[]", "drinks", "milk"]])[0][1, 1])
    context = torch.nn.functional.normalize(context, dim=0)
    cat, dog = model.vocabulary.id("cat"), model.vocabulary.id("dog")
    scores = dict(model.substitutes(["the", "[]", "drinks", "milk"], known="dog", number=99))
    expected = max(float(targets[cat] @ targets[dog]), 0) * max(float(targets[cat] @ context), 0)
    assert scores["cat"] == pytest.approx(expected, abs=1e-6)


def test_the_folder_is_opened_as_two_layers_and_another_or_a_damaged_one_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    layers = open_context2vec(str(folder))
    assert (layers.num_layers, layers.dim, len(layers.fingerprint())) == (2, 10, 64)
    batch = layers([["the", "cat"], ["a"]])
    assert batch.shape == (2, 2, 2, 10) and not batch[:, 1, 1].any()
    assert main(["substitutes", str(folder), "the cat [] milk", "--number", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "the cat [] milk" and lines[1].endswith(" drinks") and len(lines) == 3
    config = json.loads((shutil.copytree(folder, tmp_path / "other") / "config.json").read_text())
    for changed, words, message in (
        ({}, ["the cat"], "'the cat' has 0 gaps; expected one token []"),
        ({}, ["the []", "--known", "Zebra"], "the model has no vector of 'Zebra'"),
        (
            {"settings": {**config["settings"], "dim": 11}},
            ["[]"],
            "model.safetensors: tensor output.bias: is torch.",
        ),
        ({"system": "cove"}, ["[]"], "config.json: is of 'cove'; expected context2vec"),
    ):
        (tmp_path / "other" / "config.json").write_text(json.dumps({**config, **changed}))
        assert main(["substitutes", str(tmp_path / "other"), *words]) == 2
        assert message in capsys.readouterr().err
