"""CoVe and context2vec: the published tensors, and trainings that give the same bits for the same command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from elmokit.runs.tensor_files import DivergenceError, write_tensors
from elmokit.text.vocabulary import Vocabulary
from elmokit.vectors.files import load_vectors
from paper.__main__ import main
from paper.comparators import context2vec
from paper.comparators.all_comparators import TRAININGS
from paper.comparators.context2vec import Context2vecConfig, ContextEncoder, negative_sampling_loss
from paper.comparators.cove import Translator, new_encoder, open_cove, read_encoder, train_cove
from run_contents import contents_of_run
from toy_vectors import unpadded

SOURCE = "a cat sleeps\na dog runs fast\nthe cat runs\nthe dog sleeps here now\n"
TARGET = "eine Katze schläft heute\nein Hund läuft sehr schnell\ndie Katze läuft gern\nder Hund schläft jetzt hier\n"
WIDTHS = {"cove": ["hidden_dim=16", "target_dim=16"], "context2vec": ["word_dim=4", "lstm_dim=4", "dim=4"]}
WEIGHTS = {"cove": "encoder.safetensors", "context2vec": "model.safetensors"}


class Toy:
    """Files and settings of a training, in a folder."""

    def __init__(self, system: str, folder: Path) -> None:
        self.system, self.folder = system, folder
        words = sorted(set(SOURCE.split()))
        vectors = {word: " ".join(str(float(word == other)) for other in words) for word in words}
        (folder / "glove.txt").write_text("".join(f"{word} {vector}\n" for word, vector in vectors.items()))
        self.files = [folder / "train.en", folder / "train.de"][: 1 if system == "context2vec" else 2]
        for file, text in zip(self.files, (SOURCE, TARGET), strict=False):
            file.write_text(text, encoding="utf-8")
        words_file = [f"word_vectors={folder / 'glove.txt'}", "dropout_rate=0.3"] if system == "cove" else []
        self.settings = [*words_file, *WIDTHS[system], "min_count=1", "batch_size=2"]

    def train(self, name: str, *settings: str) -> float:
        """Train into a folder of this name."""
        return TRAININGS[self.system](self.files, self.folder / name, [*self.settings, *settings])


@pytest.fixture(params=["cove", "context2vec"])
def toy(request: pytest.FixtureRequest, tmp_path: Path) -> Toy:
    return Toy(request.param, tmp_path)


def test_the_same_command_gives_the_same_bits_and_a_folder_holds_one_run(toy: Toy):
    for name in ("run", "again"):
        toy.train(name, "epochs=4")
    assert contents_of_run(toy.folder / "again") == contents_of_run(toy.folder / "run")
    with pytest.raises(FileExistsError, match="run exists and is not an empty folder; choose another one"):
        toy.train("run", "epochs=4")


def test_wrong_settings_and_what_cannot_be_trained_are_refused(toy: Toy):
    for setting in ("batch_size=0", "learning_rate=0", "seed=-1", f"seed={1 << 63}"):
        with pytest.raises(ValueError, match=f": (field )?{setting.partition('=')[0]}:? is"):
            toy.train("run", setting)
    with pytest.raises(ValueError, match=r"no word .*occurs at least 99 times \(min_count\)"):
        toy.train("run", "min_count=99")
    assert not (toy.folder / "run").exists()  # nothing is trained or written
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        toy.train("run", f"learning_rate={'1e37' if toy.system == 'cove' else '1e15'}", "epochs=5")


@pytest.mark.learnt
def test_a_toy_translation_is_learnt_by_heart_and_its_encoder_is_cove(tmp_path: Path, capsys: Any):
    toy, run, out = Toy("cove", tmp_path), tmp_path / "run", tmp_path / "out.npy"
    command = ["train-comparator", "cove", *map(str, toy.files), "-o", str(run), "--set", *toy.settings]
    assert main([*command, "dropout_rate=0", "epochs=25", "learning_rate=0.05"]) == 0
    losses = json.loads((run / "config.json").read_text())["losses"]
    assert len(losses) == 25 and losses[24] < 0.1 < losses[0]
    assert json.loads(capsys.readouterr().out) == {"model": str(run), "loss": losses[24]}
    embed = ["embed", f"cove:{run}", str(toy.files[0]), "-o", str(out)]
    assert main([*embed, "--word-vectors", str(tmp_path / "glove.txt")]) == 0
    assert load_vectors(out)[0].shape == (2, 3, 32)
    refused = {f"cove:{run}": "give their file with --word-vectors FILE", "cove": "cove needs a model: "}
    for system, message in refused.items():
        assert main(["embed", system, *embed[2:]]) == 2
        assert message in capsys.readouterr().err


def test_pairs_that_cove_cannot_learn_from_are_left_out_or_refused(tmp_path: Path):
    toy = Toy("cove", tmp_path)
    toy.train("whole", "epochs=1")
    losses = [toy.train(size, f"max_size={size}", "epochs=1") for size in "19"]
    assert losses[0] < losses[1]  # one word and the specials are fewer than all
    for file, line in zip(toy.files, ("a dog", ""), strict=True):
        file.write_text(f"{file.read_text()}{line}\n")
    toy.train("run", "epochs=1")
    weights = [(tmp_path / name / WEIGHTS["cove"]).read_bytes() for name in ("run", "whole")]
    assert weights[0] == weights[1]
    with pytest.raises(ValueError, match="--set word_vectors=FILE"):
        train_cove(toy.files, tmp_path / "new")
    with pytest.raises(ValueError, match="3 files were given; expected SOURCE TARGET"):
        train_cove([*toy.files, toy.files[0]], tmp_path / "new", toy.settings)
    with pytest.raises(ValueError, match="no pair has 1 to 2 tokens"):
        toy.train("new", "max_tokens=2")
    toy.files[1].write_text("nur eine\n")
    with pytest.raises(ValueError, match="has 5 lines and .* 1; expected a translation of each line"):
        toy.train("new")
    assert not (tmp_path / "new").exists()


def test_a_translator_reads_the_whole_source_and_no_later_token_of_the_target():
    torch.manual_seed(0)
    vocabulary = Vocabulary(["<UNK>", "<S>", "</S>", *"abcd"])
    model = Translator(new_encoder(input_dim=3, hidden_dim=4), vocabulary, target_dim=5, dropout_rate=0.0)
    source = torch.randn(1, 4, 3, requires_grad=True)
    first, second = model(source, torch.tensor([[1, 3, 4]])), model(source, torch.tensor([[1, 3, 5]]))
    torch.testing.assert_close(first[:, :2], second[:, :2])
    first[:, 0].sum().backward()
    assert source.grad is not None and (source.grad[0].abs().sum(dim=1) > 0).all()


def test_the_loss_of_context2vec_is_that_of_negative_sampling():
    torch.manual_seed(0)
    vocabulary = Vocabulary(["<UNK>", "<S>", "</S>", "a", "b"])
    encoder = ContextEncoder(vocabulary, word_dim=2, lstm_dim=3, dim=4)
    assert not encoder.targets.weight.any()  # as in the original program
    torch.nn.init.normal_(encoder.targets.weight)
    ids, negatives = torch.tensor([[3, 4]]), torch.tensor([[[4, 0], [3, 3]]])
    contexts, targets = encoder(ids)[0], encoder.targets.weight
    expected = torch.zeros(())
    for position in range(2):
        expected -= torch.sigmoid(targets[ids[0, position]] @ contexts[position]).log()
        for negative in negatives[0, position]:
            expected -= torch.sigmoid(-targets[negative] @ contexts[position]).log()
    torch.testing.assert_close(negative_sampling_loss(encoder, ids, negatives), expected / 2)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The negatives of each step of context2vec."""
    drawn: list[torch.Tensor] = []
    loss = negative_sampling_loss
    monkeypatch.setattr(context2vec, "negative_sampling_loss", lambda *given: drawn.append(given[2]) or loss(*given))
    return drawn


