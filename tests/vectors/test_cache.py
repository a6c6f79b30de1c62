import errno
import gc
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.layers.packed.linear import Precision
from elmokit.system.paths import cache_limit, default_cache, make_room
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.cache_folder import cached_pieces, clear_cache
from elmokit.vectors.save_vectors import save_vectors
from limited_disk import failing, files_of_at_most

SENTENCES = [["the", "cat", "sat"], ["밥"], ["the", "cat"], [], ["a", "b", "c", "d"]]


@pytest.fixture(scope="module")
def elmo(tiny_bilms: tuple[Path, Path]) -> Elmo:
    return Elmo.from_pretrained(tiny_bilms[0], device="cpu")


def piece_of(cache: Path) -> tuple[Path, Path]:
    """The files of the only piece: its keys and its vectors."""
    (keys,) = cache.rglob("*.keys.npy")
    return keys, keys.with_name(keys.name.replace(".keys", ""))


def test_a_batch_is_what_elmo_encodes_rounded_to_float16_zero_at_padding_and_kept_if_added(elmo: Elmo, tmp_path: Path):
    activations = CachedActivations(elmo, folder=None)
    activations.add(SENTENCES)
    layers = activations(SENTENCES)
    assert layers.shape == (3, 5, 4, 12) and layers.dtype == torch.float32
    for number, expected in enumerate(elmo.encode(SENTENCES, layers="all")):
        length = expected.shape[1]
        np.testing.assert_allclose(layers[:, number, :length], expected, atol=1e-3, rtol=1e-3)
        assert torch.equal(layers[:, number, :length], layers[:, number, :length].half().float())
        assert not layers[:, number, length:].any()
    nothing_added = CachedActivations(elmo, folder=tmp_path)
    assert torch.equal(nothing_added(SENTENCES), layers) and list(tmp_path.iterdir()) == []


