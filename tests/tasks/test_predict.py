import copy
import json
import os
import pickle
import shutil
import textwrap
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from syrupy.assertion import SnapshotAssertion

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import convert
from elmokit.tasks.config import Splits
from elmokit.tasks.predict import TrainedTask, load_task
from elmokit.tasks.task import Reading, Task
from elmokit.tasks.train import ModelParts, resume_task, train
from toy_task import changed

Toy = Task[Any, Any]


@pytest.fixture(scope="module")
def run_dir(toy: Toy, toy_data: Path, tiny_bilms: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "toy"
    settings = f"elmo=both elmo.model={tiny_bilms[0]} max_epochs=12 patience=12 learning_rate=0.05 average_decay=0.5"
    return train(toy, toy_data, run_dir=folder, settings=settings.split(), test=True, device="cpu")


@pytest.fixture(scope="module")
def trained(toy: Toy, run_dir: Path) -> TrainedTask:
    return load_task(run_dir, task=toy, device="cpu")


def test_it_predicts_texts_tokens_json_and_examples(toy: Toy, trained: TrainedTask):
    assert trained.predict("bear with cat").label == "b"
    assert trained.predict(["cow", "ant"]).label == "c"
    assert trained.predict({"tokens": ["Apple"]}).label == "a"
    assert trained.predict(toy.from_text("car")).label == "c"
    assert [made.label for made in trained.predict_all(["axe", ["bike"], "unseen word"])[:2]] == ["a", "b"]
    assert trained.predict_all([]) == []
    assert trained.predict_all("bear with cat") == [trained.predict("bear with cat")]  # one text, not one per letter
    assert trained.predict_all({"tokens": ["bear"]}) == [trained.predict("bear")]
    for copied in (pickle.loads(pickle.dumps(trained)), copy.deepcopy(trained)):
        assert copied.predict_all(["bear with cat", "cow"]) == trained.predict_all(["bear with cat", "cow"])


def last_line(run_dir: Path) -> dict[str, Any]:
    return json.loads((run_dir / "metrics.jsonl").read_text().splitlines()[-1])


def test_its_scores_are_those_that_training_wrote_and_unknown_labels_are_reported(
    run_dir: Path, toy_data: Path, trained: TrainedTask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    result = last_line(run_dir)
    assert trained.evaluate(toy_data / "dev.tsv") == result["dev"]
    assert trained.evaluate(toy_data / "test.tsv") == result["test"]["test.tsv"]
    (tmp_path / "data.tsv").write_text("x\tcow ant\na\tbear\n")
    trained.evaluate(tmp_path / "data.tsv")
    said = "data.tsv has the labels x, and the model knows a, b, c: these cannot be right\n"
    assert capsys.readouterr().err.endswith(said)


def test_files_of_text_of_json_and_of_the_tasks_format_are_told_apart(trained: TrainedTask, tmp_path: Path):
    contents = {
        "raw.txt": "cow ant\n \nbear\n",
        "lines.jsonl": '{"tokens": ["cow", "ant"]}\n{"tokens": ["bear"]}\n',
        "data.tsv": "a\tcow ant\nb\tbear\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        rows = list(trained.predict_file(tmp_path / name))
        assert rows == ["c\tcow ant", *([""] if name == "raw.txt" else []), "b\tbear"]
    as_json = [json.loads(line) for line in trained.predict_file(tmp_path / "raw.txt", form="json")]
    assert [made and made["label"] for made in as_json] == ["c", None, "b"]  # blank lines stay, so that rows match
    _, as_text = trained.predict_file(tmp_path / "data.tsv", kind="text", form="json")
    assert json.loads(as_text)["tokens"] == ["b", "bear"]
    task = changed(trained.task, find=lambda folder: Splits(folder / "train.txt", test=folder / "test.txt"))
    known = TrainedTask(task, trained.record, trained.model)
    for name, text in (("test.txt", "cow ant"), ("other.txt", "a cow ant")):  # the task knows the first file as data
        (tmp_path / name).write_text("a\tcow ant\n")
        (line,) = known.predict_file(tmp_path / name)
        assert line.split("\t")[1] == text


def test_a_task_whose_format_has_blocks_writes_its_text_in_them(trained: TrainedTask, tmp_path: Path):
    (tmp_path / "data.tsv").write_text("a\tcow ant\nb\tbear\n?\tdog\n")

    def read(path: Path, config: Any, *, as_text: bool) -> Reading[Any]:
        lines = path.read_text().splitlines()[: None if as_text else 2]
        return Reading([trained.task.from_text(line.split("\t")[1]) for line in lines])

    def to_text(pairs: Any) -> Any:
        return iter([" ".join(made.label for _, made in pairs)])

    task = changed(trained.task, read_to_predict=read, to_text=to_text)
    in_blocks = TrainedTask(task, trained.record, trained.model)
    (text,) = in_blocks.predict_file(tmp_path / "data.tsv")
    assert text.startswith("c b ") and len(text.split()) == 3
    assert len(list(in_blocks.predict_file(tmp_path / "data.tsv", form="json"))) == 2


def test_a_bad_line_is_named(trained: TrainedTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "lines.jsonl"
    monkeypatch.chdir(tmp_path)
    for line, message in (
        ('{"words": []}', r"lines.jsonl, line 2: the text: field text: is missing"),
        ("{", r"lines.jsonl, line 2.*JSON"),
        (r'{"tokens": ["cow \ud83d"]}', r"lines.jsonl, line 2: is not valid JSON: "),
    ):
        path.write_text(f'{{"tokens": ["cow"]}}\n{line}\n')
        with pytest.raises(ValueError, match=message):
            list(trained.predict_file(path))
    Path("e").write_text(path.read_text())  # a letter that is in every message
    with pytest.raises(ValueError, match=r"^e, line 2: "):
        list(trained.predict_file("e", kind="json"))
    with pytest.raises(ValueError, match="kind is 'xml'; expected one of text, json, data"):
        list(trained.predict_file(path, kind="xml"))
    with pytest.raises(ValueError, match="form is 'xml'; expected one of text, json$"):
        list(trained.predict_file(path, form="xml"))
    (tmp_path / "none.tsv").write_text("?\tnothing\n")
    with pytest.raises(ValueError, match="no examples in .*none.tsv"):
        trained.evaluate(tmp_path / "none.tsv")


def test_raw_text_that_is_not_named_so_is_told_from_data(trained: TrainedTask, tmp_path: Path):
    path = tmp_path / "data"
    path.write_text("cow ant\n")
    with pytest.raises(ValueError, match="; if this is raw text, or JSON lines, say so with --input-kind text or "):
        list(trained.predict_file(path))
    assert list(trained.predict_file(path, kind="text")) == ["c\tcow ant"]
    text = tmp_path / "lines.txt"
    for lines, kind in (
        ('{"tokens": ["cow"]}\n', "looks like JSON"),
        ("id\ttext\tfrom\n1\tcow ant\tx\n", "looks like columns separated by tabs"),
        ("cow NN B-PER\nand CC O\nant NN O\n", "looks like columns, with a token on each line"),
    ):
        text.write_text(lines)
        with pytest.raises(ValueError, match=rf"lines\.txt {kind}.* Say what it is: --input-kind text"):
            list(trained.predict_file(text))
        assert len(list(trained.predict_file(text, kind="text"))) == len(lines.splitlines())


@pytest.mark.parametrize("content", [b"a\tcow\n\xe9t\xe9\tant\n", b"x\ty\tz\n" * 3])
def test_data_that_cannot_be_raw_text_is_refused_without_that_advice(
    trained: TrainedTask, tmp_path: Path, content: bytes
):
    path = tmp_path / "data.tsv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="0xe9|too many values") as refused:
        list(trained.predict_file(path))
    assert "raw text" not in str(refused.value)
    path.write_text("cow ant\n")
    with pytest.raises(ValueError, match="values") as refused:
        list(trained.predict_file(path, kind="data"))
    assert "raw text" not in str(refused.value)


def test_a_book_is_warned_of_and_lines_of_several_sentences_only_where_one_is_expected(
    trained: TrainedTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "book.txt"
    path.write_text(textwrap.fill("The cow saw an ant, and it sat down in the field. " * 40, 70))
    with pytest.warns(UserWarning, match=r"the lines of .*book\.txt look wrapped at a fixed width"):
        list(trained.predict_file(path))
    path.write_text("cow\nant\n" * 20)
    with pytest.warns(UserWarning, match="looks like one word"):
        list(trained.predict_file(path, kind="text"))
    path.write_text("The cow saw it. The ant ran. It sat.\n" * 9)
    list(trained.predict_file(path))  # reviews; warnings are errors in these tests
    monkeypatch.setattr(type(trained.task), "line_is_sentence", True, raising=False)
    with pytest.warns(UserWarning, match="look like several sentences"):
        list(trained.predict_file(path))


def test_another_bilm_is_refused_and_the_same_one_elsewhere_is_not(
    toy: Toy, run_dir: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path, trained: TrainedTask
):
    with pytest.raises(ValueError, match="was trained with the biLM of fingerprint .*; the one given has"):
        load_task(run_dir, task=toy, elmo_model=tiny_bilms[1], device="cpu")
    config = (copied := shutil.copytree(run_dir, tmp_path / "run")) / "config.json"
    config.write_text(config.read_text().replace(str(tiny_bilms[0]), str(tiny_bilms[1])))
    with pytest.raises(ValueError, match="was trained with the biLM"):
        resume_task(copied, ["max_epochs=9"], task=toy, device="cpu")
    config.write_text(config.read_text().replace(str(tiny_bilms[1]), "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"; if it has moved, say where it is: --model M, or elmo_model=M \(n"):
        load_task(copied, task=toy, device="cpu")
    convert(tiny_bilms[0], tmp_path / "elsewhere", to="bilm_tf")  # even in another format
    moved = load_task(run_dir, task=toy, elmo_model=tmp_path / "elsewhere", device="cpu")
    assert moved.predict("bear with cat") == trained.predict("bear with cat")


def test_a_model_whose_bilm_was_trained_too_keeps_it_and_one_without_elmo_takes_none(
    toy: Toy, toy_data: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path
):
    without = train(toy, toy_data, run_dir=tmp_path / "none", settings=["elmo=none", "max_epochs=1"], device="cpu")
    for use in (load_task, resume_task):
        with pytest.raises(ValueError, match="the run has no ELMo, so it cannot read the biLM .*; leave out --model"):
            use(without, task=toy, elmo_model=tiny_bilms[0], device="cpu")
    settings = ["elmo=input", f"elmo.model={tiny_bilms[0]}", "elmo.train=true", "max_epochs=1"]
    run_dir = train(toy, toy_data, run_dir=tmp_path / "run", settings=settings, device="cpu")
    assert load_task(run_dir, task=toy, device="cpu").evaluate(toy_data / "dev.tsv") == last_line(run_dir)["dev"]


@pytest.fixture
def strangers(run_dir: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be damaged. Loading it is one error that names the file, before memory is taken."""
    return Path(shutil.copytree(run_dir, tmp_path / "run"))


def test_what_is_not_a_trained_task_is_refused(
    toy: Toy, run_dir: Path, strangers: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path
):
    (strangers / "model.safetensors").unlink()
    for call, message in (
        (lambda: load_task(tmp_path), "is not a run folder: it has no config.json"),
        (lambda: load_task(tiny_bilms[0]), "config.json belongs to a biLM; open it with `Elmo.from_pretrained`"),
        (lambda: load_task(run_dir, task=toy, device="xpu:9"), "'xpu:9' cannot be used here; available: [^(]*$"),
        (lambda: load_task(run_dir), r"unknown task 'toy'; the tasks are named-entities \(ner\), "),
        (lambda: Elmo.from_pretrained(run_dir), "is a run of `elmokit train`: the model of a task, not a biLM; open"),
        (lambda: load_task(strangers, task=toy), "the first epoch of the run has not ended"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            call()


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("model", {"hidden_dim": 20_000}, r"model.safetensors: tensor encode\..* is .* of shape .*; expected "),
        ("inputs", {"character_dim": 1 << 53}, r"config.json: does not describe a model: "),
        ("model", {"third_dim": 3}, r"config.json: field model: field third_dim is not known"),
        ("inputs", {"character_filters": [[2, 4]] * 65}, r"config.json: field inputs: character_filters has 65 pairs"),
        ("inputs", {"max_characters": 1 << 30}, r"config.json: field inputs: max_characters is 1073741824; expected"),
        (None, {"symbols": ["O"] * 1001}, r"config.json: symbols has 1,001 entries; expected at most 1,000"),
        (None, {"examples": {"train": {"examples": -1}}}, r"config.json: field examples.*: expected `int` >= 0"),
    ],
)
def test_a_config_that_is_not_that_of_the_weights_is_refused_before_memory_is_taken(
    strangers: Path, toy: Toy, monkeypatch: pytest.MonkeyPatch, part: str | None, values: dict[str, Any], message: str
):
    config = json.loads((strangers / "config.json").read_text())
    (config if part is None else config[part]).update(values)
    (strangers / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(ModelParts, "new_model", lambda _: pytest.fail("memory is taken"))
    with pytest.raises(ValueError, match=message):
        load_task(strangers, task=toy, device="cpu")
    if values == {"hidden_dim": 20_000}:  # resuming compares the run with its checkpoint
        with pytest.raises(ValueError, match=message.replace("model", "checkpoint", 1)):
            resume_task(strangers, task=toy, device="cpu")


def weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def damage(run_dir: Path) -> None:
        tensors = load_file(run_dir / "model.safetensors")
        change(tensors)
        save_file(tensors, run_dir / "model.safetensors")

    return damage


def words(*learnt: str) -> Callable[[Path], object]:
    return lambda run_dir: (run_dir / "words.json").write_text(json.dumps({"learnt": learnt, "fixed": []}))


def link_out(name: str) -> Callable[[Path], object]:
    return lambda run_dir: (run_dir / name).symlink_to((run_dir / name).rename(run_dir.with_name("elsewhere")))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (link_out("config.json"), r"config.json: is a symlink that leaves its folder, so it is not"),
        (link_out("words.json"), r"words.json: is a symlink that leaves its folder, so it is not"),
        (
            lambda run_dir: os.truncate(run_dir / "model.safetensors", 0),
            "is not a safetensors file, is damaged, or is cut short",
        ),
        (weights(lambda tensors: tensors.pop("score.bias")), "tensor score.bias: is missing"),
        (weights(lambda tensors: tensors.update(more=torch.ones(2))), "tensor more: does not belong to this run"),
        (weights(lambda tensors: tensors["score.bias"].fill_(torch.nan)), "score.bias: has a number that is not fin"),
        (words("a"), r"words.safetensors: tensor vectors: has shape .*; expected \(2, width\)"),
        (words("a", "a"), "words.json: has a word more than once"),
    ],
)
def test_files_that_do_not_fit_together_and_links_out_of_the_folder_are_refused(
    strangers: Path, toy: Toy, damage: Callable[[Path], object], message: str
):
    damage(strangers)
    with pytest.raises(ValueError, match=message):
        load_task(strangers, task=toy, device="cpu")


@pytest.mark.usefixtures("known_toy")
def test_the_verbs_train_go_on_score_and_predict(
    toy_data: Path, tiny_bilms: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = tmp_path / "run"
    start = f"train toy --data {toy_data} --run {run} --recipe cpu --elmo input --model {tiny_bilms[0]} --seed 3"
    settings = f"--cache {tmp_path / 'cache'} --device cpu"
    assert main([*start.split(), *settings.split(), "--set", "max_epochs=2", "learning_rate=0.05"]) == 0
    assert capsys.readouterr().out == f"{run}\n"
    config = json.loads((run / "config.json").read_text())
    assert (config["inputs"]["elmo"]["position"], config["training"]["seed"]) == ("input", 3)
    assert main(["train", "--resume", str(run), *settings.split(), "--set", "max_epochs=4"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(run), str(toy_data), "--device", "cpu"]) == 0
    scores = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [Path(line["file"]).name for line in scores] == ["dev.tsv", "test.tsv"]
    (tmp_path / "raw.txt").write_text("cow ant\nbear\n")
    assert main(["predict", str(run), str(tmp_path / "raw.txt"), "--device", "cpu", "--format", "json"]) == 0
    shown = capsys.readouterr().out
    made = load_task(run, device="cpu").predict_all(["cow ant", "bear"])
    assert [json.loads(line) for line in shown.splitlines()] == [each.to_dict() for each in made]
    (tmp_path / "out.jsonl").write_text("an earlier table, which is replaced")
    output = ["-o", str(tmp_path / "out.jsonl"), "--format", "json"]
    assert main(["predict", str(run), str(tmp_path / "raw.txt"), *output]) == 0
    assert (tmp_path / "out.jsonl").read_text() == shown
    train, dev, test = (toy_data / f"{name}.tsv" for name in ("train", "dev", "test"))
    start = f"train toy --train {train} --run {tmp_path / 'named'} --elmo none --device cpu --set max_epochs=1"
    assert main([*start.split(), "--dev", str(dev), "--test-file", str(test)]) == 0
    config = json.loads((tmp_path / "named" / "config.json").read_text())
    assert config["files"] == {"train": [str(train)], "dev": [str(dev)], "test": [str(test)]}
    assert list(last_line(tmp_path / "named")["test"]) == ["test.tsv"]


REFUSED = """
train toy
train toy --resume RUN --seed 1
train --resume RUN --train DATA/train.tsv
train --resume RUN --data NEW
train --resume RUN --model nowhere
train --resume RUN --test-file DATA/test.tsv
train --test toy --data NONE --run NEW
train toy --train DATA/train.tsv --run NEW --test
evaluate RUN ALONE
train toy --train DATA/none.tsv --run NEW
train toy --data DATA --run NEW --word-vectors nowhere
train ner --data DATA/dev.tsv --run NEW
predict RUN DATA/dev.tsv -o NEW/out
predict RUN DATA/dev.tsv#:2 -o DATA/dev.tsv
"""


@pytest.mark.usefixtures("known_toy")
def test_errors_of_the_commands_are_one_line_and_exit_with_2(
    run_dir: Path, toy_data: Path, tmp_path: Path, capsys: Any, monkeypatch: Any, snapshot: SnapshotAssertion
):
    places = {"RUN": str(run_dir), "DATA": str(toy_data), "NEW": str(tmp_path / "new"), "HERE": str(tmp_path)}
    (tmp_path / "ALONE").mkdir()
    shutil.copy(toy_data / "train.tsv", tmp_path / "ALONE")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    for command in REFUSED.strip().splitlines():
        assert main(reduce(lambda words, name: words.replace(name, places[name]), places, command).split()) == 2
        output, error = capsys.readouterr()
        last = error.splitlines()[-1].partition("; installed: ")[0]
        assert output == "" and last.startswith("elmokit: error: ")
        said.append(f"{command}\n  {reduce(lambda text, name: text.replace(places[name], name), places, last)}")
        assert not (tmp_path / "new").exists()
    assert "\n".join(said) == snapshot