def test_negatives_are_drawn_from_counts_to_the_power_of_three_quarters(tmp_path: Path, drawn: list[torch.Tensor]):
    toy = Toy("context2vec", tmp_path)
    toy.files[0].write_text("a\n" * 81 + "b\n" * 16 + "once\n")
    toy.train("run", "negatives=200", "epochs=1", "min_count=2")
    shares = torch.cat([each.flatten() for each in drawn]).bincount(minlength=5) / (200 * 98)
    assert shares.tolist() == pytest.approx([0, 0, 1 / 36, 27 / 36, 8 / 36], abs=0.02)  # <S>, </S>, <UNK>, a, b
    assert not torch.equal(drawn[0], drawn[1])


def test_context2vec_counts_rare_words_as_unknown_and_stops_after_its_tokens(tmp_path: Path, drawn: list[torch.Tensor]):
    toy = Toy("context2vec", tmp_path)
    toy.files[0].write_text("The cat sat\nthe dog sat\nthe rare bird\n")
    vocabulary, counts = context2vec._count(toy.files, Context2vecConfig(min_count=2))
    assert dict(zip(vocabulary.tokens, counts, strict=True)) == {"<UNK>": 4, "<S>": 0, "</S>": 0, "the": 3, "sat": 2}
    for limit, num_tokens in ((0, 27), (4, 18)):
        drawn.clear()
        toy.train(str(limit), "min_count=2", "epochs=3", f"num_tokens={limit}", "negatives=1")
        assert sum(map(torch.numel, drawn)) == num_tokens


