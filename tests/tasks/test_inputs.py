from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit import load_task, task_recipe, train_task
from elmokit.elmo.embedding import ElmoEmbedding
from elmokit.formats.read import read_bilm
from elmokit.tasks.config import ElmoInput, InputConfig
from elmokit.tasks.inputs import TokenInputs, new_word_table
from task_examples import new_inputs

TRAINING = [["The", "cat", "sat"], ["the", "dog"]]

PLAIN = InputConfig(word_dim=4)
NO_WORDS = InputConfig(word_dim=0, character_dim=3, character_filters=((1, 4), (3, 5)))


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    (tmp_path / "vectors.txt").write_text("the 1 0\na 0 1\ncat 2 2\nran 3 3\nrare 4 4\n")
    return str(tmp_path / "vectors.txt")


@pytest.fixture(scope="module")
def bilm(tiny_bilms: tuple[Path, Path]) -> str:
    return str(tiny_bilms[0])


def make(config: InputConfig, **settings: object) -> TokenInputs:
    return new_inputs(replace(config, **settings), TRAINING, [["a", "cat", "ran"]])


def test_words_of_the_training_set_have_rows_and_others_are_unknown_except_for_their_characters():
    inputs = make(PLAIN)
    assert (inputs.input_dim, inputs.output_dim) == (4, 0)
    out = inputs([["the", "The", "ran", "unseen"], ["cat"]])
    assert out.inputs.shape == (2, 4, 4) and out.outputs.shape == (2, 4, 0)
    assert out.mask.tolist() == [[True] * 4, [True, False, False, False]]
    assert torch.equal(out.inputs[0, 0], out.inputs[0, 1]) and out.inputs[0, 0].any()
    assert not out.inputs[0, 2:].any() and not out.inputs[1, 1:].any()
    characters = make(NO_WORDS)  # character vectors depend only on the token, and on its case
    out = characters([["cat", "Cat", "unseen"], ["cat"]])
    assert characters.input_dim == 9 and torch.equal(out.inputs[0, 0], out.inputs[1, 0])
    assert not torch.equal(out.inputs[0, 0], out.inputs[0, 1])
    assert out.inputs[0, 2].any() and not out.inputs[1, 1:].any()


def test_a_files_vectors_start_the_training_words_and_stay_for_the_others(vectors: str):
    inputs = make(PLAIN, word_vectors=vectors, num_extra_words=0)
    assert inputs.input_dim == 2  # the width of the file's vectors
    out = inputs([["The", "cat", "a", "ran", "rare", "sat"]])
    assert out.inputs[0, :5].tolist() == [[1, 0], [2, 2], [0, 1], [3, 3], [0, 0]]
    assert out.inputs[0, 5].any()  # in the training set, but not in the file: random
    out.inputs.sum().backward()
    assert inputs.words is not None and inputs.words.weight.grad is not None
    assert len(inputs.words.weight) == 1 + 4 and len(inputs.words.fixed) == 2
    assert make(PLAIN, word_vectors=vectors, num_extra_words=5)([["rare"]]).inputs.tolist() == [[[4, 4]]]
    inputs = make(PLAIN, word_vectors=vectors, min_word_count=2)  # rare words that the file lacks share a vector
    assert inputs.words is not None and list(inputs.words.rows)[:2] == ["the", "cat"]
    inputs([["sat", "dog"]]).inputs.sum().backward()
    gradient = inputs.words.weight.grad
    assert gradient is not None and gradient[0].tolist() == [2, 2] and not gradient[1:].any()


@pytest.mark.parametrize(("unit", "cat"), [(False, [2, 2]), (True, [0.5**0.5, 0.5**0.5])])
def test_frozen_vectors_have_no_gradient_and_no_random_rows(vectors: str, unit: bool, cat: list[float]):
    inputs = make(PLAIN, word_vectors=vectors, train_word_vectors=False, unit_word_vectors=unit)
    assert inputs([["cat", "sat"]]).inputs.flatten().tolist() == pytest.approx([*cat, 0, 0])
    assert [parameter for parameter in inputs.parameters() if parameter.requires_grad] == []


@pytest.mark.parametrize(
    ("position", "input_dim", "output_dim"), [("none", 4, 0), ("input", 16, 0), ("output", 4, 12), ("both", 16, 12)]
)
def test_elmo_is_read_where_it_is_asked_for(bilm: str, position: str, input_dim: int, output_dim: int):
    inputs = make(PLAIN, elmo=None if position == "none" else ElmoInput(position, bilm))
    out = inputs([*TRAINING, []])
    assert (inputs.input_dim, inputs.output_dim) == (input_dim, output_dim)
    assert (out.inputs.shape, out.outputs.shape) == ((3, 3, input_dim), (3, 3, output_dim))
    assert not out.inputs[~out.mask].any() and not out.outputs[~out.mask].any()
    plain = make(PLAIN)(TRAINING)
    assert torch.equal(out.inputs[:2, :, :4], plain.inputs)  # the arms differ only in ELMo


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        ({"layers": "average"}, {"layers": "average"}),
        ({"layers": "1"}, {"layers": 1}),
        ({"layers": "0.1,0.3,0.6"}, {"layers": [0.1, 0.3, 0.6]}),
        ({"layer_norm": True, "penalty": 0.5}, {"layer_norm": True, "penalty_factor": 0.5}),
        ({"rescale": True}, {"rescale": True}),
    ],
)
def test_settings_of_elmo_are_those_of_an_embedding(bilm: str, settings: dict[str, Any], arguments: dict[str, Any]):
    inputs = make(NO_WORDS, character_dim=0, elmo=ElmoInput("both", bilm, **settings))
    of_all = {"num_mixes": 2, "dropout_rate": 0.0, "penalty_factor": 0.0}
    embedding = ElmoEmbedding(read_bilm(bilm), **of_all | arguments)
    inputs.measure_scales(TRAINING)  # does nothing without `rescale`
    if embedding.scales is not None:
        embedding.measure_scales(TRAINING)
    weights = {name: torch.arange(3.0) + int(name[6]) for name in embedding.state_dict() if name.endswith(".weights")}
    for module in (embedding, inputs.elmo):
        module.load_state_dict(module.state_dict() | weights)
    found = inputs(TRAINING)
    for mix, vectors in zip(embedding(TRAINING).mixes, (found.inputs, found.outputs), strict=True):
        torch.testing.assert_close(vectors, mix, atol=2e-3, rtol=1e-3)  # the activations are in float16
    assert inputs.penalty().item() == pytest.approx(embedding.penalty().item())


