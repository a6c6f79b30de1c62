"""Training of context2vec: the loss by hand, the noise, the same bits for the same command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from elmokit.runs.optimizer_state import DivergenceError
from elmokit.text.vocabulary import Vocabulary
from paper.comparators import context2vec_training
from paper.comparators.context2vec import ContextEncoder, new_encoder
from paper.comparators.context2vec_training import Context2vecConfig, negative_sampling_loss, train_context2vec
from paper.comparators.run_folder import CHECKPOINT_FILE

SETTINGS = ["word_dim=4", "lstm_dim=4", "dim=4", "min_count=2", "batch_size=2", "log_every=2"]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "shard.txt"
    path.write_text("The cat sat\nthe dog sat\nthe rare bird\n")
    return path


def test_rare_words_count_as_unknown(shard: Path):
    vocabulary, counts = context2vec_training._count([shard], Context2vecConfig(min_count=2))
    found = dict(zip(vocabulary.tokens, counts.tolist(), strict=True))
    assert found == {"<UNK>": 4, "<S>": 0, "</S>": 0, "the": 3, "sat": 2}


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


def test_negatives_are_drawn_from_counts_to_the_power_of_three_quarters(
    shard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shard.write_text("a\n" * 81 + "b\n" * 16 + "once\n")
    drawn: list[torch.Tensor] = []

    def recorded(encoder: ContextEncoder, ids: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
        drawn.append(negatives)
        return negative_sampling_loss(encoder, ids, negatives)

    monkeypatch.setattr(context2vec_training, "negative_sampling_loss", recorded)
    train_context2vec([shard], tmp_path / "run", [*SETTINGS, "negatives=200", "epochs=1"])
    shares = torch.cat([each.flatten() for each in drawn]).bincount(minlength=5) / (200 * 98)
    assert shares.tolist() == pytest.approx([1 / 36, 0, 0, 27 / 36, 8 / 36], abs=0.02)  # <UNK>, <S>, </S>, a, b
    assert not torch.equal(drawn[0], drawn[1])


def test_the_folder_has_the_words_the_log_and_the_settings(shard: Path, tmp_path: Path):
    measured = train_context2vec([shard], tmp_path / "run", [*SETTINGS, "epochs=3"])
    assert measured["num_tokens"] == 27
    assert (tmp_path / "run" / "vocabulary.txt").read_text().split() == ["<UNK>", "<S>", "</S>", "the", "sat"]
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 4, 5]
    assert json.loads((tmp_path / "run" / "config.json").read_text())["settings"]["negatives"] == 10


def test_without_a_frequent_word_nothing_is_trained_or_written(shard: Path, tmp_path: Path):
    with pytest.raises(ValueError, match=r"no word occurs at least 4 times \(min_count\)"):
        train_context2vec([shard], tmp_path / "run", [*SETTINGS, "min_count=4"])
    assert not (tmp_path / "run").exists()


def test_an_interrupted_training_ends_with_the_weights_of_one_that_was_not(
    shard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = [*SETTINGS, "epochs=9"]
    train_context2vec([shard], tmp_path / "whole", settings)
    monkeypatch.setattr(context2vec_training, "SAVE_SECONDS", -1)  # at every line of the log
    run, steps = tmp_path / "run", 0
    loss = negative_sampling_loss

    def killed(*arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps in (1, 8):  # before the first checkpoint, and between two of them
            raise KeyboardInterrupt
        return loss(*arguments)

    monkeypatch.setattr(context2vec_training, "negative_sampling_loss", killed)
    with pytest.raises(KeyboardInterrupt):
        train_context2vec([shard], run, settings)
    with pytest.raises(KeyboardInterrupt):
        train_context2vec([shard], run, settings, resume=True)
    with pytest.raises(ValueError, match="holds a run with other epochs, files, contents of files; expected"):
        train_context2vec([shard, shard], run, [*SETTINGS, "epochs=8"], resume=True)
    text = shard.read_bytes()
    shard.write_bytes(text.swapcase())
    with pytest.raises(ValueError, match="holds a run with other contents of files; expected the same command again"):
        train_context2vec([shard], run, settings, resume=True)
    shard.write_bytes(text)
    with pytest.raises(ValueError, match="already holds a run; resume it with the same command and --resume"):
        train_context2vec([shard], run, settings)
    train_context2vec([shard], run, settings, resume=True)
    whole, resumed = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run"))
    assert whole == resumed and not (run / CHECKPOINT_FILE).exists()
    steps_of = [
        [json.loads(line)["step"] for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "run")
    ]
    assert steps_of[0] == steps_of[1]
    with pytest.raises(ValueError, match="run has ended: model.safetensors is the trained model"):
        train_context2vec([shard], run, settings, resume=True)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.txt"])
def test_a_file_of_the_user_s_is_not_replaced(name: str, shard: Path, tmp_path: Path):
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(ValueError, match=f"has a file {name}, which the run would replace"):
        train_context2vec([shard], tmp_path, SETTINGS)
    assert (tmp_path / name).read_bytes() == b"mine" and not (tmp_path / "config.json").exists()


@pytest.mark.parametrize("function", ["write_tensors", "save_checkpoint"])
def test_a_training_that_is_stopped_while_it_writes_is_continued(
    function: str, shard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = [*SETTINGS, "epochs=9", "num_tokens=20"]
    train_context2vec([shard], tmp_path / "whole", settings)
    with monkeypatch.context() as patch:
        patch.setattr(context2vec_training, "SAVE_SECONDS", -1)
        patch.setattr(context2vec_training, function, _stop)
        with pytest.raises(KeyboardInterrupt):
            train_context2vec([shard], tmp_path / "run", settings)
    train_context2vec([shard], tmp_path / "run", settings, resume=True)
    whole, resumed = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run"))
    assert whole == resumed


def _stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_damaged_checkpoint_is_named(shard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(context2vec_training, "SAVE_SECONDS", -1)
    monkeypatch.setattr(context2vec_training, "write_tensors", _stop)  # after the first checkpoint
    with pytest.raises(KeyboardInterrupt):
        train_context2vec([shard], tmp_path / "run", SETTINGS)
    path = tmp_path / "run" / CHECKPOINT_FILE
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors.*damaged"):
        train_context2vec([shard], tmp_path / "run", SETTINGS, resume=True)


def test_the_same_command_gives_the_same_weights_and_stops_after_its_tokens(shard: Path, tmp_path: Path):
    for name in ("a", "b"):
        measured = train_context2vec([shard], tmp_path / name, [*SETTINGS, "num_tokens=10"])
        assert measured["num_tokens"] == 12
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b"))
    assert first == second


@pytest.mark.parametrize("setting", ["dim=0", "learning_rate=0", "num_tokens=-1", "seed=-1", f"seed={1 << 63}"])
def test_wrong_settings_are_refused(shard: Path, tmp_path: Path, setting: str):
    with pytest.raises(ValueError, match=rf"setting .*: (field )?{setting.partition('=')[0]}:? is"):
        train_context2vec([shard], tmp_path / "run", ["min_count=1", setting])
    assert not (tmp_path / "run").exists()


def test_a_loss_that_is_not_finite_ends_the_training(shard: Path, tmp_path: Path):
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        train_context2vec([shard], tmp_path / "run", [*SETTINGS, "learning_rate=1e15", "epochs=5"])
