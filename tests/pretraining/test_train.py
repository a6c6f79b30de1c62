"""Runs: they learn by heart, resume to the same bits, refuse impossible settings, and write a log."""

import json
import math
import os
import re
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import toy_run
from elmokit.corpus.batches import PackerState
from elmokit.corpus.stream import CorpusPosition
from elmokit.elmo.elmo import Elmo
from elmokit.pretraining import before_training, logging, run_folder
from elmokit.pretraining import train as train_file
from elmokit.pretraining.before_training import resolved
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.logging import RunLog
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.record import read_record
from elmokit.pretraining.run_folder import PretrainingProgress, checkpoints
from elmokit.pretraining.train import Run, pretrain, resume_pretraining
from elmokit.runs.tensor_files import DivergenceError
from elmokit.scoring.perplexity import perplexity
from elmokit.text.vocabulary import Vocabulary
from limited_disk import files_of_at_most
from run_contents import content_of
from toy_run import SENTENCES, pretrain_toy, toy_config, write_text


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    """The four sentences, as `pretrain_toy` writes them, and their vocabulary."""
    return write_text(tmp_path)[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that `pretrain_toy` makes without changes."""
    return pretrain_toy(tmp_path_factory.mktemp("whole") / "run")


def interrupt_at(step: int) -> Callable[[Run], None]:
    """What Ctrl+C does after a step."""

    def interrupt(run: Run) -> None:
        if run.progress.step == step:
            raise KeyboardInterrupt

    return interrupt


@pytest.mark.learnt
def test_learns_four_sentences_by_heart(shard: Path, tmp_path: Path) -> None:
    run = pretrain_toy(tmp_path / "run", "num_steps=90", "lstm_dim=64", "checkpoint_every=90")
    learnt = perplexity(str(run), [shard])
    best = 4 ** (4 / 37)  # 4 of the 37 predictions, which of 4 sentences comes, cannot be known; the others can
    assert learnt.backward is not None
    for side in (learnt.forward, learnt.backward):
        assert best * 0.99 < side.perplexity < 1.5  # usually 1.163; a guess has about 20


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize(
    ("optimizer", "kind"),
    [
        *(("adagrad", "sampled"), ("adamw", "full"), ("muon muon_for=all", "sampled")),
        ("adagrad directions=stacked accumulate=2", "sampled"),
    ],
)
def test_a_resumed_run_gives_the_same_bits(tmp_path: Path, optimizer: str, kind: str) -> None:
    changes = [*f"optimizer={optimizer}".split(), f"softmax={kind}", "num_negatives=6", "dropout_rate=0.1"]
    whole = pretrain_toy(tmp_path / "whole", *changes)
    halted = tmp_path / "halted"
    with pytest.raises(KeyboardInterrupt):  # the steps after the last checkpoint are made again and logged once
        pretrain_toy(halted, *changes, on_step=interrupt_at(7))
    assert [step for step, _ in _losses(halted)] == [2, 4, 6]
    assert [path.name for path in (halted / "checkpoints").iterdir()] == ["step-00000005"]
    with (halted / "metrics.jsonl").open("a") as log:
        log.write('{"step": 7')  # as a kill may leave it
    resume_pretraining(halted)

    for name in ("model.safetensors", "training.safetensors"):
        one, other = (run / "checkpoints" / "step-00000012" / name for run in (whole, halted))
        assert one.read_bytes() == other.read_bytes()
    assert (whole / "model.safetensors").read_bytes() == (halted / "model.safetensors").read_bytes()
    assert _losses(whole) == _losses(halted)


def _losses(run: Path) -> list[tuple[int, float]]:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [(entry["step"], entry["loss"]) for entry in map(json.loads, lines)]


@pytest.mark.parametrize(("text", "share"), [("", None), ("she hummed\n", 0.5), ("the she\n", 0.0)])
def test_a_model_warns_of_text_with_far_more_unknown_tokens_than_its_held_out_text(
    shard: Path, tmp_path: Path, text: str, share: float | None
) -> None:
    held_out = tmp_path / "held-out.txt"
    held_out.write_text(text)
    vocabulary = shard.with_name("vocabulary.txt")
    given = {"held_out": [held_out] if text else [], "vocabulary_path": vocabulary, "device": "cpu"}
    run = pretrain([shard], config=toy_config("num_steps=2"), run_dir=tmp_path / "run", **given)
    assert read_record(run).unknown_share == share
    Elmo(run).save(tmp_path / "saved")
    foreign = [["she", "zzz", "yyy", "the"]] * 25
    for model in (run, tmp_path / "saved"):
        if share != 0:  # not measured, or half of the tokens, as in the foreign text
            Elmo(model).encode(foreign)
        else:
            with pytest.warns(UserWarning, match=r"50% of the first 100 tokens .* with 0% in text like its"):
                Elmo(model).encode(foreign)


@pytest.mark.usefixtures("on_cpu")
def test_a_full_disk_leaves_the_checkpoint_before(whole: Path, tmp_path: Path) -> None:
    with ExitStack() as full_disk:

        def fill_the_disk_at_seven(run: Run) -> None:
            if run.progress.step == 7:
                checkpoint = run.run_dir / "checkpoints" / "step-00000005"
                full_disk.enter_context(files_of_at_most((checkpoint / "training.safetensors").stat().st_size - 100))

        run = tmp_path / "run"
        with pytest.raises(OSError, match="File too large") as caught:
            pretrain_toy(run, on_step=fill_the_disk_at_seven)
    assert caught.value.filename == str(run / "checkpoints" / "step-00000010")
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000005"]
    resume_pretraining(run)
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("value", "found"),
    [(math.nan, "a loss or a gradient is not finite"), (1e4, r"a loss is \d+\.\d nats, but guessing has only \d\.\d")],
)
def test_a_loss_that_shows_divergence_stops_the_run_and_is_named(tmp_path: Path, value: float, found: str) -> None:
    def poison(run: Run) -> None:
        if run.progress.step in (4, 7):
            bias = run.softmax.bias if math.isfinite(value) else run.bilm.get_parameter("backward_lstm.layers.1.bias")
            torch.nn.init.constant_(bias[:1], value)

    run = tmp_path / "run"
    with pytest.raises(DivergenceError, match=f"step 4: {found}.*run has no checkpoint yet.* weight_decay=0.1"):
        pretrain_toy(run, on_step=poison)
    resume_pretraining(run, ["num_steps=6"])
    with pytest.raises(DivergenceError, match="step 7: .*; the last checkpoint in .*run is intact"):
        resume_pretraining(run, ["num_steps=12"], on_step=poison)
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000005", "step-00000006"]


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("softmax", 1e4, "step 3: .*step-00000003 has diverged too: move it away"),
        ("backward_lstm", -math.inf, "step 3: a weight or .* is not finite, .*has no checkpoint"),
    ],
)
def test_a_checkpoint_that_has_diverged_is_named_and_without_finite_numbers_it_is_not_written(
    tmp_path: Path, name: str, value: float, found: str
) -> None:
    def spoil_and_save(run: Run) -> None:
        if run.progress.step == 3:
            bias = run.softmax.bias if name == "softmax" else run.bilm.get_parameter(f"{name}.layers.1.bias")
            torch.nn.init.constant_(bias[:1], value)
            run.save()

    run = tmp_path / "run"
    with pytest.raises(DivergenceError, match=found):
        pretrain_toy(run, on_step=spoil_and_save)
    assert (run / "model.safetensors").exists() == math.isfinite(value)
    if not math.isfinite(value):
        resume_pretraining(run, ["num_steps=5"])
        assert (run / "checkpoints" / "step-00000005").is_dir()


def test_a_held_out_perplexity_of_infinity_stops_the_run(shard: Path, tmp_path: Path, monkeypatch: Any) -> None:
    run = tmp_path / "run"
    diverged = SimpleNamespace(mean=math.inf)
    with monkeypatch.context() as patch, pytest.raises(DivergenceError, match="step 12: the held-out perplexity is"):
        patch.setattr(train_file, "bilm_perplexity", lambda *_: diverged)
        pretrain_toy(run, held_out=[shard])
    assert not (run / "best").exists()
    assert [path.name for path in checkpoints(run)] == ["step-00000010", "step-00000005"]
    resume_pretraining(run)
    assert (run / "best").is_dir()


def test_a_run_that_patience_ended_says_what_trains_it_on(shard: Path, tmp_path: Path) -> None:
    run = pretrain_toy(
        tmp_path / "run", "evaluate_every=1", "patience=2", "learning_rate=1e-30", "num_steps=9", held_out=[shard]
    )
    before = (run / "config.json").read_bytes()
    resume_pretraining(run)
    with pytest.raises(ValueError, match=r"stopped at step 3 after 2 evaluations without .*; set patience=0, or"):
        resume_pretraining(run, ["num_steps=12"])
    assert (run / "config.json").read_bytes() == before
    resume_pretraining(run, ["num_steps=4", "patience=0"])
    assert checkpoints(run)[0].name == "step-00000004"


def test_held_out_text_that_is_trained_on_and_files_that_are_named_twice_are_warned_of(tmp_path: Path) -> None:
    sentences = [f"w{number} v{number}\n" for number in range(200)]
    (tmp_path / "held-out.txt").write_text("".join(sentences).replace(" ", "  ") + "the boat\n")
    settings = ("num_steps=1", "warmup_steps=0")
    for num_seen in (9, 10, 11):  # of 201: 5 % is 10.05
        text, twice = "".join(sentences[-num_seen:]), [tmp_path / "held-out.txt"] * 2
        with pytest.warns(UserWarning) as given:
            pretrain_toy(tmp_path / f"run {num_seen}", *settings, text=text, held_out=twice)
        found = " ".join(str(each.message) for each in given)
        assert f"the held-out text is given more than once, so it counts more than once: {twice[0]}" in found
        seen = "11 of the 201 different held-out sentences also occur in the shards, so held-out perplexity will be"
        assert (seen in found) == (num_seen == 11)


def test_a_vocabulary_in_alphabetical_order_is_warned_of_where_ids_are_ranks(tmp_path: Path) -> None:
    words = [f"w{number:04}" for number in range(6_000)]
    shard, vocabulary = write_text(tmp_path, f"{' '.join(words[-100:])}\n" * 10)  # its words are the vocabulary's last
    Vocabulary(["<S>", "</S>", "<UNK>", *words]).write(vocabulary)
    config = toy_config("softmax=sampled", "num_negatives=16", "num_steps=1", "warmup_steps=0")
    with pytest.warns(UserWarning, match="does not seem to be sorted by descending frequency"):
        pretrain([shard], vocabulary_path=vocabulary, run_dir=tmp_path / "run", config=config)


def test_best_has_weights_that_the_log_knows_also_after_a_kill(shard: Path, tmp_path: Path, capsys: Any) -> None:
    settings = ("evaluate_every=1", "checkpoint_every=4", "num_steps=8", "learning_rate=0.05")
    whole, killed, gone = (tmp_path / name for name in ("whole", "killed", "gone"))
    pretrain_toy(whole, *settings, held_out=[shard])
    with pytest.raises(KeyboardInterrupt):
        pretrain_toy(killed, *settings, held_out=[shard], on_step=interrupt_at(7))
    assert run_folder.best_step(killed) == 7
    shutil.copytree(killed, gone)
    shutil.rmtree(gone / "best")
    later = Path(shutil.copytree(killed, tmp_path / "later"))
    resume_pretraining(killed)
    for name in ("best/model.safetensors", "checkpoints/step-00000008/training.json", "metrics.jsonl"):
        assert content_of(killed / name) == content_of(whole / name)
    for run in (later, gone):  # both go back to step 4, then differ from before
        capsys.readouterr()
        resume_pretraining(run, ["learning_rate=1e-30"])
        step = run_folder.best_step(run)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        (mean,) = (line["heldout"]["mean"] for line in lines if line["step"] == step and "heldout" in line)
        assert perplexity(str(run / "best"), [shard]).mean == pytest.approx(mean)
        assert f"held-out perplexity {mean:.1f} (step {step}): {run}/best" in capsys.readouterr().err


def test_held_out_text_that_is_gone_is_missed(shard: Path, tmp_path: Path) -> None:
    run = pretrain_toy(tmp_path / "run", "num_steps=2", "evaluate_sentences=3", held_out=[shard])
    assert len((run / "heldout.txt").read_text().splitlines()) == 3
    kept = (run / "heldout.txt").rename(tmp_path / "kept.txt")
    resume_pretraining(run)  # it has ended
    with pytest.raises(FileNotFoundError, match=r"run/heldout\.txt is missing; .*: put it back"):
        resume_pretraining(run, ["num_steps=4"])
    kept.rename(run / "heldout.txt")
    resume_pretraining(run, ["num_steps=4"])


@pytest.mark.parametrize("name", ["heldout.txt", "checkpoints/epoch=3.ckpt"])
def test_a_run_replaces_only_what_a_start_cut_short_has_left(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    theirs = run / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text("the boat\n")
    with pytest.raises(ValueError, match=f"run already has {name.split('/')[0]}, which the run would replace; choose"):
        pretrain_toy(run, "num_steps=1")
    assert theirs.read_text() == "the boat\n"  # it may be the user's
    (run / ".starting").touch()
    pretrain_toy(run, "num_steps=1")
    assert "heldout" not in (run / "metrics.jsonl").read_text()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """The usual signal handlers; a shell and nohup take them away from jobs in the background."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("number", "raised", "message"),
    [
        (signal.SIGTERM, SystemExit(143), "finishing this step and saving\n"),
        (signal.SIGHUP, SystemExit(129), "finishing this step and saving\n"),
        (signal.SIGINT, KeyboardInterrupt(), "finishing this step and saving; Ctrl-C again ends at once\n"),
    ],
)
def test_a_signal_saves_and_stops_and_the_rest_is_the_same(
    whole: Path, tmp_path: Path, capsys: Any, number: int, raised: BaseException, message: str
) -> None:
    def stop_after_seven(run: Run) -> None:
        if run.progress.step == 7:
            os.kill(os.getpid(), number)

    run = tmp_path / "my run"
    before = signal.getsignal(number)
    with pytest.raises(type(raised)) as stopped:
        pretrain_toy(run, on_step=stop_after_seven)
    assert stopped.value.args == raised.args
    said = capsys.readouterr().err
    assert message in said
    assert said.endswith(f"\nstopped at step 8; elmokit pretrain --resume '{run}' continues\n")
    assert signal.getsignal(number) == before
    assert (run / "checkpoints" / "step-00000008").is_dir()
    resume_pretraining(run)
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert _losses(run) == _losses(whole)


