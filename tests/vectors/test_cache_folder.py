import os
import time
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main
from elmokit.system.paths import cache_limit, default_cache, make_room
from elmokit.vectors.cache_folder import cached_pieces, clear_cache


def add_piece(folder: Path, model: str, name: str, *, days_ago: float) -> Path:
    """A piece of three files; the size is that of all."""
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
    return [piece.keys_path.name.removesuffix(".keys.npy") for piece in cached_pieces(folder)]


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
