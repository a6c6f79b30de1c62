"""Runs that were stopped, moved, changed or damaged continue as if nothing had happened, or say what is wrong."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import convert
from elmokit.pretraining.record import Change, read_record
from elmokit.pretraining.run_folder import checkpoints
from elmokit.pretraining.train import pretrain, resume_pretraining
from elmokit.report.report import write_report
from run_contents import contents_of_run
from toy_run import pretrain_toy, toy_config, write_text

pytestmark = pytest.mark.usefixtures("on_cpu")

Damage = Callable[[Path], object]
WEIGHTS, STATE, PROGRESS = FILES = ("model.safetensors", "training.safetensors", "training.json")
TEXTS = ("the boat lay by the bank of the river\n", "she put the money in the bank\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 7 steps with checkpoints of steps 6 and 7."""
    return pretrain_toy(tmp_path_factory.mktemp("text") / "run", "num_steps=7", "checkpoint_every=3", "batch_size=2")


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def truncate(name: str) -> Damage:
    return lambda checkpoint: os.truncate(checkpoint / name, (checkpoint / name).stat().st_size - 5)


def edit_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def edit_progress(change: Callable[[dict[str, Any]], object]) -> Damage:
    return lambda checkpoint: edit_json(checkpoint / PROGRESS, change)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        *((truncate(name), name) for name in FILES),
        (lambda checkpoint: (checkpoint / STATE).unlink(), f"{STATE}: there is no such file"),
        (edit_progress(lambda record: record.pop("packers")), f"{PROGRESS}: .*packers"),
        (edit_progress(lambda record: record.update(step="6")), f"{PROGRESS}: field step: expected"),
    ],
)
def test_a_damaged_checkpoint_is_named_and_the_one_before_leads_to_the_same_end(
    run: Path, whole: Path, damage: Damage, message: str
) -> None:
    newest = run / "checkpoints" / "step-00000007"
    damage(newest)
    before = contents_of_run(run)
    with pytest.raises(ValueError, match=rf"{message}.* Remove {newest} to continue from the checkpoint before it"):
        resume_pretraining(run, ["num_steps=9"])
    assert contents_of_run(run) == before
    shutil.rmtree(newest)
    resume_pretraining(run)
    assert contents_of_run(run) == contents_of_run(whole)


def test_a_disk_that_cannot_be_read_is_not_damage(run: Path, monkeypatch: Any) -> None:
    before = contents_of_run(run)
    really_open: Callable[..., Any] = Path.open

    def fail(path: Path, *args: Any, **named: Any) -> object:
        if path == run / "checkpoints" / "step-00000007" / STATE:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return really_open(path, *args, **named)

    with monkeypatch.context() as patched, pytest.raises(OSError, match=r"Input/output error.*step-00000007"):
        patched.setattr(Path, "open", fail)
        resume_pretraining(run, ["num_steps=9", "keep_checkpoints=1"])
    assert contents_of_run(run) == before


def test_a_run_of_an_earlier_version_is_resumed(run: Path) -> None:
    of_record = {"shard_sha256": ["00"], "vocabulary_sha256": "00", "changes": []}
    edit_json(run / "config.json", lambda record: record["pretraining"].pop("shard_bytes"))
    edit_json(run / "config.json", lambda record: record["pretraining"].update(of_record))
    edit_json(
        run / "checkpoints" / "step-00000007" / PROGRESS,
        lambda record: record.update(checksum="00", settings={"seed": 0}) or record.pop("best"),
    )
    resume_pretraining(run, ["num_steps=8"])  # warnings are errors
    assert [path.name for path in checkpoints(run)] == ["step-00000008", "step-00000007"]


def test_a_kill_between_a_checkpoint_and_what_follows_it_is_made_up_for(run: Path, whole: Path) -> None:
    shutil.copy(run / "checkpoints" / "step-00000006" / WEIGHTS, run / "model.safetensors")
    shutil.copytree(run / "checkpoints" / "step-00000006", run / "checkpoints" / "step-00000003")
    resume_pretraining(run)
    assert contents_of_run(run) == contents_of_run(whole)


def test_a_checkpoint_is_a_model_with_two_files_of_its_run(run: Path) -> None:
    checkpoint = run / "checkpoints" / "step-00000006"
    with pytest.raises(ValueError, match=r"needs copies of the run's config\.json and vocabulary\.txt next to it"):
        Elmo.from_pretrained(checkpoint)
    for name in ("config.json", "vocabulary.txt"):
        shutil.copy(run / name, checkpoint)
    assert Elmo.from_pretrained(checkpoint).dim == Elmo.from_pretrained(run).dim


def edit_config(section: str, **values: object) -> Damage:
    return lambda run: edit_json(run / "config.json", lambda record: record[section].update(values))


