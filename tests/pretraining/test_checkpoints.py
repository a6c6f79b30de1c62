"""Checkpoints: read whole or not at all; a damaged one is passed over, and a run that has lost all of them is left."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.pretraining.train import resume_pretraining
from run_contents import contents_of_run
from toy_run import pretrain_toy

pytestmark = pytest.mark.usefixtures("on_cpu")

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with checkpoints of the steps 6 and 7."""
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


def without(*names: str) -> Damage:
    """Of the progress, as an earlier version wrote it."""
    wanted = ("checksum", *names)
    return lambda checkpoint: edit_json(checkpoint / PROGRESS, lambda record: [record.pop(name) for name in wanted])


WEIGHTS, STATE, PROGRESS = FILES = ("model.safetensors", "training.safetensors", "training.json")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        *((truncate(name), name) for name in FILES),
        (lambda checkpoint: edit_json(checkpoint / PROGRESS, lambda record: record.update(step=6)), "the checksum"),
        (lambda checkpoint: (checkpoint / STATE).unlink(), f"{STATE}: there is no such file"),
        (without("packers"), "field packers: is missing"),
    ],
)
def test_a_damaged_checkpoint_is_named_and_passed_over(run: Path, whole: Path, damage: Damage, message: str) -> None:
    damage(run / "checkpoints" / "step-00000007")
    expected = rf"step-00000007 cannot be read \(.*{message}.*going back to step-00000006"
    with pytest.warns(UserWarning, match=expected) as given:
        resume_pretraining(run)
    assert given[0].filename == __file__
    assert contents_of_run(run) == contents_of_run(whole)


@pytest.mark.parametrize(("name", "code"), [(WEIGHTS, errno.ESTALE), (STATE, errno.EMFILE), (PROGRESS, errno.EIO)])
def test_a_disk_that_cannot_be_read_is_not_damage(run: Path, monkeypatch: Any, name: str, code: int) -> None:
    before = contents_of_run(run)
    really_open: Callable[..., Any] = Path.open

    def fail(path: Path, *args: Any, **named: Any) -> object:
        if path == run / "checkpoints" / "step-00000007" / name:
            raise OSError(code, os.strerror(code), str(path))
        return really_open(path, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", fail)
        with pytest.raises(OSError, match=rf"{os.strerror(code)}.*step-00000007.*{name}"):
            resume_pretraining(run, ["num_steps=9", "keep_checkpoints=1"])
    assert contents_of_run(run) == before
    resume_pretraining(run)


def test_a_run_of_an_earlier_version_has_no_checksums_sizes_and_best_perplexity_and_is_resumed(run: Path) -> None:
    names = ("shard_bytes", "shard_sha256", "vocabulary_sha256")
    edit_json(run / "config.json", lambda record: [record["pretraining"].pop(name) for name in names])
    checkpoint = run / "checkpoints" / "step-00000007"
    for name in (WEIGHTS, STATE):
        found = load_file(checkpoint / name)
        (checkpoint / name).unlink()  # the run's model is the same file
        save_file(found, checkpoint / name)
    without("best", "settings")(checkpoint)
    resume_pretraining(run, ["num_steps=8"])  # warnings are errors
    assert sorted(os.listdir(run / "checkpoints")) == ["step-00000007", "step-00000008"]


def test_a_checkpoint_is_a_model_with_two_files_of_its_run(run: Path) -> None:
    checkpoint = run / "checkpoints" / "step-00000006"
    with pytest.raises(ValueError, match=r"needs copies of the run's config\.json and vocabulary\.txt next to it"):
        Elmo.from_pretrained(checkpoint)
    for name in ("config.json", "vocabulary.txt"):
        shutil.copy(run / name, checkpoint)
    assert Elmo.from_pretrained(checkpoint).dim == Elmo.from_pretrained(run).dim


@pytest.mark.parametrize(
    ("section", "setting", "value", "message"),
    [
        ("bilm", "lstm_dim", 48, r"7/model\.safetensors: is not of the model in config\.json: size mismatch for .*l"),
        ("pretraining", "batch_size", 4, r"training\.json is of a run with batch_size=2; put that back into the"),
    ],
)
def test_what_a_run_keeps_is_not_changed_in_its_config(
    run: Path, section: str, setting: str, value: object, message: str
) -> None:
    edit_json(run / "config.json", lambda record: record[section].update({setting: value}))
    with pytest.raises(ValueError, match=message):
        resume_pretraining(run)


def test_a_run_without_a_readable_checkpoint_is_left_as_it_is(run: Path, capsys: Any, whole: Path) -> None:
    for checkpoint in (run / "checkpoints").iterdir():
        truncate("training.safetensors")(checkpoint)
    before = contents_of_run(run)
    assert main(["pretrain", "--resume", str(run), "--set", "num_steps=9"]) == 2
    error = capsys.readouterr().err
    assert f"{run} has no checkpoint that can be read: step-00000007 ({run}" in error
    assert "; step-00000006 (" in error and "Nothing was changed; put back a copy of one, or train again" in error
    assert contents_of_run(run) == before
    assert main(["pretrain", "--from-start"]) == 2
    assert "--from-start needs --resume" in capsys.readouterr().err
    assert main(["pretrain", "--resume", str(run), "--from-start"]) == 0
    assert contents_of_run(run) == contents_of_run(whole)


def test_checkpoints_that_can_be_read_and_weights_without_any_are_not_overwritten(run: Path, whole: Path) -> None:
    with pytest.raises(ValueError, match="step-00000007 can be read: leave out --from-start, or from_start=True, to c"):
        resume_pretraining(run, from_start=True)
    assert contents_of_run(run) == contents_of_run(whole)
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(ValueError, match="has no checkpoint that can be read: there is none. Nothing was changed"):
        resume_pretraining(run)
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
