import json
import math
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import elmokit
from elmokit.files.locks import InUseError, lock
from elmokit.runs.tensor_files import DivergenceError
from elmokit.tasks.config import Splits, TrainingConfig, with_settings
from elmokit.tasks.data import digest, read_data, report_foreign_labels
from elmokit.tasks.loop import TaskTraining, num_tokens, read_progress, training_batches
from elmokit.tasks.predict import load_task
from elmokit.tasks.run import read_record, write_record
from elmokit.tasks.task import Task, find_task, task_recipe
from elmokit.tasks.train import resume_task, train
from elmokit.vectors.cache import CachedActivations
from run_contents import contents_of_run
from toy_task import TOY, changed

Toy = Task[Any, Any]
Run = Callable[..., Path]

EVERYTHING = (
    *("average_decay=0.9", "clip_norm=1", "clip_value=0.5", "halve_after=1", "decay=0.9", "decay_steps=7"),
    *("weight_decay=0.01", "elmo=both", "elmo.penalty=0.1", "elmo.dropout_rate=0.2", "max_epochs=4", "patience=5"),
)


@pytest.fixture
def run(toy: Toy, toy_data: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path) -> Run:
    def start(name: str, *settings: str, task: Toy = toy, data: Path | Splits = toy_data, **given: Any) -> Path:
        settings = ("elmo=none", f"elmo.model={tiny_bilms[0]}", "max_epochs=1", *settings)
        given = {"cache": tmp_path / "cache", "device": "cpu"} | given
        return train(task, data, run_dir=tmp_path / name, settings=settings, **given)

    return start