def edit_tensors(name: str, *, remove: bool) -> Damage:
    def edit(run: Path) -> None:
        path = run / "checkpoints" / "step-00000007" / STATE
        tensors = {other: tensor.clone() for other, tensor in load_file(path).items()} | {name: torch.zeros(3)}
        path.unlink()
        save_file({other: tensor for other, tensor in tensors.items() if not remove or other != name}, path)

    return edit


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (edit_config("bilm", lstm_dim=48), r"7/model\.safetensors: does not fit the model in config\.json: size mism"),
        (edit_config("pretraining", batch_size=4), r"training\.json: has streams that do not fit batch_size and"),
        (edit_config("pretraining", optimizer="adagrad"), f"{STATE}: tensor optimizer.0.sum: is missing"),
        (edit_config("pretraining", shard_bytes=[3, 4]), r"run reads 2 shards, but got 1; give all of them, in order"),
        (edit_config("pretraining", log_every="x"), r"config\.json: pretraining: field config\.log_every: expected"),
        *(
            case
            for name in ("state.forward.0.cell", "optimizer.0.exp_avg")
            for case in (
                (edit_tensors(name, remove=True), f"{STATE}: tensor {name}: is missing"),
                (edit_tensors(name, remove=False), rf"{STATE}: tensor {name}: is .* of shape \(3,\); expected"),
            )
        ),
    ],
)
def test_what_does_not_belong_to_the_run_is_refused(run: Path, damage: Damage, message: str) -> None:
    damage(run)
    with pytest.raises(ValueError, match=message):
        resume_pretraining(run, ["num_steps=9"])


def test_a_run_that_has_lost_its_checkpoints_and_a_model_do_not_start_from_chance(run: Path, tmp_path: Path) -> None:
    convert(run, tmp_path / "model", to="native")
    shutil.rmtree(run / "checkpoints")
    for folder in (run, tmp_path / "model"):
        before = contents_of_run(folder)
        with pytest.raises(ValueError, match=rf"{folder} has no checkpoint to continue from; put back .*finetune"):
            resume_pretraining(folder)
        assert contents_of_run(folder) == before


def test_changes_of_settings_are_recorded_with_their_steps_and_reported(run: Path, tmp_path: Path) -> None:
    before = (run / "config.json").read_bytes()
    resume_pretraining(run)
    assert (run / "config.json").read_bytes() == before
    resume_pretraining(run, ["num_steps=8", "log_every=1"])
    resume_pretraining(run, ["num_steps=10", "schedule=linear"])
    second = {"num_steps": 8, "schedule": "cosine"}, {"num_steps": 10, "schedule": "linear"}
    first = {"num_steps": 7, "log_every": 2}, {"num_steps": 8, "log_every": 1}
    assert read_record(run).changes == (Change(7, 140, *first), Change(8, 160, *second))
    write_report([run], tmp_path / "report")
    page = (tmp_path / "report" / "training.md").read_text()
    assert "- run, step 8: num\\_steps 8 -\\> 10, schedule cosine -\\> linear" in page


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("num_steps=3", "num_steps is 3; .* is at step 7; expected at least that"),
        ("patience=1", "patience needs evaluations; give held-out text"),
        ("evaluate_sentences=5", "a resumed run keeps its model, .*, evaluate_sentences"),
    ],
)
def test_changes_that_cannot_be_are_refused_and_change_nothing(run: Path, setting: str, message: str) -> None:
    before = (run / "config.json").read_bytes()
    with pytest.raises(ValueError, match=message):
        resume_pretraining(run, [setting])
    assert (run / "config.json").read_bytes() == before


def test_checkpoints_to_keep_stay_for_good(tmp_path: Path) -> None:
    run = pretrain_toy(tmp_path / "run", "num_steps=10", "checkpoint_every=2", "keep_checkpoints=1", "keep_every=4")
    assert [path.name for path in checkpoints(run)] == ["step-00000010", "step-00000008", "step-00000004"]


def run_of_two_shards(folder: Path, *, num_steps: int) -> Path:
    (folder / "text").mkdir(parents=True)
    for index, text in enumerate(TEXTS):
        (folder / "text" / f"{index}.txt").write_text(text * 20)
    _, vocabulary = write_text(folder, "".join(TEXTS))
    config = toy_config("checkpoint_every=2", f"num_steps={num_steps}")
    shards = sorted((folder / "text").iterdir())
    return pretrain(shards, vocabulary_path=vocabulary, run_dir=folder / "run", config=config)


def test_a_run_whose_text_has_moved_asks_for_it_and_gets_the_same_bits(tmp_path: Path, capsys: Any) -> None:
    whole = run_of_two_shards(tmp_path / "whole", num_steps=6)
    run = run_of_two_shards(tmp_path / "moved", num_steps=3).rename(tmp_path / "a run")
    (tmp_path / "moved" / "text").rename(tmp_path / "elsewhere")
    resumed = ["--resume", str(run), "--set", "num_steps=6"]
    assert main(["pretrain", *resumed]) == 2
    assert re.search(r"text/0\.txt, which is missing; .*--resume '.*/a run' SHARD \.\.\.", capsys.readouterr().err)
    moved = sorted((tmp_path / "elsewhere").iterdir())
    with pytest.raises(ValueError, match="a run reads 2 shards, but got 1; give all of them, in order"):
        resume_pretraining(run, ["num_steps=6"], shards=moved[:1])
    assert main(["pretrain", *map(str, moved), *resumed]) == 0
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    resume_pretraining(run, ["num_steps=8"])  # the run now knows where its text is
    moved[1].write_text(TEXTS[1])
    with pytest.raises(ValueError, match=r"1\.txt has another size than when .*run started, so .*elmokit finetune"):
        resume_pretraining(run, ["num_steps=9"])
    moved[1].unlink()
    assert resume_pretraining(run) == run  # it has ended, so it reads nothing