@pytest.mark.usefixtures("interruptible")
def test_a_terminal_that_closes_does_not_end_a_run_before_it_has_saved(tmp_path: Path, monkeypatch: Any) -> None:
    master, slave = os.openpty()

    def close_the_terminal(run: Run) -> None:
        if run.progress.step == 3:
            os.close(master)
            os.kill(os.getpid(), signal.SIGHUP)

    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit, match="129"):
            pretrain_toy(tmp_path / "run", "log_every=1", on_step=close_the_terminal)
    assert (tmp_path / "run" / "checkpoints" / "step-00000004").is_dir()


@pytest.mark.parametrize("handler", [None, signal.SIG_IGN])  # None: not set from Python
def test_signals_that_somebody_else_answers_stay_as_they_are(tmp_path: Path, monkeypatch: Any, handler: Any) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda _: handler)
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("changed a handler"))
    pretrain_toy(tmp_path / "run", "num_steps=1")


@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    def interrupt_twice(run: Run) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        raise EOFError

    with pytest.raises(EOFError):
        pretrain_toy(tmp_path / "run", on_step=interrupt_twice)


def test_a_run_leaves_the_random_numbers_of_the_program_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with pytest.warns(UserWarning, match="training with the full softmax") as given:
        run = pretrain_toy(tmp_path / "run", "softmax=sampled", "num_negatives=4096", "num_steps=1")
    assert given[0].filename == toy_run.__file__
    assert json.loads((run / "config.json").read_text())["pretraining"]["softmax"] == "full"
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(("num_negatives", "softmax"), [(12, "sampled"), (13, "full")])
@pytest.mark.filterwarnings("ignore:.*training with the full softmax")
def test_the_full_softmax_replaces_sampling_most_of_the_vocabulary(num_negatives: int, softmax: str) -> None:
    config = with_settings(recipe("tiny"), ["softmax=sampled", f"num_negatives={num_negatives}", "precision=float32"])
    assert resolved(config, num_tokens=24, device=torch.device("cpu")).softmax == softmax