def test_the_cache_changes_nothing_and_encodes_once_also_if_read_only(
    elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, without = CachedActivations(elmo, folder=tmp_path), CachedActivations(elmo, folder=None)
    for sentences in (SENTENCES[:3], SENTENCES):  # in the same batches
        without.add(sentences)
    first.add(SENTENCES[:3])
    encoded: list[list[str]] = []
    encode = elmo.encode
    monkeypatch.setattr(elmo, "encode", lambda given, **options: encoded.extend(given) or encode(given, **options))
    second = CachedActivations(elmo, folder=tmp_path)
    second.add([*SENTENCES, *reversed(SENTENCES)])
    assert torch.equal(first(SENTENCES[:3]), second(SENTENCES[:3]))
    for batch in (SENTENCES, SENTENCES[2:], SENTENCES[:1]):
        assert torch.equal(second(batch), without(batch))
    monkeypatch.setattr(os, "utime", failing(errno.EROFS))
    CachedActivations(elmo, folder=tmp_path).add(SENTENCES)  # works although the folder is read-only
    assert encoded == SENTENCES[3:]
    assert len(list(tmp_path.rglob("*.keys.npy"))) == 2


@pytest.mark.filterwarnings("ignore:.* tokens are empty or contain spaces")
def test_models_precisions_and_sentences_of_the_same_letters_are_apart(tiny_bilms: tuple[Path, Path], tmp_path: Path):
    given: list[tuple[Path, Precision]] = [(tiny_bilms[1], "float32")]
    given += [(tiny_bilms[0], precision) for precision in ("int8", "bfloat16", "float32")]
    for path, precision in given:
        elmo = Elmo.from_pretrained(path, device="cpu", precision=precision)
        shared, alone = CachedActivations(elmo, folder=tmp_path), CachedActivations(elmo, folder=None)
        for activations in (shared, alone):
            activations.add([["a b"], ["a", "b"], ["ab"], *SENTENCES])
        for sentences in (SENTENCES, [["a b"]], [["a", "b"]], [["ab"]]):
            assert torch.equal(shared(sentences), alone(sentences))
        assert shared([["a", "b"]]).shape[2] == 2 and not torch.equal(shared([["a b"]]), shared([["ab"]]))
    first, second = elmo.fingerprint(), Elmo(tiny_bilms[1]).fingerprint()
    names = {first, second, *(f"{first}-{precision}" for precision in ("bfloat16", "int8"))}
    assert {path.name for path in (tmp_path / "activations-2").iterdir()} == names
    assert clear_cache(tmp_path, model=first) > 0 and {piece.name for piece in cached_pieces(tmp_path)} == {second}


def test_an_incomplete_piece_is_made_again_a_damaged_named(elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    CachedActivations(elmo, folder=tmp_path).add(SENTENCES)
    keys, rows = piece_of(tmp_path)
    left = keys.with_name(f".{keys.name}.0123456789abcdef.tmp")
    left.mkdir()  # left by a killed process
    for part in (keys, rows, rows.with_suffix(".offsets.npy")):
        part.unlink()  # deleted by another process, or lost because the power failed before the write
        again = CachedActivations(elmo, folder=tmp_path)
        again.add(SENTENCES)
        with monkeypatch.context() as patched:
            patched.setattr(elmo, "encode", lambda *_, **__: pytest.fail("encoded again"))
            again(SENTENCES)
    assert not left.exists()
    content, mend = rows.read_bytes(), rf"; delete {rows.stem}\.\* in .* again"
    rows.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=rf"{rows.name}: is not a NumPy array, .*{mend}"):
        CachedActivations(elmo, folder=tmp_path).add(SENTENCES)
    rows.write_bytes(content[:-2] + b"\xff\x7f")
    damaged = CachedActivations(elmo, folder=tmp_path)
    damaged.add(SENTENCES)
    with pytest.raises(ValueError, match=rf"{rows.name}: sentence 4: .* not finite{mend}"):
        damaged(SENTENCES)
    save_vectors(rows, [["a"]], [np.zeros((3, 1, 12))], overwrite=True)
    with pytest.raises(ValueError, match=rf"{keys.name} does not match {rows.name}{mend}"):
        CachedActivations(elmo, folder=tmp_path).add(SENTENCES)


def test_temporary_caches_go_also_of_killed_processes(elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / ".elmokit-activations.0123456789abcdef.tmp"
    left.mkdir()
    (left / "piece.npy").touch()
    activations = CachedActivations(elmo, folder=None)
    activations.add(SENTENCES)
    (folder,) = filter(Path.is_dir, tmp_path.iterdir())  # next to its lock
    assert folder != left and folder in activations.folder.parents
    assert folder.stat().st_mode & 0o777 == 0o700
    del activations
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_no_place_and_too_large_numbers_are_errors(elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    CachedActivations(elmo, folder=tmp_path).add([["a"]])
    keys, rows = piece_of(tmp_path)
    keys.unlink()
    os.mkfifo(keys)  # must not block
    with pytest.raises(OSError, match="is a device or a pipe; expected the name of a file"):
        CachedActivations(elmo, folder=tmp_path).add([["a"]])
    shutil.rmtree(rows.parent)
    (tmp_path / "home").write_text("a file")
    with pytest.raises(NotADirectoryError, match="Not a directory; choose another folder .*--cache DIR"):
        CachedActivations(elmo, folder=tmp_path / "home" / "cache").add(SENTENCES)
    message = "File too large; choose another folder for the cache of activations"
    with files_of_at_most(10_000), pytest.raises(OSError, match=message):
        CachedActivations(elmo, folder=tmp_path).add([["a"] * 200])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "home"]
    monkeypatch.setattr(elmo, "encode", lambda sentences, **_: [np.full((3, 1, 12), 1e5, np.float32)] * len(sentences))
    with pytest.raises(ValueError, match="beyond the range of float16 in the sentence '밥'"):
        CachedActivations(elmo, folder=None).add([["밥"]])


def test_the_least_recently_used_make_room(elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number, sentence in enumerate(["a", "b", "c"]):
        CachedActivations(elmo, folder=tmp_path).add([[sentence] * 20])
        for path in tmp_path.rglob("*.npy"):
            if path.stat().st_mtime > 1000:
                os.utime(path, (100 * number, 100 * number))
    size = cached_pieces(tmp_path)[0].num_bytes
    reads_the_oldest = CachedActivations(elmo, folder=tmp_path)
    reads_the_oldest.add([["a"] * 20])  # now it is no longer the least recently used
    a, b = [["a"] * 20], [["b"] * 20]
    before = reads_the_oldest(a + b)
    monkeypatch.setenv("ELMOKIT_CACHE_GB", str((3 * size + 1) / 1e9))
    CachedActivations(elmo, folder=tmp_path).add([["d"] * 20])
    kept = {piece.paths[0] for piece in cached_pieces(tmp_path)}
    assert len(kept) == 3
    CachedActivations(elmo, folder=tmp_path).add(a)
    assert {piece.paths[0] for piece in cached_pieces(tmp_path)} == kept  # nothing was encoded
    monkeypatch.setenv("ELMOKIT_CACHE_GB", "0")
    CachedActivations(elmo, folder=tmp_path).add([["e"] * 20])
    assert len(cached_pieces(tmp_path)) == 1
    assert torch.equal(reads_the_oldest(a + b), before)  # open files can still be read


def add_piece(folder: Path, model: str, name: str, *, days_ago: float) -> Path:
    """Add a piece of three files, with 100 bytes in all."""
    place = folder / "activations-2" / model
    place.mkdir(parents=True, exist_ok=True)
    for ending, size in ((".npy", 80), (".offsets.npy", 10), (".keys.npy", 10)):
        (place / f"{name}{ending}").write_bytes(bytes(size))
        os.utime(place / f"{name}{ending}", (time.time() - days_ago * 86_400,) * 2)
    return place / f"{name}.keys.npy"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    add_piece(tmp_path, "abc", "one", days_ago=3)
    add_piece(tmp_path, "abc", "two", days_ago=1)
    add_piece(tmp_path, "def", "three", days_ago=2)
    (tmp_path / "activations-2" / "abc" / ".half.npy").write_bytes(b"unfinished")
    return tmp_path


def names(folder: Path) -> list[str]:
    return [piece.paths[0].name.removesuffix(".keys.npy") for piece in cached_pieces(folder)]


@pytest.mark.parametrize(
    ("limit", "kept"), [(400, ["one", "three", "two"]), (399, ["three", "two"]), (250, ["two"]), (0, [])]
)
def test_room_is_made_by_the_oldest_of_all_models(folder: Path, limit: int, kept: list[str], monkeypatch: Any):
    monkeypatch.setenv("ELMOKIT_CACHE_GB", str(limit / 1e9))
    make_room(cached_pieces(folder), num_bytes=100)
    assert names(folder) == kept


def test_what_a_killed_process_left_without_keys_goes(folder: Path):
    (folder / "activations-2" / "abc" / "one.keys.npy").unlink()
    assert names(folder) == ["one", "three", "two"]
    assert clear_cache(folder, model="abc") == 190
    assert names(folder) == ["three"]


def test_the_limit_is_a_setting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ELMOKIT_CACHE_GB", raising=False)
    assert cache_limit() == 20_000_000_000
    monkeypatch.setenv("ELMOKIT_CACHE_GB", "0.5")
    assert cache_limit() == 500_000_000
    for wrong in ("much", "-1", "nan", "inf"):
        monkeypatch.setenv("ELMOKIT_CACHE_GB", wrong)
        with pytest.raises(ValueError, match=f"ELMOKIT_CACHE_GB is '{wrong}'; expected a number of GB"):
            cache_limit()


@pytest.mark.parametrize(
    ("variable", "folder"), [("ELMOKIT_CACHE", "."), ("XDG_CACHE_HOME", "elmokit"), ("HOME", ".cache/elmokit")]
)
def test_the_default_folder_is_that_of_elmokit_or_of_the_platform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, folder: str
):
    for name in ("ELMOKIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert default_cache() == tmp_path / folder
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setenv(variable, tmp_path.name)
    assert default_cache() == tmp_path / folder
    monkeypatch.setenv("ELMOKIT_CACHE", "~no-such-user/cache")
    with pytest.raises(FileNotFoundError, match="~no-such-user/cache: there is no such home folder; set ELMOKIT_CACHE"):
        default_cache()


def test_the_verb_shows_and_clears_by_model(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["cache", "--cache", str(folder)]) == 0
    first, abc, other = capsys.readouterr().out.splitlines()
    assert first == f"{folder}: 0.0 MB, at most 20,000.0 MB (ELMOKIT_CACHE_GB)"
    assert abc.startswith("abc  0.0 MB in 2 pieces, last used 2") and other.startswith("def  0.0 MB in 1 piece,")
    for options, left in ((["--model", "x"], ["one", "three", "two"]), (["--model", "ab"], ["three"]), ([], [])):
        assert main(["cache", "clear", "--cache", str(folder), *options]) == 0
        assert names(folder) == left