SENTENCES = [["the", "cat"], ["cat", "unseen", "the"], [], ["the", "cat"]]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    (tmp_path / "glove.txt").write_text("the 1 2 3\ncat 0.5 -1 0\n")
    return tmp_path / "glove.txt"


@pytest.fixture
def lstm(tmp_path: Path) -> nn.LSTM:
    torch.manual_seed(0)
    lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
    torch.save(lstm.state_dict(), tmp_path / "mt.pth")
    return lstm


def test_the_layers_are_those_of_a_plain_lstm_over_each_sentence_alone(lstm: nn.LSTM, words: Path, tmp_path: Path):
    layers = open_cove(str(tmp_path / "mt.pth"), words)  # as it was published
    assert (layers.num_layers, layers.dim) == (2, 8)
    arrays = unpadded(layers, SENTENCES)
    vectors = {"the": [1.0, 2, 3], "cat": [0.5, -1, 0], "unseen": [0.0, 0, 0]}
    first = nn.LSTM(3, 4, 1, batch_first=True, bidirectional=True)
    first.load_state_dict({name: tensor for name, tensor in lstm.state_dict().items() if "_l0" in name})
    for sentence, array in zip(SENTENCES, arrays, strict=True):
        assert array.shape == (2, len(sentence), 8)
        if sentence:
            inputs = torch.tensor([[vectors[word] for word in sentence]])
            np.testing.assert_allclose(array[0], first(inputs)[0][0].detach(), atol=1e-6)
            np.testing.assert_allclose(array[1], lstm(inputs)[0][0].detach(), atol=1e-6)


def test_what_is_not_an_encoder_or_does_not_fit_it_is_refused(lstm: nn.LSTM, words: Path, tmp_path: Path):
    words.write_text("the 1 2\n")
    with pytest.raises(ValueError, match="reads vectors of 3 numbers, but .*glove.txt has vectors of 2"):
        open_cove(str(tmp_path / "mt.pth"), words)
    with pytest.raises(FileNotFoundError, match="none.pth: there is no such file; expected CoVe's encoder"):
        read_encoder(tmp_path / "none.pth")
    for name, message in (("weight_ih_l0", "has no weight_ih_l0 of shape"), ("extra", "tensor extra: does not belong")):
        write_tensors(tmp_path / "other.safetensors", {**lstm.state_dict(), name: torch.zeros(0, 3)})
        with pytest.raises(ValueError, match=message):
            read_encoder(tmp_path / "other.safetensors")
