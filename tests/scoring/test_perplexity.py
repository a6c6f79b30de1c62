"""Perplexity of streams, stored models and raw text; bands, words and files compared with sums over predictions."""

import json
import math
import os
import threading
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.cli.main import main
from elmokit.elmo import surprisal
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.full_softmax import SoftmaxPredictions, full_softmax_predictions
from elmokit.layers.projected_lstm import ProjectedLSTM
from elmokit.scoring import breakdown
from elmokit.scoring import perplexity as perplexity_file
from elmokit.scoring.breakdown import Breakdown, MeasuredText, PerplexityTable, frequency_bands, measure_files
from elmokit.scoring.perplexity import bilm_perplexity, perplexity
from elmokit.text.characters import batch_character_ids
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import TINY, VOCABULARY, losses_by_definition, toy_parts, write_toy


def test_carried_state_reads_the_text_as_one_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perplexity_file, "CARRIED_ROWS", 1)
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

    measured = perplexity(write_toy(tmp_path / "toy"), [path], carry_state=True)
    forward = expected(bilm.forward_lstm, "<S> a b <S> c a", "a b </S> c a </S>")  # it never reads </S>
    assert measured.forward.perplexity == pytest.approx(forward, rel=1e-5)
    backward = expected(bilm.backward_lstm, "</S> b a </S> a c", "b a <S> a c <S>")
    assert measured.backward is not None and measured.backward.perplexity == pytest.approx(backward, rel=1e-5)
    assert measured.num_predictions == 6
    assert measured.num_sentences is None and measured.num_left_out == 0


def test_carried_state_says_what_it_leaves_out_and_how_many_sentences_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perplexity_file, "CARRIED_ROWS", 2)
    path = tmp_path / "text.txt"
    path.write_text("a b c\na\nb a a b\n")  # the first row needs a fourth sentence when the second is in its third
    model = write_toy(tmp_path / "toy")
    measured = perplexity(model, [path], carry_state=True)
    assert (measured.num_predictions, measured.num_left_out) == (8, 3)
    path.write_text("a b c\n")
    with pytest.raises(ValueError, match=r"too little text; expected at least 2 sentences \(elmokit surprisal"):
        perplexity(model, [path], carry_state=True)


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


