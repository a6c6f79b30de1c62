"""Formats are recognised by the contents of files. Errors say what other files are, and what to do about them."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from elmokit.formats import native
from elmokit.formats.file_kinds import ADVICE, FileKind, kind_of
from elmokit.formats.find import find, inspect, model_name
from elmokit.formats.importers.bilm_tf import find_pair
from elmokit.formats.importers.sources import Sources
from elmokit.formats.native import read_vocabulary
from elmokit.system.messages import FormatError
from elmokit.text.vocabulary import Vocabulary
from refusals import refusals
from toy_stored import assert_refused, read_stored


def pair_names(path: Path) -> list[str]:
    """The names of the options file and the weights file that are found."""
    found = find_pair(Sources(path))
    return [found.options.name, found.weights.name]


def test_names_do_not_matter_unless_a_folder_has_two_released_pairs(pair: Path):
    for name in ("small", "5.5B"):
        for file, ending in (("options", "json"), ("weights", "hdf5")):
            shutil.copy(pair / f"{file}.{ending}", pair / f"elmo_{name}_{file}.{ending}")
    released = ["elmo_5.5B_options.json", "elmo_5.5B_weights.hdf5"]
    assert pair_names(pair / released[0]) == pair_names(pair / released[1]) == released
    assert_refused("holds several options", pair)
    for path in pair.glob("elmo_*"):
        path.unlink()
    (pair / "options.json").rename(pair / "elmo_2x4096_options.hdf5")
    (pair / "weights.hdf5").rename(pair / "weights.json")
    (pair / "vocabulary.txt").rename(pair / "vocab")
    assert pair_names(pair) == ["elmo_2x4096_options.hdf5", "weights.json"]
    assert read_stored(pair).vocabulary is not None


def test_a_compressed_vocabulary_is_found_but_none_elsewhere(pair: Path, tmp_path: Path):
    content = (pair / "vocabulary.txt").read_bytes()
    (pair / "vocabulary.txt").rename(tmp_path / "outside.txt")
    (pair / "vocabulary.txt").symlink_to(tmp_path / "outside.txt")
    assert read_stored(pair).vocabulary is None
    with pytest.raises(FormatError, match="is a symlink that leaves its folder"):
        read_vocabulary(pair / "vocabulary.txt")
    (pair / "vocab.txt.gz").write_bytes(gzip.compress(content.replace(b"\n", b"\r\n")))
    assert read_stored(pair).vocabulary == Vocabulary(content.decode().split())


def test_a_damaged_vocabulary_is_not_taken_for_another_file_and_can_be_left_out(pair: Path):
    words = (pair / "vocabulary.txt").rename(pair / "words")
    content = words.read_bytes()
    cases = [(content + b"\xff\n", r", line \d+: .*UTF-8")]
    for packed in (gzip.compress(content), lzma.compress(content)):
        for damaged in (packed[:-12], packed[:10] + b"\xff" + packed[11:]):
            cases.append((damaged, r": the compressed file is truncated or damaged \("))
    for damaged, reason in cases:
        words.write_bytes(damaged)
        for path in (pair, pair / "options.json", pair / "weights.hdf5"):
            with pytest.raises(ValueError, match=rf"words{reason}.*: give options and weights as two files"):
                read_stored(path)
        assert read_stored(pair / "options.json", pair / "weights.hdf5").vocabulary is None


@pytest.mark.parametrize("new", [False, True])
def test_a_folder_whose_only_file_of_pytorch_is_damaged_says_what_is_wrong_with_it(tmp_path: Path, new: bool):
    path = tmp_path / "weights.th"
    torch.save({"scalar": torch.ones(3)}, path, _use_new_zipfile_serialization=new)
    assert_refused(r"contains no model that elmokit can read: weights\.th", tmp_path)
    os.truncate(path, path.stat().st_size - 5)
    assert_refused(r"weights\.th: .*is (damaged|cut short)", tmp_path)


def test_weights_are_told_from_other_hdf5_files(pair: Path):
    with h5py.File(pair / "a_cache.hdf5", "w") as file:
        file["0"] = np.zeros((3, 4, 12), np.float32)
    (pair / "broken.hdf5").write_bytes((pair / "weights.hdf5").read_bytes()[:2000])
    assert pair_names(pair)[1] == "weights.hdf5"
    (pair / "copy.hdf5").write_bytes((pair / "weights.hdf5").read_bytes())
    assert_refused("several HDF5 files of weights: copy.hdf5, weights.hdf5; give the options", pair)
    assert pair_names(pair / "copy.hdf5")[1] == "copy.hdf5"
    (pair / "copy.hdf5").unlink()
    (pair / "weights.hdf5").unlink()
    assert_refused(r"broken\.hdf5: cannot be opened as HDF5, perhaps truncated", pair)
    (pair / "broken.hdf5").write_bytes((pair / "a_cache.hdf5").read_bytes())
    assert_refused("holds no HDF5 file with a biLM's weights", pair)


def test_a_half_of_a_pair_says_what_is_missing(pair: Path, tmp_path: Path):
    (tmp_path / "half").mkdir()
    (pair / "options.json").rename(tmp_path / "half" / "options.json")
    for path in (pair, pair / "weights.hdf5"):
        assert_refused(r"there is no options\.json of bilm-tf next to it", path)
    for path in (tmp_path / "half", tmp_path / "half" / "options.json"):
        assert_refused("there is no HDF5 file of weights next to it", path)


def _torch_file(*, new: bool) -> bytes:
    target = io.BytesIO()
    torch.save({"weight": torch.ones(2)}, target, _use_new_zipfile_serialization=new)
    return target.getvalue()


TAR = tarfile.TarInfo("vocabulary").tobuf() + bytes(1024)
with zipfile.ZipFile(ZIP := io.BytesIO(), "w") as zipped:
    zipped.writestr("options.json", "{}")
CHECKPOINT_INDEX = bytes(40) + b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"
OTHER_FILES: dict[str, tuple[bytes, FileKind, str]] = {
    "pickle": (pickle.dumps({"a": 1}), FileKind.PICKLE, "opening a pickle can run any code"),
    "PyTorch file": (_torch_file(new=True), FileKind.TORCH_ZIP, "convert its tensors to safetensors or HDF5"),
    "old PyTorch file": (_torch_file(new=False), FileKind.PICKLE, "convert its tensors"),
    "zip": (ZIP.getvalue(), FileKind.ZIP, "contains no model that elmokit can read"),
    "tar": (TAR, FileKind.TAR, "contains no model that elmokit can read"),
    "tar.gz": (gzip.compress(TAR), FileKind.TAR_GZ, "contains no model that elmokit can read"),
    "gzip": (gzip.compress(b"words"), FileKind.GZIP, "expected a model"),
    "xz": (lzma.compress(b"words"), FileKind.XZ, "archives of models are read as zip, tar or tar.gz"),
    "bz2": (bz2.compress(TAR), FileKind.BZIP2, "archives of models are read as zip, tar or tar.gz"),
    "checkpoint index": (CHECKPOINT_INDEX, FileKind.TENSORFLOW_INDEX, "there is no options.json"),
    "checkpoint": (b'model_checkpoint_path: "x"\n', FileKind.TENSORFLOW_CHECKPOINT, "the .index and .data files"),
    "SavedModel": (b"\x08\x01\x12\xa2\x03", FileKind.TENSORFLOW_SAVED_MODEL, "modules of TF-Hub are not read"),
    "JSON list": (b'["a list"]', FileKind.JSON, "expected a model"),
    "many langs": (b'{"config_path": "/users/cnn.json"}', FileKind.MANY_LANGS_CONFIG, "ELMoForManyLangs"),
    "AllenNLP config": (b'{"model": {}, "trainer": {}}', FileKind.ALLENNLP_CONFIG, "needs its weights.th"),
    "JSON": (b'{"a": 1}', FileKind.JSON, "expected a model"),
    "broken JSON": (b'{"a": ', FileKind.BROKEN_JSON, "is not valid JSON"),
    "text": ("밥을 먹다.\n".encode() * 200, FileKind.TEXT, "expected a model"),
    "noise": (b"\xff\x00\xfe\x01" * 300, FileKind.BINARY, "expected a model"),
    "nothing": (b"", FileKind.EMPTY, "download it again"),
    "web page": (b"\n<!DOCTYPE html>\n<html>", FileKind.MARKUP, "download it again"),
    "page of S3": (b"<Error><Code>AccessDenied</Code></Error>", FileKind.MARKUP, "download it again"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid", FileKind.GIT_LFS_POINTER, "run `git lfs pull`"),
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_other_files_are_named_by_their_contents(tmp_path: Path, name: str):
    content, kind, advice = OTHER_FILES[name]
    path = tmp_path / "weights.hdf5"  # the name says otherwise
    path.write_bytes(content)
    assert kind_of(path) is kind
    for given in (path, tmp_path):
        with pytest.raises(FormatError) as error:
            read_stored(given)
        assert inspect(given).refusals == [str(error.value)]
        if kind is not FileKind.BROKEN_JSON:
            assert kind.value in str(error.value)
        if given == path or kind in ADVICE:
            assert advice in str(error.value)


def test_a_file_of_the_wrong_kind_in_a_pair_is_named(pair: Path, tmp_path: Path, snapshot: SnapshotAssertion):
    (state := tmp_path / "weights.th").write_bytes(_torch_file(new=True))
    options, weights = pair / "options.json", pair / "weights.hdf5"
    pairs = (options, state), (pair / "vocabulary.txt", weights), (weights, weights), (pair, weights), (options, pair)
    assert refusals(lambda given: read_stored(*given), pairs, folder=tmp_path) == snapshot
    assert all(inspect(*given).refusals for given in pairs)


@pytest.mark.parametrize(
    "content", [*(OTHER_FILES[name][0] for name in ("nothing", "web page", "pointer")), b"404: Not Found"]
)
def test_what_a_failed_download_left_is_named(pair: Path, folder: Path, content: bytes):
    for path in (pair / "options.json", pair / "weights.hdf5", folder / "config.json", folder / "model.safetensors"):
        kept = path.read_bytes()
        path.write_bytes(content)
        for given in (path, path.parent):
            assert_refused(f"{path.name}: is an? .*; expected a model file: (download|run)", given)
        path.write_bytes(kept)
        assert read_stored(path).tensors


def test_models_have_the_names_that_elmo_knows(folder: Path, pair: Path, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr("elmokit.formats.find.bundled_models", lambda: {"toy": folder})
    assert inspect("Toy").path == inspect("toy").path == folder
    for path in ("TOY", folder, str(folder / "model.safetensors"), folder / "config.json"):
        assert inspect(path).format == "native"
    monkeypatch.setenv("HOME", str(tmp_path))
    at_home = {path: f"~/{path.relative_to(tmp_path)}" for path in (folder, pair)}
    assert inspect(at_home[folder]).path == folder
    assert inspect(f"{at_home[pair]}/weights.hdf5", f"{at_home[pair]}/options.json").format == "bilm_tf"
    with pytest.raises(FileNotFoundError, match="unknown model '~nobody-here/model'"):
        find("~nobody-here/model")


@pytest.mark.parametrize(
    ("model", "format", "num_rows", "said"),
    [("model", "native", 20, "3,622 (3,762 with the softmax)"), ("pair", "bilm_tf", None, "3,622 (no softmax)")],
)
def test_an_inspection_says_what_a_model_is(written: Path, model: str, format: str, num_rows: int | None, said: str):
    inspection = inspect(written / model)
    assert (inspection.format, inspection.num_softmax_rows, inspection.num_parameters) == (format, num_rows, 3622)
    assert inspection.files == {path: path.stat().st_size for path in (written / model).iterdir()}
    assert (inspection.dtypes, inspection.vocabulary_size) == (["float32"], num_rows or 4)
    assert inspection.refusals == inspection.risks == []
    size = "2 layers of 10 cells projected to 6, forward and backward, skip connections"
    assert all(words in str(inspection) for words in (size, said, "none found"))
    named = inspect(written / "pair" / "options.json", written / "pair" / "weights.hdf5")
    assert named.vocabulary_size is None  # with named files, vocabulary.txt is not read
    assert inspect(Path(__file__).parents[1] / "fixtures" / "bilm_tf").refusals == []


def test_what_is_not_there_is_said(tmp_path: Path, pair: Path):
    with pytest.raises(FileNotFoundError, match="unknown model '.*nowhere': neither an existing path nor the name"):
        find(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere: there is no such file or folder"):
        find(pair / "options.json", tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="unknown model 'small_en': .*; did you mean small-en"):
        inspect("small_en")
    with pytest.raises(FileNotFoundError, match="unknown model 'mini-en': .*; small-en has replaced it; installed: "):
        inspect("mini-en")
    for url in ("https://x.org/options.json", Path("https://x.org/options.json")):
        with pytest.raises(FileNotFoundError, match="for a URL, download the files .*hf://user/model"):
            find(url)
        with pytest.raises(FileNotFoundError, match=r"https:/+x\.org/options\.json is a URL; download the two files"):
            find(pair / "options.json", url)
    (tmp_path / "empty").mkdir()
    assert_refused("is an empty folder; give the folder", tmp_path / "empty")


def test_pipes_and_dangling_links_do_not_keep_us_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path):
        assert_refused("a device, pipe or dangling link", path)


def test_safetensors_without_our_config_are_explained(folder: Path):
    (folder / "config.json").write_text('{"architectures": ["BertModel"]}')
    assert_refused(r"is a safetensors file; .*there is no config\.json of elmokit", folder / "model.safetensors")
    assert_refused(r"config\.json \(a JSON file\)", folder)


def test_a_model_is_called_as_its_folder_or_as_it_is_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names = {"small-en": "small-en", "hf://user/model": "model", "hf://user/model@main": "model@main", "bilm/": "bilm"}
    assert {given: model_name(given) for given in names} == names
    folder = tmp_path / "bilm" / "inner"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert model_name(".") == "inner" and model_name("..") == model_name(folder / "..") == "bilm"


def test_no_more_is_read_than_words_can_be_packed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = "".join(f"{number:x}\n" for number in range(20_000))
    (tmp_path / "words.gz").write_bytes(gzip.compress(f"<S>\n</S>\n<UNK>\n{words}".encode(), 1))
    assert len(read_vocabulary(tmp_path / "words.gz")) == 20_003
    monkeypatch.setattr(native, "MAX_BYTES", 80_000)
    with pytest.raises(ValueError, match=r"words.gz: has more than 78.1 KiB, too much for a file of its size"):
        read_vocabulary(tmp_path / "words.gz")
