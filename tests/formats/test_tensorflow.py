"""Checkpoints of TensorFlow: a crafted index reaches nothing outside of its variables."""

import shutil
from pathlib import Path

import pytest

from elmokit.files.tensor_bundle import latest_index
from elmokit.formats.find import convert, inspect
from elmokit.model.weights import SOFTMAX_WEIGHT
from toy_stored import assert_equal, assert_refused, read_stored

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats" / "checkpoints"
INDEX = "model.ckpt-7.index"
DATA = "model.ckpt-7.data-00000-of-00001"


@pytest.fixture
def checkpoint(tmp_path: Path):
    return shutil.copytree(FIXTURES / "char", tmp_path / "char")


def test_a_checkpoint_is_told_by_the_folder_the_list_the_pair_and_the_names_that_tensorflow_gives_it(checkpoint: Path):
    options = checkpoint / "options.json"
    for given in (checkpoint, checkpoint / "checkpoint", options):
        assert inspect(given).format == "tensorflow"
    for ending in ("", ".meta", ".data-00000-of-00001", ".index"):
        path = checkpoint / f"model.ckpt-7{ending}"
        for given in ((path,), (path, options), (options, path)):
            assert inspect(*given).format == "tensorflow"
        with pytest.raises(FileNotFoundError, match="unknown model"):
            inspect(checkpoint / f"model.ckpt-8{ending}")


def test_a_checkpoint_goes_before_the_weights_that_were_dumped_from_it(checkpoint: Path):
    weights = checkpoint / "weights.hdf5"
    shutil.copy(FIXTURES / "char.dumped.hdf5", weights)
    assert inspect(checkpoint).format == inspect(checkpoint / "options.json").format == "tensorflow"
    assert read_stored(checkpoint, with_softmax=True).has_softmax
    for named in ((weights,), (checkpoint / "options.json", weights)):
        assert inspect(*named).format == "bilm_tf"
        assert_equal(read_stored(*named), read_stored(checkpoint))
    assert not read_stored(weights, with_softmax=True).has_softmax
    (checkpoint / DATA).unlink()
    assert inspect(checkpoint).format == "bilm_tf"


@pytest.mark.parametrize("name", ["char", "char_1layer"])
def test_the_softmax_is_read_counted_and_converted_and_the_optimiser_left_out(name: str, tmp_path: Path):
    inspection = inspect(FIXTURES / name)
    assert (inspection.format, inspection.num_softmax_rows, inspection.refusals) == ("tensorflow", 44, [])
    assert inspection.dtypes == ["float32"]
    assert not any("Adagrad" in risk or "softmax" in risk for risk in inspection.risks)
    stored = read_stored(FIXTURES / name, with_softmax=True)
    assert stored.vocabulary is not None
    assert stored.tensors[SOFTMAX_WEIGHT].shape == (len(stored.vocabulary), stored.config.projection_dim)
    convert(FIXTURES / name, tmp_path / "native", to="native")
    assert_equal(read_stored(tmp_path / "native", with_softmax=True), stored)
    notes = convert(FIXTURES / name, tmp_path / "pair", to="bilm_tf")
    assert "the softmax was left out" in notes[0]


def test_the_latest_checkpoint_is_that_of_the_list_or_of_the_highest_number(tmp_path: Path):
    indices = [tmp_path / f"model.ckpt-{number}.index" for number in (9, 10, 8)]
    listing = tmp_path / "checkpoint"
    assert latest_index(indices, None) == indices[1]
    for path in ("model.ckpt-8", "/home/them/run/model.ckpt-8", "C:\\\\run\\\\model.ckpt-8"):
        listing.write_text(f'model_checkpoint_path: "{path}"\nall_model_checkpoint_paths: "model.ckpt-10"\n')
        assert latest_index(indices, listing) == indices[2]
    listing.write_text('model_checkpoint_path: "/gone/model.ckpt-7"\n')
    assert latest_index([*indices, tmp_path / "other.index"], listing) == indices[1]


def test_missing_files_are_named(checkpoint: Path):
    (checkpoint / DATA).rename(checkpoint / "elsewhere")
    assert_refused(r"data-00000-of-00001: is missing; model\.ckpt-7\.index says", checkpoint)
    (checkpoint / "elsewhere").rename(checkpoint / DATA)
    (checkpoint / "options.json").unlink()
    assert_refused("a TensorFlow checkpoint index, but there is no options.json", checkpoint)
    (checkpoint / INDEX).rename(checkpoint / "index")
    shutil.copy(FIXTURES / "char" / "options.json", checkpoint)
    assert_refused(r"index\.data-00000-of-00001: is missing", checkpoint)


def test_other_options_and_a_shorter_file_of_numbers_are_refused(checkpoint: Path):
    content = (checkpoint / DATA).read_bytes()
    (checkpoint / DATA).write_bytes(content[: len(content) // 2])
    assert_refused(r"extends beyond the end of model\.ckpt-7\.data", checkpoint, with_softmax=True)
    (checkpoint / DATA).write_bytes(content)
    options = (checkpoint / "options.json").read_text()
    (checkpoint / "options.json").write_text(options.replace('"n_layers": 2', '"n_layers": 1'))
    assert_refused("is not in the model that options.json describes: they are not a pair", checkpoint)


def test_crafted_entries_are_refused(checkpoint: Path):
    content = (checkpoint / INDEX).read_bytes()
    bias = b"\x08\x01\x12\x04\x12\x02\x08\x2c"  # float32, shape (44,)
    assert bias in content
    for new, reason in (
        (b"\x08\x02" + bias[2:], "has another type"),
        (b"\x08\x09" + bias[2:], "has another type"),
        (bias[:-1] + b"\x2d", r"has 176 bytes; float32 of shape \(45,\)"),
    ):
        (checkpoint / INDEX).write_bytes(content.replace(bias, new))
        assert_refused(reason, checkpoint, with_softmax=True)
