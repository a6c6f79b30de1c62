"""The native folder: what it holds, what elmokit refuses in it, and that it is never half written."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.elmo.elmo import Elmo
from elmokit.files.safetensors import read_arrays, read_layout, write_arrays
from elmokit.formats.find import convert, inspect
from elmokit.formats.native import replacing_saved, write_native
from elmokit.integrations.model_bytes import bytes_of, elmo_of
from elmokit.model.weights import SOFTMAX_BIAS, SOFTMAX_WEIGHT, Weights
from elmokit.system.messages import FormatError
from elmokit.text.vocabulary import Vocabulary
from refusals import refusals
from toy_bilm import random_bilm
from toy_stored import assert_equal, assert_refused, make_stored, read_stored, without_allocation

Change = Callable[[dict[str, Any]], object]
EMBEDDING = "char_encoder.embedding.weight"
FILES = ["README.md", "config.json", "model.safetensors", "vocabulary.txt"]


def test_the_folder_is_what_the_format_says(folder: Path):
    assert sorted(path.name for path in folder.iterdir()) == FILES
    config = json.loads((folder / "config.json").read_text())
    assert (config["format"], config["version"]) == ("elmokit", 1)
    assert config["bilm"]["filters"] == [[1, 3], [2, 5]]
    assert "[1, 3]" in (folder / "config.json").read_text()
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: elmokit\n") and "parameters" in card
    assert Vocabulary.read(folder / "vocabulary.txt").tokens[:3] == ["<S>", "</S>", "<UNK>"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(version=2), "field version: is 2; this elmokit reads version 1, install a newer elmokit"),
        (lambda c: c.update(weights="other.bin"), "weights"),
        (lambda c: c["bilm"].update(dropout=0.1), "dropout"),
        (lambda c: c["bilm"].update(cell_clip=0), "cell_clip is 0"),
        (lambda c: c["bilm"].update(lstm_dim=1 << 50), r"lstm_dim is [\d,]+; expected at most 1,048,576"),
        (
            lambda c: c["bilm"].update(num_characters=300),
            r"field bilm: num_characters is 300; a byte-level biLM has 261",
        ),
    ],
)
def test_refuses_a_config(folder: Path, change: Change, message: str):
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))
    assert_refused(rf"config\.json: .*{message}", folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h[EMBEDDING].update(dtype="I32"), f"tensor {EMBEDDING}: is of type I32; expected F32 or F16"),
        (lambda h: h[EMBEDDING].update(shape=[131, 8]), f"{EMBEDDING}: has shape .131, 8.; the config says .262, 4."),
        (lambda h: h.pop("softmax.weight"), "is damaged, or is cut short"),
        (lambda h: h.update(other=h.pop(EMBEDDING)), f"{EMBEDDING}: is missing; expected shape"),
        (lambda h: h.update(other={"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}), "other: is not a weight"),
    ],
)
def test_refuses_a_header(folder: Path, change: Change, message: str):
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header)
    encoded = json.dumps(header).encode()
    weights.write_bytes(len(encoded).to_bytes(8, "little") + encoded + content[8 + length :])
    with without_allocation():
        assert_refused(rf"model\.safetensors: .*({message})", folder)


def test_refuses_to_write_what_could_not_be_read(tmp_path: Path, snapshot: SnapshotAssertion):
    name, stored = "forward_lstm.layers.0.bias", make_stored(num_tokens=5)
    bias = stored.tensors[name]

    def with_tensor(tensor: str, value: object) -> Weights:
        return replace(stored, tensors=stored.tensors | {tensor: value})

    cases: list[tuple[Weights, dict[str, Any]]] = [
        *((with_tensor(name, value), {}) for value in (bias[:-1], bias.astype(np.float64), bias * np.float32(np.nan))),
        (with_tensor(name, bias + np.float32(1e5)), {"dtype": "float16"}),
        *((with_tensor("other", bias), {}), (with_tensor(EMBEDDING, np.ones((262, 4), np.float32)), {})),
        (replace(stored, vocabulary=Vocabulary(["<S>", "</S>", "<UNK>"])), {}),
        *((replace(stored, pretraining={"notes": "x" * (5 << 20)}), {}), (stored, {"max_file_bytes": 1030})),
    ]
    said = refusals(lambda case: write_native(tmp_path / "model", case[0], **case[1]), cases, folder=tmp_path)
    assert said == snapshot
    assert list(tmp_path.iterdir()) == []


def test_an_incomplete_softmax_is_refused_only_when_it_is_wanted(tmp_path: Path):
    folder = tmp_path / "model"
    write_native(folder, make_stored(num_tokens=2000), max_file_bytes=24_000, dtype="float16")
    assert (inspect(folder).dtypes, inspect(folder).num_softmax_rows) == (["float16"], 2000)
    second = folder / "softmax-00002-of-00002.safetensors"
    content = second.read_bytes()
    for new, reason in (
        (None, "is missing; .* says that the softmax has 2 parts"),
        (content[:-1], ".*cut short"),
        ((folder / "model.safetensors").read_bytes(), "holds .*; expected"),
    ):
        second.write_bytes(new) if new is not None else second.unlink()
        read_stored(folder)
        assert_refused(rf"softmax-00002-of-00002\.safetensors: {reason}", folder, with_softmax=True)
    second.write_bytes(content)
    (folder / "softmax-00002-of-00007.safetensors").write_bytes(content)
    assert_refused(
        r"00002-of-00007\.safetensors: is one too many; .* says that the softmax has 2", folder, with_softmax=True
    )


def test_softmax_and_vocabulary_must_agree(folder: Path):
    Vocabulary(["<S>", "</S>", "<UNK>", "a"]).write(folder / "vocabulary.txt")
    with pytest.raises(FormatError, match=r"vocabulary\.txt: the softmax has 20 rows, but the vocabulary has 4 tokens"):
        read_stored(folder, with_softmax=True)
    assert any("has 4 tokens, but the softmax has 20 rows" in refusal for refusal in inspect(folder).refusals)


def test_a_config_that_is_a_link_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path):
    secret = tmp_path / "secret"
    for content in ("{secret secret", (folder / "config.json").read_text()):
        secret.write_text(content)
        (folder / "config.json").unlink()
        (folder / "config.json").symlink_to(secret)
        with pytest.raises(FormatError, match=r"config\.json: is a symlink that leaves its folder, so") as error:
            read_stored(folder)
        assert str(error.value) in inspect(folder).refusals


@pytest.mark.parametrize("inner", [".", "elmo"])
def test_links_in_the_folder_and_into_the_cache_of_hugging_face_are_followed(folder: Path, tmp_path: Path, inner: str):
    (folder / "vocabulary.txt").rename(folder / "words.txt")
    (folder / "vocabulary.txt").symlink_to("words.txt")
    assert read_stored(folder).vocabulary is not None
    repository = tmp_path / "models--x--y"
    snapshot, blobs = repository / "snapshots" / "abc" / inner, repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for file in ("config.json", "model.safetensors", "vocabulary.txt"):
        (folder / file).resolve().rename(blobs / f"hash-of-{file}")
        (snapshot / file).symlink_to(blobs / f"hash-of-{file}")
    assert read_stored(snapshot).vocabulary is not None


def test_no_folder_that_holds_anything_is_written_into(folder: Path, tmp_path: Path):
    """A run that was stopped before its first checkpoint also has a config.json of elmokit."""
    stored = make_stored(num_tokens=20)
    (tmp_path / "run").mkdir()
    (folder / "config.json").rename(tmp_path / "run" / "config.json")
    for taken in (folder, tmp_path / "run"):
        kept = sorted(path.name for path in taken.iterdir())
        with pytest.raises(FileExistsError, match="exists and is not an empty folder; choose another one or remove it"):
            write_native(taken, stored)
        assert sorted(path.name for path in taken.iterdir()) == kept


def test_the_fingerprint_is_kept_with_the_weights_and_computed_for_models_without_it(folder: Path):
    path = folder / "model.safetensors"
    layout = read_layout(path)
    assert layout.metadata["fingerprint"] == read_stored(folder).fingerprint
    computed = replace(read_stored(folder), stored_fingerprint=None).fingerprint
    assert computed == layout.metadata["fingerprint"]
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"cell_clip": 3.0', '"cell_clip": 2.0'))
    assert config != (folder / "config.json").read_text()
    assert read_stored(folder).fingerprint != computed  # the fingerprint of the edited model
    (folder / "config.json").write_text(config)
    write_arrays(path, read_arrays(path, layout))
    assert read_stored(folder).stored_fingerprint is None and read_stored(folder).fingerprint == computed


@pytest.fixture
def quantised(tmp_path: Path) -> Path:
    stored = make_stored(num_tokens=20)
    stored.tensors[SOFTMAX_WEIGHT][3] = 0.0  # the step of this row is 0
    write_native(tmp_path / "int8", stored, softmax_dtype="int8")
    return tmp_path / "int8"


def test_only_a_softmax_is_in_int8_each_number_off_by_half_a_step_at_most(quantised: Path, tmp_path: Path):
    inspection = inspect(quantised)
    assert (inspection.dtypes, inspection.softmax_dtypes, inspection.refusals) == (["float32"], ["int8"], [])
    assert inspection.num_softmax_rows == 20
    assert "  softmax     int8" in str(inspection).splitlines()
    stored, read = make_stored(num_tokens=20), read_stored(quantised, with_softmax=True)
    weight = stored.tensors[SOFTMAX_WEIGHT]
    weight[3] = 0.0
    steps = np.abs(weight).max(axis=1, keepdims=True) / 127
    difference = np.abs(read.tensors[SOFTMAX_WEIGHT] - weight)
    assert (difference <= 0.5001 * steps).all() and difference.any()
    assert np.array_equal(read.tensors[SOFTMAX_BIAS], stored.tensors[SOFTMAX_BIAS])
    write_native(tmp_path / "bare", make_stored(), softmax_dtype="int8")
    assert not list((tmp_path / "bare").glob("softmax-*"))


def test_it_is_split_into_files_and_converted_like_any_other(tmp_path: Path):
    write_native(tmp_path / "whole", make_stored(num_tokens=3000), softmax_dtype="int8")
    convert(tmp_path / "whole", tmp_path / "parts", to="native", softmax_dtype="int8", max_file_bytes=24_000)
    parts = sorted((tmp_path / "parts").glob("softmax-*"))
    assert len(parts) == 2 and all(part.stat().st_size <= 24_000 for part in parts)
    once, twice = (read_stored(tmp_path / name, with_softmax=True) for name in ("whole", "parts"))
    np.testing.assert_allclose(once.tensors[SOFTMAX_WEIGHT], twice.tensors[SOFTMAX_WEIGHT], rtol=1e-6)
    convert(tmp_path / "whole", tmp_path / "float32", to="native")
    assert_equal(once, read_stored(tmp_path / "float32", with_softmax=True))


def test_damaged_rows_are_refused(quantised: Path, snapshot: SnapshotAssertion):
    path = quantised / "softmax-00001-of-00001.safetensors"
    whole = {name: array.copy() for name, array in read_arrays(path, read_layout(path)).items()}

    def read(changes: dict[str, Any]) -> None:
        tensors = whole | changes
        write_arrays(path, {name: array for name, array in tensors.items() if array is not None})
        read_stored(quantised, with_softmax=True)

    changes = (
        {"softmax.weight_scale": None},
        {SOFTMAX_BIAS: np.zeros(20, np.int8)},
        {"softmax.weight_scale": np.full(20, np.inf, np.float32)},
        {SOFTMAX_WEIGHT: np.zeros((20, 6), np.int16)},
    )
    assert refusals(read, changes, folder=quantised) == snapshot


def test_the_name_of_a_file_of_a_saved_model_leads_nowhere_else():
    files = bytes_of(Elmo(random_bilm()))
    with pytest.raises(FormatError, match=r"config\.json"):
        elmo_of(files | {"../config.json": b"{"})


def test_a_saved_model_comes_back_if_the_one_in_its_place_cannot_be_written(tmp_path: Path):
    folder = tmp_path / "model"
    Elmo("small-en").save(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(OSError, match="full"), replacing_saved(folder):
        raise OSError("the disk is full")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with replacing_saved(folder):
        Elmo("small-en").save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
