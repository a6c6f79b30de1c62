"""A run's folder: config.json is read back as written, and anything that is not a run is refused."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from elmokit.files.locks import InUseError
from elmokit.formats.find import resolve_model
from elmokit.runs.folder import (
    checked_config,
    existing_run,
    model_folder,
    new_run,
    read_config,
    start_writing,
    write_config,
)
from elmokit.runs.tensor_files import read_tensors, write_tensors


def read(folder: Path) -> dict[str, object]:
    return checked_config(read_config(folder), where=folder / "config.json", format="toy", version=3, command="toy")


def test_a_config_is_read_back_and_none_is_written_that_could_not_be(tmp_path: Path):
    values = {"labels": ["밥", "a\u2028b"], "nested": {"rate": 0.1, "none": None}}
    write_config(tmp_path, values, format="toy", version=3)
    assert read(tmp_path) == values
    assert "밥" in (tmp_path / "config.json").read_text(encoding="utf-8")
    write_config(tmp_path, {"shards": ["a"]}, format="toy", version=3)
    with pytest.raises(ValueError, match=r"config\.json: would have 4\.7 MiB; at most 4\.0 MiB are read"):
        write_config(tmp_path, {"shards": ["밥" * 100] * 16_000}, format="toy", version=3)
    assert read(tmp_path) == {"shards": ["a"]}
    for format, version, message in (
        ("other", 3, "is not the config of a run that `elmokit toy` started"),
        ("toy", 4, "config.json has version 4; this elmokit reads version 3"),
    ):
        write_config(tmp_path, {}, format=format, version=version)
        with pytest.raises(ValueError, match=message):
            read(tmp_path)


def test_a_folder_is_free_until_it_holds_a_run(tmp_path: Path):
    run = tmp_path / "parent" / "a run"
    with new_run(run), pytest.raises(InUseError, match="a run is in use by another process"):
        run.mkdir()
        new_run(run).__enter__()
    for format, verb in (("elmokit", "pretrain"), ("elmokit-task", "train")):
        (run / "config.json").write_text(json.dumps({"format": format}))
        with pytest.raises(ValueError, match=f"holds a run; resume it with elmokit {verb} --resume '.*/a run', or"):
            new_run(run).__enter__()


def test_a_start_that_fails_before_it_has_written_leaves_no_mark(tmp_path: Path):
    with pytest.raises(OSError, match="full"), new_run(tmp_path / "run", files=["vocabulary.txt"]):
        start_writing(tmp_path / "run")
        raise OSError("the disk is full")
    assert not list((tmp_path / "run").iterdir())


def test_the_model_of_a_run_is_its_best_if_it_has_one(tmp_path: Path):
    run, best = tmp_path / "run", tmp_path / "run" / "best"
    best.mkdir(parents=True)
    write_tensors(run / "model.safetensors", {}, metadata={"step": "7"})
    (run / "metrics.jsonl").touch()
    assert model_folder(run) == run
    write_tensors(best / "model.safetensors", {}, metadata={"step": "7"})
    assert model_folder(run) == best  # both have the same step: no warning is needed
    write_tensors(best / "model.safetensors", {}, metadata={"step": "5"})
    with pytest.warns(UserWarning, match=rf"run: using its best weights, {best} \(step 5\); the last ones \(step 7\)"):
        assert model_folder(run) == resolve_model(run) == best
    assert resolve_model(run / "model.safetensors") == run / "model.safetensors"
    (run / "metrics.jsonl").unlink()  # now it is only a folder that contains a folder named best
    assert model_folder(run) == run


def test_a_run_is_not_continued_through_links_that_lead_elsewhere(tmp_path: Path):
    write_config(tmp_path, {}, format="toy", version=3)
    for name in ("metrics.jsonl", "best"):
        (tmp_path / name).symlink_to(tmp_path.parent)
        with pytest.raises(ValueError, match=f"{name}: is a symlink that leaves its folder"):
            existing_run(tmp_path, folders=["best"]).__enter__()
        (tmp_path / name).unlink()


def test_a_run_that_has_not_begun_says_how_it_is_started_and_a_place_without_room_for_one_is_refused(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no config\.json\. If a run was stopped here, .* start it again with"):
        existing_run(tmp_path).__enter__()
    with pytest.raises(FileNotFoundError, match="new is not a run folder: it does not exist"):
        existing_run(tmp_path / "new").__enter__()
    assert list(tmp_path.iterdir()) == []
    read_only = Path("/proc/self/run")  # not even root can write there
    with pytest.raises(OSError) as refusal, new_run(read_only):
        pytest.fail("nothing should be computed")
    assert refusal.value.filename == str(read_only)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for name in ("file", "link"):
        with pytest.raises(NotADirectoryError, match=f"{name} is not a folder"), new_run(tmp_path / name):
            pytest.fail("nothing should be computed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_tensors_are_read_back_also_those_of_earlier_versions(tmp_path: Path):
    path = tmp_path / "file"
    write_tensors(path, {"b": torch.ones(3, 2).t(), "a": torch.tensor(5)}, metadata={"step": "17"})
    assert torch.equal(read_tensors(path)["b"], torch.ones(2, 3)) and read_tensors(path)["a"] == 5
    save_file({"a": torch.tensor(5)}, path, metadata={"checksum": "00"})
    assert read_tensors(path) == {"a": torch.tensor(5)}