def test_a_log_file_gets_whole_lines_and_at_least_one_a_minute(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    pretrain_toy(tmp_path / "run", "num_steps=2")
    start, first, last = capsys.readouterr().err.splitlines()
    read = "2 steps of 40 tokens, which read the 33 tokens of text 2.2 times"  # and 4 ends of sentences
    assert start == f"51,528 parameters and 792 of the softmax; {read}"
    assert first.startswith("step 1/2: loss ")
    assert re.fullmatch(r"step 2/2: loss \d\.\d{3}, training perplexity \d+\.\d, [\d,]+ tokens/s, 0:00:00 left", last)
    card = (tmp_path / "run" / "README.md").read_text()
    assert "or has trained on shard.txt (33 tokens), with a vocabulary of 24 tokens." in card
    monkeypatch.setattr(logging, "LINE_EVERY", 0)
    pretrain_toy(tmp_path / "other", "num_steps=3", "log_every=100")
    lines = capsys.readouterr().err.splitlines()[1:]
    assert [line.partition(":")[0] for line in lines] == ["step 1/3", "step 2/3", "step 3/3"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["num_steps=9", "warmup_steps=3"], None),
        (["num_steps=10"], "10 steps read the 33 tokens of text 11 times, and without held-out text"),
        (["num_steps=12", "warmup_steps=5"], "5 of the 12 steps would be warm-up; a tenth is usual: warmup_steps=1$"),
        (["num_steps=9", "warmup_steps=90", "learning_rate=1"], "90 of the 9 steps would be warm-up; a tenth"),
    ],
)
def test_settings_that_rarely_make_a_good_model_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str], message: str | None
) -> None:
    monkeypatch.setattr(Run, "train", lambda self, on_step: None)
    begun = ["num_steps=1", "warmup_steps=0"]
    run = pretrain_toy(tmp_path / "run", *begun)
    with pytest.warns(UserWarning, match=message) if message else nullcontext():
        pretrain_toy(tmp_path / "new", *begun, *changes)
    with pytest.warns(UserWarning, match=message) if message else nullcontext():
        resume_pretraining(run, changes)


