"""Training of context2vec: the loss by hand, the noise, the same bits for the same command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from elmokit.comparators.context2vec import new_encoder
from elmokit.comparators.context2vec_training import negative_sampling_loss, train_context2vec
from elmokit.runs.training import DivergenceError
from elmokit.text.vocabulary import Vocabulary

SETTINGS = ["word_dim=4", "lstm_dim=4", "dim=4", "min_count=2", "batch_size=2", "log_every=2"]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "shard.txt"
    path.write_text("The cat sat\nthe dog sat\nthe rare bird\n")
    return path


def test_the_loss_is_that_of_negative_sampling():
    torch.manual_seed(0)
    vocabulary = Vocabulary(["<UNK>", "<S>", "</S>", "a", "b"])
    encoder = new_encoder(vocabulary=vocabulary, word_dim=2, lstm_dim=3, dim=4)
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


def test_the_folder_has_the_words_the_log_and_the_settings(shard: Path, tmp_path: Path):
    measured = train_context2vec([shard], tmp_path / "run", [*SETTINGS, "epochs=3"])
    assert measured["num_tokens"] == 27
    assert (tmp_path / "run" / "vocabulary.txt").read_text().split() == ["<UNK>", "<S>", "</S>", "the", "sat"]
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 4, 5]
    assert json.loads((tmp_path / "run" / "config.json").read_text())["settings"]["negatives"] == 10


def test_a_folder_with_a_run_is_refused_without_a_promise_to_resume(shard: Path, tmp_path: Path):
    train_context2vec([shard], tmp_path / "run", SETTINGS)
    with pytest.raises(ValueError, match="run already holds a run; choose another folder$"):
        train_context2vec([shard], tmp_path / "run", SETTINGS)


def test_the_same_command_gives_the_same_weights_and_stops_after_its_tokens(shard: Path, tmp_path: Path):
    for name in ("a", "b"):
        measured = train_context2vec([shard], tmp_path / name, [*SETTINGS, "num_tokens=10"])
        assert measured["num_tokens"] == 12
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b"))
    assert first == second


@pytest.mark.parametrize("setting", ["dim=0", "learning_rate=0", "num_tokens=-1"])
def test_wrong_settings_are_refused(shard: Path, tmp_path: Path, setting: str):
    with pytest.raises(ValueError, match=setting.partition("=")[0]):
        train_context2vec([shard], tmp_path / "run", [setting])


def test_a_loss_that_is_not_finite_ends_the_training(shard: Path, tmp_path: Path):
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        train_context2vec([shard], tmp_path / "run", [*SETTINGS, "learning_rate=1e15", "epochs=5"])