def lines(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def contents(run_dir: Path) -> dict[str, object]:
    progress = read_progress(run_dir / "checkpoint.safetensors")
    return contents_of_run(run_dir) | {"progress": replace(progress, seconds=0, processor_seconds=0)}


@pytest.mark.learnt
def test_a_run_learns_and_writes_what_it_did(run: Run, capsys: pytest.CaptureFixture[str]):
    run_dir = run("run", "max_epochs=6", "learning_rate=0.05", test=True)
    *epochs, result = lines(run_dir)
    assert [line["epoch"] for line in epochs] == [1, 2, 3, 4, 5, 6]
    assert [line["step"] for line in epochs] == [10, 20, 30, 40, 50, 60]
    assert epochs[-1]["loss"] < epochs[0]["loss"] / 2
    best = max(epochs, key=lambda line: (line["dev"]["accuracy"], -line["epoch"]))
    assert result["result"] and result["best_epoch"] == best["epoch"]
    assert result["dev"] == best["dev"] and result["dev"]["accuracy"] > 60  # a third of guesses are right
    assert list(result["test"]) == ["test.tsv"] and result["test"]["test.tsv"]["accuracy"] > 60
    assert result["stopped_by"] == "max_epochs" and "converged" not in result
    assert (result["version"], result["date"][:2]) == (elmokit.__version__, "20") and result["commit"]
    config = json.loads((run_dir / "config.json").read_text())
    assert config["task"] == "toy" and config["symbols"] == ["a", "b", "c"]
    assert config["examples"]["train"] == {"examples": 40, "without a label": 1}
    shown = capsys.readouterr().err
    assert "train: skipped 1: without a label" in shown and "epoch 6: loss" in shown
    score = result["test"]["test.tsv"]["accuracy"]
    assert f"test.tsv, with the weights that are best on the development set: accuracy {score:.2f}" in shown


def test_the_test_set_is_scored_only_when_that_is_asked_for(
    run: Run, toy: Toy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    settings: dict[str, Any] = {"task": toy, "cache": tmp_path / "cache", "device": "cpu"}
    asked = lines(run("asked", "elmo=both", "max_epochs=2", test=True))[-1]
    run_dir = run("run", "elmo=both", "max_epochs=2")
    before = lines(run_dir)
    assert before[-1]["test"] == {} and asked["test"]["test.tsv"]
    resume_task(run_dir, **settings)
    assert lines(run_dir) == before
    for test in (True, False):  # scores that are there stay
        capsys.readouterr()
        resume_task(run_dir, test=test, **settings)
        said = capsys.readouterr().err
        assert ("test.tsv, with the weights that are best" in said) == test
        assert ("has ended already; its scores are in" in said) != test
        *epochs, result = lines(run_dir)
        assert epochs == before[:-1]
        assert {name: result[name] for name in ("dev", "test")} == {name: asked[name] for name in ("dev", "test")}


def test_a_new_test_file_is_scored_even_if_it_has_the_name_of_the_old_one(
    run: Run, toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "new").mkdir()
    for name in ("other.tsv", "new/test.tsv"):
        (tmp_path / name).write_text("?\tnothing\na\tcow\nb\tcow\nc\tcow\n")
    run_dir = run("run", test=True)
    assert lines(run_dir)[-1]["test"]["test.tsv"]["accuracy"] % 5 == 0  # of 20 examples

    def scores(*test: Path) -> dict[str, Any]:
        data = replace(read_record(run_dir, toy).files, test=test) if test else None
        resume_task(run_dir, task=toy, data=data, test=True, device="cpu")
        return lines(run_dir)[-1]["test"]

    for name in ("new/test.tsv", "other.tsv"):
        assert scores(tmp_path / name)[Path(name).name]["accuracy"] == pytest.approx(100 / 3)
    (tmp_path / "other.tsv").write_text("a\tcow\nb\tcow\nc\tcow\nx\tcow\n")
    assert scores()["other.tsv"]["accuracy"] == 25
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "test.tsv").symlink_to(tmp_path / "other.tsv")
    monkeypatch.chdir(tmp_path)
    scores(Path("new/test.tsv"), Path("link/test.tsv"))
    monkeypatch.chdir("/")
    assert list(scores()) == ["new/test.tsv", "link/test.tsv"]
    assert read_record(run_dir, toy).files.test == tuple(tmp_path / name for name in ("new/test.tsv", "link/test.tsv"))


def test_test_scores_stay_as_long_as_the_weights_do(run: Run, toy: Toy, tmp_path: Path):
    rest = chain((50.0, 30.0, 30.0, 40.0, 30.0, 60.0), repeat(30.0))
    task = changed(toy, score=lambda examples, predictions: {"accuracy": next(rest)})
    run_dir = run("run", task=task, test=True)  # dev of epoch 1, then the result's dev and test
    before = lines(run_dir)[-1]["test"]
    assert before
    settings: dict[str, Any] = {"task": task, "cache": tmp_path / "cache", "device": "cpu"}
    resume_task(run_dir, ["max_epochs=2"], **settings)
    assert (lines(run_dir)[-1]["best_epoch"], lines(run_dir)[-1]["test"]) == (1, before)
    resume_task(run_dir, ["max_epochs=3"], **settings)
    assert (lines(run_dir)[-1]["best_epoch"], lines(run_dir)[-1]["test"]) == (3, {})


@pytest.mark.slow
def test_a_resumed_run_ends_with_the_same_bits_as_an_unbroken_one(run: Run, toy: Toy, tmp_path: Path):
    whole = run("whole", *EVERYTHING)
    for stop in (1, 3):
        seen = 0

        def break_off(examples: Any, predictions: Any, stop: int = stop) -> Any:
            nonlocal seen
            seen += 1
            if seen == stop:
                raise KeyboardInterrupt
            return toy.score(examples, predictions)

        with pytest.raises(KeyboardInterrupt):
            run(f"broken-{stop}", *EVERYTHING, task=changed(toy, score=break_off), cache=None)
        broken = tmp_path / f"broken-{stop}"
        assert (broken / "checkpoint.safetensors").exists() == (stop > 1)
        with (broken / "metrics.jsonl").open("a") as file:
            file.write(f'{{"epoch": {stop}, "loss": 0.0}}\n{{"epoch": {stop + 1}, "lo')  # to be trained again
        torch.manual_seed(stop)  # must not matter
        settings: dict[str, Any] = {"task": toy, "cache": tmp_path / "cache", "device": "cpu"}
        resume_task(broken, ["max_epochs=3"], **settings)
        ended = contents(broken)
        assert contents(resume_task(broken, **settings)) == ended
        assert contents(resume_task(broken, ["max_epochs=4"], **settings)) == contents(whole)
    with pytest.raises(ValueError, match="keeps its settings, except max_epochs, patience, min_steps"):
        resume_task(broken, ["learning_rate=1"], **settings)


def test_the_seed_decides_and_chooses_a_share_of_the_training_set(
    run: Run, toy: Toy, toy_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    added: list[int] = []
    add = CachedActivations.add
    monkeypatch.setattr(
        CachedActivations, "add", lambda self, sentences: added.append(len(sentences)) or add(self, sentences)
    )
    settings = ("elmo=input", "max_train_examples=9", "max_dev_examples=5")
    run_dir, same, other = (run(name, *settings, f"seed={seed}") for name, seed in (("1", 1), ("same", 1), ("2", 2)))
    one, again, different = (load_file(each / "model.safetensors") for each in (run_dir, same, other))
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["encode.weight"], different["encode.weight"])
    assert 20 < added[0] <= 9 + 20  # only of these and the development set
    assert lines(run_dir)[0]["step"] == 3
    assert lines(run_dir)[0]["dev"]["accuracy"] % 20 == 0  # of five
    assert re.search(r"accuracy [\d.]+ on 5 development examples \(best", capsys.readouterr().err)
    config = json.loads((run_dir / "config.json").read_text())
    assert config["examples"]["train"] == {"examples": 40, "without a label": 1, "used": 9}

    def chosen(*settings: str) -> Counter[str]:
        config = with_settings(toy.recipes["cpu"](), settings)
        train = read_data(toy, toy.find(toy_data), config).train
        return Counter(f"{example.label} {example.tokens}" for example in train)

    tenth, half = chosen("train_share=0.1"), chosen("train_share=0.5")  # a smaller share is part of a larger one
    assert tenth < half < chosen() and (tenth.total(), half.total()) == (4, 20)
    assert tenth != chosen("train_share=0.1", "seed=1")


def test_without_a_development_file_a_tenth_is_set_apart(
    run: Run, toy: Toy, toy_data: Path, capsys: pytest.CaptureFixture[str]
):
    run_dir = run("run", data=Splits((toy_data / "train.tsv", toy_data / "dev.tsv")))
    assert "no development file: 10% of the training data is held out (dev_share)" in capsys.readouterr().err
    record = read_record(run_dir, toy)
    assert (record.config.training.dev_share, record.files.dev) == (0.1, ())
    assert record.config.training.random_dev
    assert record.examples["dev"]["examples"] in (5, 6, 7) and lines(run_dir)[-1]["test"] == {}
    resume_task(run_dir, ["max_epochs=2"], task=toy, device="cpu")
    assert lines(run_dir)[-1]["epoch"] == 2


def test_korean_text_without_a_recipe_is_warned_of(tmp_path: Path):
    text = "".join(f"{'비가 맑다 ' * 20}\t{label}\n" for label in ("좋다", "나쁘다") * 3)
    (tmp_path / "ko.tsv").write_text(f"text\tlabel\n{text}", encoding="utf-8")
    data = Splits((tmp_path / "ko.tsv",), (tmp_path / "ko.tsv",))
    with pytest.warns(UserWarning, match="written in Hangul, but small-en"):
        train("sst", data, settings=["max_epochs=1", "word_dim=0"], run_dir=tmp_path / "run", device="cpu")


def test_files_that_a_resumed_run_would_not_find_or_without_examples_and_other_configs_are_refused_and_leave_nothing(
    run: Run, toy: Toy, toy_data: Path, tmp_path: Path
):
    train_file, dev_file, pipe = toy_data / "train.tsv", toy_data / "dev.tsv", tmp_path / "pipe"
    os.mkfifo(pipe)
    unnamed = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tsv"))
    (tmp_path / "empty.tsv").write_text("?\tnothing\n")
    (tmp_path / "same.tsv").write_text("a\tcow ant\na\tbear\n")
    for data, message in (
        *((Splits(train_file, once), "can be read only once, and a resumed run") for once in (pipe, Path("-"))),
        (Splits(train_file, test=unnamed), "its name is not UTF-8; rename the file or folder"),
        (Splits(tmp_path / "empty.tsv", dev_file), r"no examples in .*empty.tsv"),
        (Splits(tmp_path / "same.tsv", dev_file), "all training examples have the label 'a'; expected at least two"),
    ):
        with pytest.raises(ValueError, match=message):
            run("run", data=data)
    without_test = Splits(train_file, dev_file)
    with pytest.raises(ValueError, match="settings change the recipe of a task; with a config, change the config"):
        train(toy, toy_data, run_dir=tmp_path / "run", config=toy.recipes["cpu"](), settings=["seed=1"])
    with pytest.raises(ValueError, match="is not of toy: its model is a SentimentConfig; expected a ToyConfig"):
        train(toy, toy_data, run_dir=tmp_path / "run", config=task_recipe("sentiment"))
    with pytest.raises(ValueError, match="layers is 9; this model has layers 0"):
        run("run", "elmo=input", "elmo.layers=9")
    with pytest.raises(ValueError, match="the data have no test file to score"):
        run("run", data=without_test, test=True)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="no test file .*; `elmokit evaluate`, or `load_task`, scores other files$"):
        resume_task(run("run", data=without_test), task=toy, test=True, device="cpu")


