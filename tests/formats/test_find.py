"""Models of other formats are imported once, in a child process, into a cache that finds them again."""

import json
import lzma
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit import Elmo, inspect
from elmokit.cli.main import main
from elmokit.files import torch_files
from elmokit.formats import find as finding
from elmokit.formats.find import find, imported_models
from elmokit.formats.importers import child
from elmokit.formats.native import read_vocabulary
from elmokit.system.messages import FormatError
from toy_stored import assert_refused, read_stored

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ELMOKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths of the models that are imported from now on."""
    paths: list[Path] = []
    run = child.run

    def counting(path: Path, *others: Any) -> child.Report:
        paths.append(path)
        return run(path, *others)

    monkeypatch.setattr(child, "run", counting)
    return paths


def test_a_model_is_imported_once_wherever_its_files_are_and_anew_when_they_change(
    pair: Path, cache: Path, imports: list[Path]
):
    options, weights = pair / "options.json", pair / "weights.hdf5"
    first = find(options, weights)
    assert first.is_relative_to(cache) and find(weights, options) != first and find(options, weights) == first
    assert len(imports) == 2
    moved = pair.rename(pair.with_name("moved"))
    assert find(moved / "options.json", moved / "weights.hdf5") == first
    folder = find(moved)
    assert find(str(moved)) == folder and len(imports) == 3
    (moved / "vocabulary.txt").write_text("<S>\n</S>\n<UNK>\nother\n", encoding="utf-8")
    assert read_stored(find(moved)).vocabulary == read_vocabulary(moved / "vocabulary.txt")
    assert len(imports) == 4 and read_stored(first).vocabulary is None
    assert sorted(path.name for path in (cache / finding.VERSION).iterdir()) == sorted(
        model.paths[0].name for model in imported_models(cache)
    )


def test_weights_next_to_cached_token_vectors_are_part_of_the_model(tmp_path: Path, cache: Path, imports: list[Path]):
    source = FIXTURES / "formats" / "checkpoints"
    shutil.copytree(source / "char", tmp_path / "char", ignore=shutil.ignore_patterns("model*"))
    vectors = Path(shutil.copy(source / "char.token_embeddings.hdf5", tmp_path / "char"))
    shutil.copy(source / "char.dumped.hdf5", tmp_path / "char")
    given = tmp_path / "char" / "options.json", vectors
    assert find(*given) == find(*given) and len(imports) == 1
    os.utime(tmp_path / "char" / "char.dumped.hdf5", (1, 1))
    find(*given)
    assert len(imports) == 2


def test_the_cache_is_shown_cleared_and_bounded(pair: Path, cache: Path, monkeypatch: Any, capsys: Any):
    find(pair)
    find(pair / "options.json", pair / "weights.hdf5")
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert "imported models: " in shown and shown.count(str(pair)) == 2
    monkeypatch.setenv("ELMOKIT_CACHE_GB", "0")
    (pair / "vocabulary.txt").unlink()
    last = find(pair)
    assert [model.paths[0] for model in imported_models(cache)] == [last.parent]
    assert main(["cache", "clear"]) == 0 and imported_models(cache) == []


def test_where_the_cache_cannot_be_written_a_model_is_imported_for_the_process(
    pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports: list[Path]
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ELMOKIT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="is imported for this process only: the cache cannot be written"):
        folder = find(pair)
    assert find(pair) == folder and len(imports) == 1 and read_stored(folder).vocabulary is not None


def test_nothing_is_left_of_files_that_are_refused(pair: Path, cache: Path):
    os.truncate(pair / "weights.hdf5", 2000)
    with pytest.raises(FormatError, match=r"weights\.hdf5: cannot be opened as HDF5, perhaps truncated"):
        Elmo(pair)
    assert imported_models(cache) == [] and list((cache / finding.VERSION).iterdir()) == []


@pytest.mark.usefixtures("in_a_child")
def test_a_child_process_gives_the_same_model_and_inspection(pair: Path, cache: Path):
    expected = read_stored(pair)
    again = read_stored(find(pair))
    assert again.fingerprint == expected.fingerprint and again.vocabulary == expected.vocabulary
    inspection = inspect(pair)
    assert (inspection.format, inspection.refusals, inspection.vocabulary_size) == ("bilm_tf", [], 4)
    assert {pair / "weights.hdf5", pair / "options.json"} <= {*inspection.files} and "weights.hdf5" in str(inspection)
    (pair / "options.json").write_text("{")
    with pytest.raises(FormatError, match=r"options\.json: is not valid JSON"):
        find(pair)


def test_a_child_process_prefers_the_standard_library_to_the_packages_next_to_elmokit(pair: Path, tmp_path: Path):
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "elmokit").symlink_to(Path(finding.__file__).parents[1])
    (packages / "pathlib.py").write_text("raise ImportError('an obsolete backport')\n")
    others = [path for path in sys.path if path.endswith("-packages")]
    start = f"import sys; sys.path += {[str(packages), *others]}; import elmokit"
    script = f"{start}; print(elmokit.__file__, elmokit.inspect({str(pair)!r}).refusals)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{packages / 'elmokit' / '__init__.py'} []\n"


@pytest.mark.usefixtures("in_a_child", "cache")
@pytest.mark.parametrize("name", ["segfault", "invalid-pointer", "endless"])
def test_a_file_that_crashes_its_reader_or_keeps_it_busy_is_refused(name: str, tmp_path: Path, capsys: Any):
    shutil.copy(FIXTURES / "allennlp" / "options.json", tmp_path)
    packed = (FIXTURES / "hostile" / f"{name}.h5.xz").read_bytes()
    (tmp_path / "w.hdf5").write_bytes(lzma.decompress(packed))
    (tmp_path / "lines.txt").write_text("We sat .\n")
    start = time.process_time()
    assert main(["embed", str(tmp_path / "lines.txt"), "-o", str(tmp_path / "o.npz"), "--model", str(tmp_path)]) == 2
    # such a file corrupts memory: what is read from it differs from run to run, and so does the reason
    assert f"elmokit: error: {tmp_path}" in capsys.readouterr().err and time.process_time() - start < 10
    assert not (tmp_path / "o.npz").exists()


def test_each_file_of_pytorch_is_unpickled_once(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    read = torch_files.read_torch_file

    def counting(path: Path) -> torch_files.TorchFile:
        opened.append(path.name)
        return read(path)

    monkeypatch.setattr("elmokit.formats.importers.sources.read_torch_file", counting)
    Elmo(FIXTURES / "formats" / "many_langs" / "char_word", device="cpu").encode("A word .")
    assert sorted(opened) == ["encoder.pkl", "token_embedder.pkl"]
    opened.clear()
    Elmo(FIXTURES / "formats" / "allennlp" / "frozen.model.tar.gz", device="cpu")
    assert len(opened) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])  # the second begins with a byte order mark
def test_a_vocabulary_is_read_as_bilm_tf_reads_it(encoding: str, pair: Path, cache: Path):
    tokens = ["<S>", "</S>", "<UNK>", *(f"word{number}" for number in range(200)), "\0", "cat ", "cat", "dog"]
    (pair / "vocabulary.txt").write_text("".join(f"{token}\n" for token in tokens), encoding=encoding)
    vocabulary = Elmo(pair, device="cpu").vocabulary
    assert vocabulary is not None and vocabulary.tokens == [token.strip(" ") for token in tokens]
    assert vocabulary.id("cat") == len(tokens) - 2 and vocabulary.id("\0") == len(tokens) - 4


def test_of_two_vocabularies_the_uncompressed_one_is_read_and_others_are_said(pair: Path, cache: Path):
    content = (pair / "vocabulary.txt").read_bytes()
    (pair / "vocabulary.txt.xz").write_bytes(lzma.compress(content + b"more\n"))
    assert read_stored(pair).vocabulary == read_vocabulary(pair / "vocabulary.txt")
    (pair / "words.txt").write_bytes(content)
    with pytest.warns(UserWarning, match=r"several vocabularies, and none is used: vocabulary\.txt, vocabulary"):
        assert Elmo(pair).vocabulary is None


def test_the_damaged_file_is_named_and_not_its_neighbour(tmp_path: Path, folder: Path):
    source = FIXTURES / "formats" / "allennlp" / "elmo_two_mixes.state_dict.th"
    (tmp_path / "cut.th").write_bytes(source.read_bytes()[:3000])
    for content in ('["a list"]', "", "404: Not Found"):
        (tmp_path / "notes.json").write_text(content)
        assert_refused(r"cut\.th: ", tmp_path / "cut.th")
    for number in range(1005):
        (folder / f"{number}.txt").touch()
    os.truncate(folder / "model.safetensors", 1000)
    assert_refused(r"model\.safetensors: .*cut short", folder)


def test_a_dictionary_of_another_version_is_refused(tmp_path: Path, cache: Path):
    folder = Path(shutil.copytree(find(FIXTURES / "formats" / "many_langs" / "word_only"), tmp_path / "model"))
    path = folder / "dictionary.json"
    text = path.read_text(encoding="utf-8")
    values: dict[str, Any] = json.loads(text)
    words: dict[str, int] = values["words"]
    plain = [word for word in sorted(words, key=words.__getitem__) if word not in ("<bos>", "<eos>", "<oov>", "<pad>")]
    for others in (
        {word: number - (number > words[plain[0]]) for word, number in words.items() if word != plain[0]},
        {word: words[word] for word in words if word not in plain[len(plain) // 2 :]},
        {word: words[word] for word in words if word != plain[-1]},
        words | {plain[0]: words[plain[1]]},
    ):
        path.write_text(json.dumps(values | {"words": others}), encoding="utf-8")
        assert_refused(r"dictionary\.json: does not belong to model\.safetensors: it is damaged, or of another", folder)
    path.write_text(text, encoding="utf-8")
    assert np.isfinite(Elmo(folder, device="cpu").encode("A word .")).all()