def test_dropout_is_for_training_and_different_at_both_positions(bilm: str):
    inputs = make(PLAIN, elmo=ElmoInput("both", bilm, dropout_rate=0.5))
    assert torch.equal(inputs(TRAINING).outputs, inputs(TRAINING).outputs)
    out = inputs.train()(TRAINING)
    assert not torch.equal(out.inputs[..., 4:], out.outputs)
    assert torch.equal(out.inputs[..., :4], inputs.eval()(TRAINING).inputs[..., :4])


def test_a_bilm_that_is_trained_too_starts_with_the_same_vectors_and_gets_gradients(bilm: str):
    frozen = make(PLAIN, elmo=ElmoInput("both", bilm))
    trained = make(PLAIN, elmo=ElmoInput("both", bilm, train=True))
    sentences = [*TRAINING, ["one"]]
    out = trained(sentences)
    torch.testing.assert_close(out.inputs, frozen(sentences).inputs, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(out.outputs, frozen(sentences).outputs, atol=1e-3, rtol=1e-3)
    out.inputs.sum().backward()
    names = {name for name, value in trained.named_parameters() if value.grad is not None and value.grad.any()}
    assert any("forward_lstm" in name for name in names) and any("char_encoder" in name for name in names)
    assert not any("bilm" in name for name in frozen.state_dict())


def test_what_the_model_does_not_have_and_vectors_of_another_language_or_from_nowhere_are_refused(
    bilm: str, vectors: str
):
    for num_extra_words in (0, 20_000):  # also with extra words for new text
        config = InputConfig(word_vectors=vectors, word_dim=2, num_extra_words=num_extra_words)
        with pytest.raises(ValueError, match="has none of the 2 words of the data; is it for another language"):
            new_word_table(config, [["밥", "집"]], [], seed=0)
    with pytest.raises(ValueError, match="neither read nor trained"):
        make(PLAIN, train_word_vectors=False)
    with pytest.raises(ValueError, match="layers is 3; this model has layers 0 "):
        make(PLAIN, elmo=ElmoInput("input", bilm, layers="3"))
    with pytest.raises(ValueError, match="no tokens in 2 sentences"):
        make(PLAIN)([[], []])


FRAMES = ("We saw the bank and the {} .", "The {} was near the bank .", "There was a {} by the bank .")
LEARNT = {"RIVER": ("river", "boat", "fish"), "MONEY": ("loan", "manager", "office")}
UNSEEN = {"RIVER": ("lake", "canoe", "stream", "swimmer"), "MONEY": ("mortgage", "lawyer", "shop", "investor")}


def columns(words: dict[str, tuple[str, ...]]) -> str:
    """The format of CoNLL: one token and its tag per line. Both senses of `bank` have the same frames."""
    sentences = [(frame.format(word), f"B-{sense}") for sense in words for word in words[sense] for frame in FRAMES]
    rows = ([f"{token} {tag if token == 'bank' else 'O'}\n" for token in text.split()] for text, tag in sentences)
    return "\n".join(map("".join, rows))


@pytest.mark.learnt
@pytest.mark.slow
def test_senses_in_unseen_contexts_are_told_apart_with_elmo_only(tmp_path: Path):
    for name in ("train.conll", "dev.conll"):
        (tmp_path / name).write_text(columns(LEARNT))
    (tmp_path / "test.conll").write_text(columns(UNSEEN))
    common = "min_word_count=1 train_word_vectors=true character_dim=0 first_dim=16 second_dim=16 batch_size=18"
    common += " learning_rate=0.03 max_epochs=60 patience=60 dropout_rate=0 output_dropout_rate=0"
    gains: list[float] = []
    for seed in range(2):
        found: list[float] = []
        for elmo, word_dim in (("none", 16), ("input", 0)):
            settings = [*common.split(), f"elmo={elmo}", f"word_dim={word_dim}", f"seed={seed}"]
            config = task_recipe("named-entities", "cpu", settings)
            run_dir = train_task("named-entities", tmp_path, run_dir=tmp_path / f"{elmo}-{seed}", config=config)
            tagger = load_task(run_dir)
            learnt = tagger.evaluate(tmp_path / "train.conll")["f1"]
            assert elmo == "none" or learnt > 90  # without ELMo, some seeds need many epochs for that
            found.append(tagger.evaluate(tmp_path / "test.conll")["f1"])
        gains.append(found[1] - found[0])
    assert sum(gains) / len(gains) > 5, gains  # rounding decides some tags: gains of 17 to 58, with other seeds too