@pytest.mark.usefixtures("known_toy")
def test_data_of_other_labels_is_reported_when_it_is_scored_and_labels_of_classes_are_no_tags(
    run: Run, toy_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    foreign, other, o = (tmp_path / f"{name}.tsv" for name in ("foreign", "other", "o"))
    foreign.write_text("x\tcow ant\ny\tbear\n")
    said = "has the labels x, y, and the model knows a, b, c: none in common"
    run("both", data=Splits(toy_data / "train.tsv", foreign, foreign), test=True)
    shown = capsys.readouterr().err
    assert f"the development set {said}" in shown and f"foreign.tsv {said}" in shown
    run("neither", data=Splits(toy_data / "train.tsv", toy_data / "dev.tsv", foreign))
    assert said not in capsys.readouterr().err
    tagging = changed(TOY, symbols=lambda _: ["O"], label_names=find_task("ner").label_names)
    report_foreign_labels(tagging, {"dev": []}, ["O", "B-PER"])
    assert "dev has no labels, and the model knows PER: none in common" in capsys.readouterr().err
    other.write_text("".join(f"{label}\tword {label}\n" for label in ("O", "B-side", "side", "I-95")))
    o.write_text("O\tword\n")
    run_dir = run("run", data=Splits(other, o, o), test=True)
    assert "none in common" not in capsys.readouterr().err
    assert repr(load_task(run_dir, task=TOY)) == "<TrainedTask toy without ELMo: B-side, I-95, O, side>"


def edit_checkpoint(change: Callable[[dict[str, torch.Tensor], dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(run_dir: Path) -> None:
        path = run_dir / "checkpoint.safetensors"
        tensors, progress = load_file(path), asdict(read_progress(path))
        change(tensors, progress)
        save_file(tensors, path, metadata={"progress": json.dumps(progress)})

    return edit


DAMAGE: list[tuple[Callable[[Path], object], str]] = [
    (lambda run_dir: os.truncate(run_dir / "model.safetensors", 4000), r"model\.safetensors: .* or is cut short"),
    (lambda run_dir: (run_dir / "model.safetensors").unlink(), r"model\.safetensors: there is no such file"),
    (lambda run_dir: (run_dir / "checkpoint.safetensors").unlink(), "is missing, and the run has finished more than"),
    (edit_checkpoint(lambda tensors, _: tensors.pop("model.encode.weight")), "tensor encode.weight: is missing"),
    (edit_checkpoint(lambda tensors, _: tensors.pop("optimizer.0.exp_avg")), "optimizer.0.exp_avg: is missing"),
    (edit_checkpoint(lambda _, progress: progress.update(step="1")), "progress: field step: expected `int`"),
]


def test_a_run_whose_checkpoint_is_damaged_is_neither_continued_nor_started_again(run: Run, toy: Toy, tmp_path: Path):
    whole = run("whole", "max_epochs=2")
    for number, (damage, message) in enumerate(DAMAGE):
        damaged = Path(shutil.copytree(whole, tmp_path / f"damaged-{number}"))
        damage(damaged)
        before = {path: path.read_bytes() for path in damaged.iterdir()}
        with pytest.raises((ValueError, OSError), match=message):
            resume_task(damaged, ["max_epochs=3"], task=toy, device="cpu")
        assert {path: path.read_bytes() for path in damaged.iterdir()} == before
    (whole / "metrics.jsonl").write_text('{"step": 1}\n')
    for gone in ("none", "checkpoint.safetensors"):
        (whole / gone).unlink(missing_ok=True)
        with pytest.raises(ValueError, match=r"whole/metrics\.jsonl, line 1: field epoch: expected `int`"):
            resume_task(whole, task=toy, device="cpu")
    assert (whole / "metrics.jsonl").read_text() == '{"step": 1}\n'


def test_weight_decay_leaves_the_mixes_alone_and_may_leave_biases_alone(run: Run):
    """Each step subtracts 1e-6 * 1e6 times a weight, so the decay leaves nothing of the weights it applies to."""
    settings = ("elmo=both", "optimizer=sgd", "learning_rate=1e-6", "weight_decay=1e6")
    both, without = (
        load_file(run(name, *settings, f"decay_biases={name}") / "model.safetensors") for name in ("true", "false")
    )
    assert both["encode.bias"].abs().max() < 1e-3 < without["encode.bias"].abs().max()
    for tensors in (both, without):
        assert tensors["inputs.elmo.mixes.0.gamma"].item() == pytest.approx(1, abs=1e-3)
        assert tensors["encode.weight"].abs().max() < 1e-3


def test_a_run_records_what_its_mixes_have_learnt(run: Run):
    fixed = run("fixed", "elmo=input", "elmo.layers=top", "elmo.train_gamma=false")
    assert lines(fixed)[-1]["mixes"] == {"input": {"gamma": 1.0}}
    assert lines(run("none"))[-1]["mixes"] == {}
    mixes = lines(run("both", "elmo=both"))[-1]["mixes"]
    assert list(mixes) == ["input", "output"]
    for mix in mixes.values():
        assert mix["gamma"] != 1.0 and abs(mix["gamma"] - 1) < 0.5
        assert len(mix["shares"]) == 3 and sum(mix["shares"]) == pytest.approx(1, abs=1e-5)


def test_a_run_is_resumed_with_the_examples_that_it_began_with(run: Run, toy: Toy, toy_data: Path, tmp_path: Path):
    run_dir = run("run", data=Path(shutil.copytree(toy_data, tmp_path / "data")))
    train_file = read_record(run_dir, toy).files.train[0]
    before = train_file.read_text()
    train_file.write_text(before * 2)
    with pytest.raises(ValueError, match=r"set has changed since the run began.*\(named in .*config\.json\)"):
        resume_task(run_dir, ["max_epochs=2"], task=toy, device="cpu")
    train_file.write_text(re.sub(r"(?m)^[ab]\t", lambda label: {"a\t": "b\t", "b\t": "a\t"}[label[0]], before))
    with pytest.raises(ValueError, match=r"set has changed since the run began; resume the run"):
        resume_task(run_dir, ["max_epochs=2"], task=toy, device="cpu")
    swapped = read_data(toy, read_record(run_dir, toy).files, read_record(run_dir, toy).config)
    earlier = replace(read_record(run_dir, toy), digest=digest(toy, swapped, labels=False))
    train_file.write_text(before)
    write_record(run_dir, earlier)  # an earlier version left the labels out of the digest
    with lock(run_dir), pytest.raises(InUseError, match="run is in use by another process"):
        resume_task(run_dir, ["max_epochs=2"], task=toy, device="cpu")
    resume_task(run_dir, ["max_epochs=2"], task=toy, device="cpu")


def test_a_run_whose_data_and_bilm_have_moved_ends_with_the_same_bits(
    toy: Toy, toy_data: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path
):
    def begin(place: Path, *, max_epochs: int) -> Path:
        shutil.copytree(toy_data, place / "data")
        shutil.copytree(tiny_bilms[0], place / "bilm")
        settings = ["elmo=input", f"elmo.model={place / 'bilm'}", f"max_epochs={max_epochs}"]
        return train(toy, place / "data", run_dir=place / "run", settings=settings, device="cpu")

    whole = begin(tmp_path / "whole", max_epochs=2)
    run_dir = begin(old := tmp_path / "old", max_epochs=1)
    new = tmp_path / "new"
    new.mkdir()
    (old / "data").rename(new / "data")
    with pytest.raises(FileNotFoundError, match=r"say where they are: --data DIR or .* \(named in .*config\.json\)"):
        resume_task(run_dir, ["max_epochs=2"], task=toy, device="cpu")
    (old / "bilm").rename(new / "bilm")
    with pytest.raises(FileNotFoundError, match=r"say where it is: --model M, or elmo_model=M \(named in .*config"):
        resume_task(run_dir, ["max_epochs=2"], task=toy, data=new / "data", device="cpu")
    resume_task(run_dir, ["max_epochs=2"], task=toy, data=new / "data", elmo_model=new / "bilm", device="cpu")
    assert (run_dir / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    resume_task(run_dir, ["max_epochs=3"], task=toy, device="cpu")  # the run knows the new places now
    assert read_record(run_dir, toy).files.test == (new / "data" / "test.tsv",)


def test_a_run_finds_its_bilm_on_the_hub_again_when_the_cache_is_elsewhere(
    run: Run, toy: Toy, tiny_bilms: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given: list[str] = []

    def download(address: str | Path) -> Path:
        given.append(str(address))
        return snapshot

    monkeypatch.setattr("elmokit.formats.hub.download", download)
    snapshot = shutil.copytree(tiny_bilms[0], tmp_path / "cache" / "0123abc")
    run_dir = run("run", "elmo=input", "elmo.model=hf://ann/tiny")
    snapshot = snapshot.rename(tmp_path / "0123abc")
    given.clear()
    resume_task(run_dir, ["max_epochs=2"], task=toy, device="cpu")
    load_task(run_dir, task=toy, device="cpu")
    assert {*given} == {"hf://ann/tiny@0123abc"}


def test_a_link_to_a_bilm_keeps_its_name_in_the_record(
    run: Run, toy: Toy, tiny_bilms: tuple[Path, Path], tmp_path: Path
):
    (tmp_path / "link").symlink_to(tiny_bilms[0])
    (tmp_path / "folder").mkdir()
    run_dir = run("run", "elmo=input", f"elmo.model={tmp_path}/folder/../link")
    elmo = read_record(run_dir, toy).inputs.elmo
    assert elmo is not None and elmo.model == str(tmp_path / "link")


class Lone(nn.Module):
    """Two weights with a gradient that the test chooses, in place of a task's model and of its inputs."""

    penalty_factor = 0.0

    def __init__(self, gradient: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.gradient = gradient
        self.inputs = SimpleNamespace(penalty=lambda: self.penalty_factor * self.weight.sum())

    def forward(self, examples: object) -> torch.Tensor:
        return self.gradient * self.weight.sum()

    def predict(self, examples: list[Any]) -> list[float]:
        return [self.weight[0].item()] * len(examples)


def lone_training(
    toy: Toy, tmp_path: Path, scores: list[float], *, gradient: float = 1.0, **settings: Any
) -> TaskTraining:
    """Training with plain gradient descent. Each epoch is one step, and gets the next of the scores."""
    rest = iter(scores)
    config = TrainingConfig(**({"optimizer": "sgd", "learning_rate": 1.0, "max_epochs": len(scores)} | settings))
    task = changed(toy, score=lambda examples, made: {"accuracy": next(rest)}, sentences=lambda example: [["a"]])
    model: Any = Lone(gradient)
    return TaskTraining(task, config, model, train=[0], dev=[0], run_dir=tmp_path)


def test_training_ends_when_patience_does_but_not_before_the_least_number_of_steps(toy: Toy, tmp_path: Path):
    progress = lone_training(toy, tmp_path, [10, 30, 30, 20, 25, 99], patience=3).run()
    assert (progress.epoch, progress.best_epoch, progress.best_score) == (5, 2, 30)
    best = load_file(tmp_path / "model.safetensors")
    assert best["weight"].tolist() == [-2, -2]  # the weights of the second epoch
    progress = lone_training(toy, tmp_path, [30, 20, 25, 20, 10, 99], patience=2, min_steps=5).run()
    assert (progress.epoch, progress.step, progress.best_epoch) == (5, 5, 1)


def test_a_small_training_set_is_read_as_often_as_an_epoch_needs(toy: Toy, tmp_path: Path):
    training = lone_training(toy, tmp_path, [10, 30], min_epoch_steps=3)
    assert (training.run().step, training.model.get_parameter("weight").tolist()) == (6, [-6, -6])
    many = lone_training(toy, tmp_path, [1], min_epoch_steps=9, batch_size=2)
    many.train = list(range(7))
    epoch = many._batches()
    assert len(epoch) == 12  # all of them three times, each time in another order
    passes = [sorted(example for batch in epoch[start : start + 4] for example in batch) for start in (0, 4, 8)]
    assert passes == [list(range(7))] * 3 and len({str(epoch[start : start + 4]) for start in (0, 4, 8)}) == 3


def test_the_rate_is_halved_while_the_score_gets_no_better(toy: Toy, tmp_path: Path):
    lone_training(toy, tmp_path, [10, 9, 9, 9, 20, 9, 9], patience=9, halve_after=2).run()
    rates = [json.loads(line)["learning_rate"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    progress = read_progress(tmp_path / "checkpoint.safetensors")
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.5]
    assert progress.rate_factor == 0.25 and progress.epochs_since_halving == 0
    decaying = lone_training(toy, tmp_path, [1, 2, 3, 4, 5], decay=0.5, decay_steps=2)
    drawn: list[float] = []
    decaying.model.register_forward_pre_hook(lambda *_: drawn.append(torch.rand(()).item()))
    decaying.run()
    assert decaying.model.get_parameter("weight").tolist() == [-(1 + 1 + 0.5 + 0.5 + 0.25)] * 2
    assert len(set(drawn)) == 5  # each epoch draws different random numbers


def test_the_penalty_of_the_inputs_adds_to_the_gradient_which_is_cut_by_norm_or_by_value(toy: Toy, tmp_path: Path):
    training = lone_training(toy, tmp_path, [10])
    lone: Any = training.model
    lone.penalty_factor = 0.5  # adds its gradient to the 1 of the model's own loss
    training.run()
    assert lone.weight.tolist() == [-1.5, -1.5]
    for settings, step in (({"clip_norm": 1.0}, 2**-0.5), ({"clip_value": 0.25}, 0.25), ({}, 8.0)):
        training = lone_training(toy, tmp_path, [1], gradient=8.0, **settings)
        training.run()
        torch.testing.assert_close(training.model.get_parameter("weight").detach(), torch.full((2,), -step))


def test_the_moving_average_is_evaluated_and_kept_and_training_goes_on_with_the_weights(toy: Toy, tmp_path: Path):
    training = lone_training(toy, tmp_path, [1, 2], average_decay=0.15)
    seen: list[float] = []
    score = training.task.score
    training.task = changed(training.task, score=lambda *given: seen.extend(given[1]) or score(*given))
    training.run()
    first = 0.1 * 0 + 0.9 * -1  # decay: 1 / 10 in the first step, 2 / 11 in the second, but at most 0.15
    second = 0.15 * first + 0.85 * -2
    assert seen == pytest.approx([first, second])
    assert load_file(tmp_path / "model.safetensors")["weight"].tolist() == pytest.approx([second] * 2)
    assert training.model.get_parameter("weight").tolist() == [-2, -2]


def test_a_last_step_that_spoils_the_weights_ends_the_run_before_they_are_kept(toy: Toy, tmp_path: Path):
    with pytest.raises(DivergenceError, match="epoch 1, step 0: a weight is not finite"):
        lone_training(toy, tmp_path, [1, 2], gradient=3e38, learning_rate=10.0).run()
    with pytest.raises(DivergenceError, match="epoch 1, step 0: the loss is not finite"):
        lone_training(toy, tmp_path, [1], gradient=math.nan).run()
    with pytest.raises(ValueError, match="accuracy of the development set is nan"):
        lone_training(toy, tmp_path, [math.nan]).run()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "adadelta", "sgd"])
def test_each_optimiser_goes_on_exactly(toy: Toy, tmp_path: Path, optimizer: str):
    settings: dict[str, Any] = {"optimizer": optimizer, "learning_rate": 0.1, "patience": 9}
    whole = lone_training(toy, tmp_path, [1, 2, 3, 4], **settings)
    whole.run()
    (tmp_path / "checkpoint.safetensors").unlink()
    lone_training(toy, tmp_path, [1, 2], **settings).run()
    rest = lone_training(toy, tmp_path, [3, 4], **settings | {"max_epochs": 4})
    rest.load()
    assert rest.progress.epoch == 2
    rest.run()
    assert torch.equal(rest.model.get_parameter("weight"), whole.model.get_parameter("weight"))


def test_an_epoch_has_every_example_once_in_batches_of_similar_length(toy: Toy):
    randomness = random.Random(1)
    examples = [toy.from_json({"tokens": ["a"] * randomness.randint(1, 60)}) for _ in range(203)]
    epoch = training_batches(toy, examples, size=8, seed="0 0")
    assert sorted(map(id, (example for batch in epoch for example in batch))) == sorted(map(id, examples))
    assert sorted(map(len, epoch)) == [3, *[8] * 25]
    spread = [max(lengths) - min(lengths) for lengths in ([num_tokens(toy, each) for each in batch] for batch in epoch)]
    assert sum(spread) / len(spread) < 15
    starts = [num_tokens(toy, batch[0]) for batch in epoch]
    assert starts != sorted(starts) and starts != sorted(starts, reverse=True)
    assert epoch == training_batches(toy, examples, size=8, seed="0 0")
    assert epoch != training_batches(toy, examples, size=8, seed="0 1")