@pytest.mark.parametrize(
    ("change", "is_warned_of"), [("seed=0", True), ("dropout_rate=0.1", False), ("num_steps=2", False)]
)
def test_more_than_three_passes_without_dropout_are_warned_of(
    tmp_path: Path, monkeypatch: Any, change: str, is_warned_of: bool
) -> None:
    monkeypatch.setattr(Run, "train", lambda self, on_step: None)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        pretrain_toy(tmp_path / "run", "num_steps=4", "warmup_steps=0", change)
    message = "4 steps read the 33 tokens of text 4.3 times, and without dropout a model learns them by heart after"
    assert [str(one.message).startswith(message) for one in given] == [True] * is_warned_of


def test_the_log_is_tensorboards_too_and_its_file_is_closed_in_any_end(shard: Path, tmp_path: Path, monkeypatch: Any):
    pytest.importorskip("tensorboard", reason="needs the extra: pip install 'elmokit[tb]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard.writer import SummaryWriter

    closed, close = list[SummaryWriter](), SummaryWriter.close
    monkeypatch.setattr(SummaryWriter, "close", lambda writer: closed.append(writer) or close(writer))
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        pretrain_toy(run, "tensorboard=true", held_out=[shard], on_step=interrupt_at(3))
    resume_pretraining(run)
    assert len(closed) == 2
    events = EventAccumulator(str(run / "tensorboard")).Reload()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    logged = [(scalar.step, scalar.value) for scalar in events.Scalars("loss")]
    assert logged == [(line["step"], pytest.approx(line["loss"])) for line in lines if "loss" in line]
    assert len(events.Scalars("heldout/mean")) == 1
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    with pytest.raises(ValueError, match=r"tensorboard=true needs tensorboard.*pip install 'elmokit\[tb\]'"):
        pretrain_toy(tmp_path / "new", "tensorboard=true")
    assert not (tmp_path / "new").exists()  # so that the command can be corrected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (b"bad", SENTENCES.encode() + b"caf\xe9\n", "bad, line 5: byte 0xe9 at byte 4 is not UTF-8"),
        (b"caf\xe9.txt", SENTENCES.encode(), r"\.txt: its name is not UTF-8; rename"),
        (b"pipe", None, "the shard .*pipe is a pipe or standard input; write it to a file"),
        (b"shard.txt", b"\n\n", "there is no sentence in "),
    ],
)
@pytest.mark.filterwarnings("ignore:the shard is given more than once")
def test_nothing_is_written_for_a_corpus_that_cannot_be_read(shard: Path, name: bytes, content: Any, message: str):
    shard.write_text(SENTENCES * 300)  # more than the part that is compared with the vocabulary
    bad, vocabulary, run = (shard.with_name(each) for each in (os.fsdecode(name), "vocabulary.txt", "run"))
    if content is None:
        os.mkfifo(bad)
    else:
        bad.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        pretrain([shard, bad], vocabulary_path=vocabulary, run_dir=run, config=toy_config())
    assert not run.exists()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("lookup=1", "unknown field 'lookup'"),  # a separate record, which no setting can give
        ("num_steps", "has no '='"),
        ("num_steps=many", "expected int"),
        ("num_steps=0", "at least 1"),
        ("dropout_rate=1", "below 1"),
        ("optimizer=sgd", "expected one of adagrad, adam, adamw, muon"),
        ("lstm_dim=8", "wider than lstm_dim"),
        ("filters=[[0,1]]", "all positive"),
        ("adam_betas=[0.9,1]", r"adam_betas is \(0\.9, 1\.0\); expected at least 0 and below 1"),
        ("bptt_steps=1048577", "bptt_steps is 1048577; it must be at most 1048576"),
        ("decay_share=0.2 decay_steps=100", "decay_share is 0.2 and decay_steps 100; expected"),
        ("decay_share=1.5", "expected a share from 0 to 1"),
        ("keep_every=3 checkpoint_every=2", "keep_every is 3; expected a multiple of checkpoint_every, 2"),
    ],
)
def test_bad_settings_are_refused_with_their_reason(setting: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        with_settings(recipe("tiny"), setting.split())
    with pytest.raises(ValueError, match=f"the settings are '{re.escape(setting)}'; expected a list"):
        with_settings(recipe("tiny"), setting)


@pytest.mark.parametrize(("name", "millions"), [("small", 13.593296), ("medium", 28.027728), ("original", 93.600848)])
def test_published_recipes_have_the_published_sizes(name: str, millions: float) -> None:
    assert recipe(name).bilm.num_parameters == round(millions * 1e6)  # docs/model.md, section 14


def test_the_schedule_rises_stays_and_falls() -> None:
    config = with_settings(
        recipe("mini"), ["num_steps=100", "warmup_steps=10", "decay_steps=50", "schedule=linear", "learning_rate=1"]
    )
    rates = [config.learning_rate_at(step) for step in (0, 9, 10, 50, 75, 99)]
    assert rates == pytest.approx([0.1, 1.0, 1.0, 1.0, 0.5, 0.02])
    shared = with_settings(config, ["num_steps=2000", "decay_steps=0", "decay_share=0.2"])  # in the last fifth of a run
    assert [shared.learning_rate_at(step) for step in (1600, 1800, 2000)] == pytest.approx([1.0, 0.5, 0.0])
    cosine = with_settings(config, ["schedule=cosine"])
    assert [cosine.learning_rate_at(step) for step in (50, 75)] == pytest.approx([1.0, 0.5])


def test_the_automatic_precision_is_bfloat16_where_it_is_multiplied_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    def precision_on(device: str) -> str:
        return resolved(recipe("tiny"), num_tokens=10**6, device=torch.device(device)).precision

    for has_it, expected in ((True, "bfloat16"), (False, "float32")):
        times = {torch.float32: 1.0, torch.bfloat16: 0.5 if has_it else 0.9}
        monkeypatch.setattr(before_training, "_product_seconds", times.__getitem__)
        monkeypatch.setattr(
            torch.cuda, "is_bf16_supported", lambda *, including_emulation, it=has_it: it or including_emulation
        )
        assert precision_on("cpu") == precision_on("cuda") == expected
    assert precision_on("mps") == "float32"


def test_the_log_knows_speed_and_perplexities_and_only_the_first_process_speaks(tmp_path: Path, capsys: Any) -> None:
    config = PretrainingConfig(num_steps=100, batch_size=4, bptt_steps=5, learning_rate=0.5, softmax="sampled")
    before = PretrainingProgress(  # a checkpoint after nine steps that are not yet in the log
        (PackerState(CorpusPosition(), ([],)),), step=9, num_tokens=180, unlogged_losses=((1.0, 3.0),) * 9
    )
    losses = ((1.0, 3.0),) * 10
    progress = replace(before, step=10, num_tokens=200, seconds=10.0, unlogged_losses=losses).evaluated(110.0)
    for silent in (False, True):
        with RunLog(tmp_path, config, before, silent=silent) as log:
            log.show_step(progress)
            log.log_losses(progress)
    expected = "step 10/100: sampled loss 2.000, best held-out perplexity 110.0, 2 tokens/s, 0:15:00 left\n"
    assert capsys.readouterr().err == expected  # 90 steps of 10 seconds
    (line,) = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    speed = {"learning_rate": 0.5, "tokens_per_second": 2.0, "seconds": 10.0}
    assert line == {"step": 10, "num_tokens": 200, "loss": 2.0, "losses": [1.0, 3.0], **speed}
