"""Perplexity of one text as a stream, of stored models, and of raw text; test_breakdown.py has the definition."""

import json
import math
from pathlib import Path

import pytest
import torch

from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.projected_lstm import ProjectedLSTM
from elmokit.scoring import perplexity as module
from elmokit.scoring.perplexity import bilm_perplexity, perplexity
from elmokit.text.characters import batch_character_ids
from toy_bilm import VOCABULARY, toy_parts, write_toy


def test_carried_state_reads_the_text_as_one_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CARRIED_ROWS", 1)
    bilm, softmax = toy_parts()
    path = tmp_path / "text.txt"
    path.write_text("a b\nc a\n")

    def expected(lstm: ProjectedLSTM | None, stream: str, predicted: str) -> float:
        assert lstm is not None
        ids = torch.from_numpy(batch_character_ids([stream.split()])[0])
        targets = torch.from_numpy(VOCABULARY.ids(predicted.split()))
        with torch.no_grad():
            outputs, _ = lstm(bilm.encode_tokens(ids)[:, None])
            logs = softmax(outputs[-1][:, 0]).log_softmax(dim=1)
        return math.exp(-float(logs[torch.arange(6), targets].mean()))

    measured = bilm_perplexity(bilm, softmax, VOCABULARY, [path], carry_state=True)
    forward = expected(bilm.forward_lstm, "<S> a b <S> c a", "a b </S> c a </S>")  # it never reads an end
    assert measured.forward.perplexity == pytest.approx(forward, rel=1e-5)
    backward = expected(bilm.backward_lstm, "</S> b a </S> a c", "b a <S> a c <S>")
    assert measured.backward is not None and measured.backward.perplexity == pytest.approx(backward, rel=1e-5)
    assert measured.num_predictions == 6
    assert measured.num_sentences is None and measured.num_left_out == 0


def test_carried_state_says_what_it_leaves_out_and_how_many_sentences_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CARRIED_ROWS", 2)
    path = tmp_path / "text.txt"
    path.write_text("a b c\na\nb a a b\n")  # the first row needs a fourth sentence when the second is in its third
    measured = bilm_perplexity(*toy_parts(), VOCABULARY, [path], carry_state=True)
    assert (measured.num_predictions, measured.num_left_out) == (8, 3)
    path.write_text("a b c\n")
    with pytest.raises(ValueError, match=r"too little text; expected at least 2 sentences \(elmokit surprisal"):
        bilm_perplexity(*toy_parts(), VOCABULARY, [path], carry_state=True)


@pytest.mark.usefixtures("on_cpu")
def test_a_folder_that_prepare_wrote_is_measured_on_its_held_out_text(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "heldout.txt").write_text("a b c a\nz\n")
    held_out = {"name": "heldout.txt", "sentences": 2, "tokens": 5, "bytes": 10, "sha256": "00"}
    (tmp_path / "corpus" / "manifest.json").write_text(json.dumps({"shards": [], "held_out": held_out}))
    model = str(write_toy(tmp_path / "model"))
    assert perplexity(model, [tmp_path / "corpus"]) == perplexity(model, [tmp_path / "corpus" / "heldout.txt"])


@pytest.mark.usefixtures("on_cpu")
def test_a_stored_model_is_measured_and_one_without_softmax_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b c a\nz\nc c\n")
    bilm, softmax = toy_parts()
    stored = to_weights(bilm, softmax, VOCABULARY)
    write_native(tmp_path / "model", stored)
    measured = perplexity(str(tmp_path / "model"), [text])
    assert measured == bilm_perplexity(bilm, softmax, VOCABULARY, [text])
    write_native(tmp_path / "bare", stored.without_softmax())
    with pytest.raises(ValueError, match="has no softmax"):
        perplexity(str(tmp_path / "bare"), [text])
    (tmp_path / "model" / "vocabulary.txt").unlink()
    with pytest.raises(ValueError, match="model has no vocabulary; surprisal and perplexity need"):
        perplexity(str(tmp_path / "model"), [text])


@pytest.mark.parametrize("carry_state", [False, True])
def test_raw_text_is_tokenised_if_asked_for_and_otherwise_warned_of(tmp_path: Path, carry_state: bool) -> None:
    model, raw, text = str(tmp_path / "model"), tmp_path / "raw.txt", tmp_path / "text.txt"
    write_toy(tmp_path / "model")
    raw.write_text("aa c, bb.\n" * 300)
    text.write_text("aa c , bb .\n" * 300)
    tokenised = perplexity(model, [text], carry_state=carry_state)
    assert perplexity(model, [raw], raw_text=True, carry_state=carry_state) == tokenised
    with pytest.warns(UserWarning, match=r"raw.txt looks like raw text: .* --tokenize, or raw_text=True,") as warned:
        perplexity(model, [raw], carry_state=carry_state)
    assert len(warned) == 1