EIGHT_TOKENS = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c", "d", "never"])
NEWS, SPEECH = ["a b c a", "z", "c c d"], ["b z a c b b", "a"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two texts, a biLM, and a forward model; bands of ranks 1, 2 to 4 and above."""
    monkeypatch.setattr(breakdown, "LAST_RANKS", (1, 4))
    for name, sentences in (("news.txt", NEWS), ("speech.txt", SPEECH), ("both.txt", NEWS + SPEECH)):
        (tmp_path / name).write_text("\n".join(sentences) + "\n")
    for name, config in (("model", TINY), ("forward", replace(TINY, bidirectional=False))):
        write_toy(tmp_path / name, config, EIGHT_TOKENS)
    return tmp_path


def sides(measured: MeasuredText) -> list[Breakdown]:
    return [side for _, side in measured.breakdowns()]


def run(*arguments: object) -> int:
    return main(["perplexity", *map(str, arguments)])


def measure(folder: Path, **options: Any) -> PerplexityTable:
    """Measure both texts with the biLM."""
    return measure_files(str(folder / "model"), [folder / "news.txt", folder / "speech.txt"], **options)


def test_perplexities_bands_and_words_follow_from_each_prediction_and_the_costliest_words_come_first(folder: Path):
    whole = measure(folder, num_words=99).whole
    sentences = [sentence.split() for sentence in NEWS + SPEECH]
    bands = {"1 to 1": "a", "2 to 4": "b c d", "above 4": "never", "<S> </S>": "<S> </S>", "<UNK>": "<UNK>"}
    for direction, side in enumerate(sides(whole)):
        losses: dict[str, list[float]] = {token: [] for token in EIGHT_TOKENS.tokens}
        for predictions in losses_by_definition(sentences, backward=bool(direction), vocabulary=EIGHT_TOKENS):
            for token, loss in predictions:
                losses[token].append(loss)
        everything = [loss for own in losses.values() for loss in own]
        known = [loss for token, own in losses.items() for loss in own if token != "<UNK>"]
        found = astuple((whole.perplexity.forward, whole.perplexity.backward)[direction])
        assert found == pytest.approx([math.exp(np.mean(each)) for each in (everything, known)], rel=1e-5)
        assert (whole.perplexity.num_predictions, whole.perplexity.num_unknown) == (len(everything), 2)
        assert [band.name for band in side.bands] == list(bands)
        predicted = {token: token for token in losses if losses[token]}
        assert [word.name for word in side.worst_words] == sorted(predicted, key=lambda token: -sum(losses[token]))
        for costs, members in ((side.bands, bands), (side.worst_words, predicted)):
            for cost in costs:
                own = [loss for token in members[cost.name].split() for loss in losses[token]]
                assert cost.num_predictions == len(own)
                assert cost.share == pytest.approx(len(own) / len(everything))
                assert cost.total_loss == pytest.approx(sum(own), rel=1e-5)
                assert cost.loss_share == pytest.approx(sum(own) / sum(everything), rel=1e-5)
                if own:
                    assert cost.mean_loss == pytest.approx(sum(own) / len(own), rel=1e-5)
                    assert cost.perplexity == pytest.approx(math.exp(sum(own) / len(own)), rel=1e-5)
                else:
                    assert cost.name == "above 4" and cost.mean_loss is cost.perplexity is None
    for side in sides(measure(folder, num_words=4).whole):
        assert len(side.worst_words) == 4 and all(word.num_predictions for word in side.worst_words)
    assert sides(measure(folder).whole)[0].worst_words == ()


def test_bands_follow_the_rank_whatever_place_the_specials_have():
    words = [f"w{rank}" for rank in range(1, 100_003)]
    vocabulary = Vocabulary(["</S>", *words[:50], "<UNK>", *words[50:], "<S>"])
    bands = frequency_bands(vocabulary)
    tokens = {name: [vocabulary.tokens[int(token_id)] for token_id in ids] for name, ids in bands.items()}
    for start, end in ((1, 100), (101, 1_000), (1_001, 10_000), (10_001, 100_000)):
        assert tokens[f"{start:,} to {end:,}"] == words[start - 1 : end]
    assert tokens["above 100,000"] == ["w100001", "w100002"]
    assert (tokens["<S> </S>"], tokens["<UNK>"]) == (["<S>", "</S>"], ["<UNK>"])
    assert np.array_equal(np.sort(np.concatenate(list(bands.values()))), np.arange(len(vocabulary)))
    assert list(frequency_bands(EIGHT_TOKENS)) == ["1 to 100", "<S> </S>", "<UNK>"]


def test_each_file_and_the_union_are_measured_as_by_themselves(folder: Path):
    table, model = measure(folder), str(folder / "model")
    assert [file.name for file in (*table.files, table.whole)] == ["news.txt", "speech.txt", "all"]
    assert [file.perplexity for file in table.files] == [
        perplexity(model, [folder / file.name]) for file in table.files
    ]
    whole, alone = table.whole.perplexity, perplexity(model, [folder / "both.txt"])
    for one, other in ((whole.forward, alone.forward), (whole.backward, alone.backward)):
        assert astuple(one) == pytest.approx(astuple(other), rel=1e-5)
    assert replace(whole, forward=alone.forward, backward=alone.backward) == alone


def test_with_carried_state_every_file_is_a_stream_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(perplexity_file, "CARRIED_ROWS", 1)
    table = measure(folder, carry_state=True)
    files = [folder / "news.txt", folder / "speech.txt"]
    alone = [perplexity(str(folder / "model"), [path], carry_state=True) for path in files]
    assert [file.perplexity for file in table.files] == alone
    loss = sum(math.log(one.forward.perplexity) * one.num_predictions for one in alone)
    num_predictions = sum(one.num_predictions for one in alone)
    whole = table.whole.perplexity
    assert whole.forward.perplexity == pytest.approx(math.exp(loss / num_predictions))
    assert (whole.num_predictions, whole.num_sentences, whole.carried_state) == (num_predictions, None, True)


def test_a_forward_model_has_one_direction_everywhere(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(folder / "forward", folder / "news.txt", "--top", 2, "--json", folder / "out.json") == 0
    shown = capsys.readouterr().out
    assert "forward, costliest words" in shown and "backward" not in shown and "mean\n" not in shown
    assert "by rank" not in shown and shown.splitlines()[2].startswith("3 sentences, ")  # after the only row
    written = json.loads((folder / "out.json").read_text())
    for one in (*written["files"], written["whole"]):
        assert one["backward"] is one["perplexity"]["backward"] is None
        assert len(one["forward"]["worst_words"]) == 2


def test_json_holds_and_the_terminal_shows_what_python_has(folder: Path, capsys: pytest.CaptureFixture[str]):
    options = ("--bands", "--top", 2, "--json", folder / "out.json")
    assert run(folder / "model", folder / "news.txt", folder / "speech.txt", *options) == 0
    written = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert written.pop("format") == "elmokit perplexity" and written.pop("version") == 1
    table = measure(folder, num_words=2)
    assert written == json.loads(json.dumps(asdict(table)))
    shown, found = capsys.readouterr().out.splitlines(), table.whole.perplexity
    numbers = [*astuple(found.forward), *astuple(found.backward), found.mean]
    assert " ".join(shown[0].split()) == "predictions UNK forward without UNK backward without UNK mean"
    assert [row.split()[0] for row in shown[1:3]] == ["news.txt", "speech.txt"]
    assert shown[3].split() == ["all", "20", "10.00%", *(f"{number:.2f}" for number in numbers)]
    counts = "5 sentences, 20 predictions per direction, 2 of UNK (10.00%), vocabulary 8, each sentence by itself"
    assert shown[4] == counts and shown[-2].startswith("Losses are in nats;")
    band = shown[shown.index("forward, by rank in the vocabulary") + 4]
    assert band.split() == ["above", "4", "0", "0.0%", "-", "-", "0.0%"]
    word = sides(table.whole)[0].worst_words[0]
    costs = [f"{word.mean_loss:.3f}", f"{word.total_loss:.1f}", f"{word.loss_share:.2%}"]
    row = shown[shown.index("forward, costliest words") + 2]
    assert row.split() == ["1", str(word.num_predictions), *costs, word.name]


def test_numbers_that_are_not_finite_are_null(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*given: Any, **named: Any) -> SoftmaxPredictions:
        found = full_softmax_predictions(*given, **named)
        return replace(found, losses=torch.full_like(found.losses, 1000.0))

    monkeypatch.setattr(surprisal, "full_softmax_predictions", broken)
    table = measure_files(str(folder / "model"), [folder / "news.txt"])
    assert table.whole.perplexity.forward.perplexity == math.inf
    assert json.loads(table.to_json())["whole"]["perplexity"]["forward"]["perplexity"] is None


def test_bad_input_is_one_line_and_leaves_the_old_file(folder: Path, capsys: pytest.CaptureFixture[str]):
    output = folder / "out.json"
    output.write_text("old")
    not_utf8 = folder / os.fsdecode(b"caf\xe9")
    os.link(folder / "news.txt", not_utf8)
    before = sorted(os.listdir(folder))
    news = folder / "news.txt"
    for arguments, message in (
        ([news, not_utf8], r"caf\udce9: its name is not UTF-8"),
        ([news, folder / "missing.txt"], "missing.txt: there is no such file"),
        ([news, "--top", 0], "the number of worst words is 0; expected at least 1"),
        ([news, "--carry-state"], "at least 256 sentences"),
    ):
        assert run(folder / "model", *arguments, "--json", output) == 2
        shown, error = capsys.readouterr()
        assert shown == "" and error.startswith("elmokit: error: ") and error.count("\n") == 1 and message in error
    assert run(folder / "model", news, "--json", folder / "no" / "out.json") == 2
    assert "create it first" in capsys.readouterr().err
    assert output.read_text() == "old" and sorted(os.listdir(folder)) == before


def test_what_cannot_be_measured_is_refused_before_anything_is(folder: Path):
    (folder / "empty.txt").write_text("\n")
    for files, num_words, message in (
        ([], None, "no files were given"),
        ([folder / "news.txt", folder / "empty.txt"], None, "there is no sentence in"),
        ([folder / "news.txt"], 0, "the number of worst words is 0; expected at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            measure_files("a model that is not even looked for", files, num_words=num_words)


def test_piped_text_is_measured_whole_and_files_of_one_name_are_told_apart(folder: Path):
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text((folder / "news.txt").read_text()))
    writer.start()
    piped = measure_files(str(folder / "model"), [pipe]).whole.perplexity
    writer.join()
    again = folder / "model" / "news.txt"
    again.write_text("a\n")
    first, second = measure_files(str(folder / "model"), [folder / "news.txt", again]).files
    assert piped == first.perplexity
    assert (first.name, second.name) == (str(folder / "news.txt"), str(again))  # the same name, told apart
    with pytest.raises(ValueError, match="pipe can be read only once, but with carried state each direction reads it"):
        measure_files(str(folder / "model"), [pipe], carry_state=True)


@pytest.mark.parametrize("carry_state", [False, True])
def test_text_that_the_model_has_not_read_the_like_of_is_said(folder: Path, carry_state: bool):
    text = folder / "nfd.txt"
    text.write_text("cafe\u0301 a b c d\n" * 300)
    with pytest.warns(UserWarning, match=r"300 of 1,500 tokens are not in Unicode NFC, .*model was trained on NFC"):
        measure_files(str(folder / "model"), [text], carry_state=carry_state)
    text.write_text("나 는 너 를\n" * 300)
    with pytest.warns(UserWarning, match="most of this text is written in Hangul"):
        perplexity(str(folder / "model"), [text], carry_state=carry_state)
