import errno
import os
from pathlib import Path

import pytest

from elmokit.system.files import atomic_write


def no_space(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_file_is_there_once_it_is_whole(tmp_path: Path):
    path = tmp_path / "result.txt"
    with atomic_write(path) as unfinished:
        unfinished.write_text("half")
        assert not path.exists()
        assert unfinished.parent == tmp_path
        assert unfinished.suffix == ".txt"
        unfinished.write_text("whole")
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(error), atomic_write(path) as unfinished:
        unfinished.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_at_the_very_end_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"), atomic_write(tmp_path / "result.txt") as unfinished:
        unfinished.write_text("whole")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed(tmp_path: Path):
    real = tmp_path / "real.txt"
    real.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    with atomic_write(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_target_that_cannot_be_is_refused_at_once(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"), atomic_write(tmp_path / "no" / "a"):
        pytest.fail("nothing should be computed")
    with pytest.raises(IsADirectoryError, match="is a folder"), atomic_write(tmp_path):
        pytest.fail("nothing should be computed")
    with pytest.raises(OSError, match="is a device"), atomic_write(os.devnull):
        pytest.fail("nothing should be computed")


def test_a_new_file_has_usual_permissions_and_an_old_one_keeps_its_own(tmp_path: Path):
    path = tmp_path / "result.txt"
    for expected in (0o666 & ~_umask(), 0o640):
        with atomic_write(path) as unfinished:
            unfinished.write_text("text")
            unfinished.chmod(0o600)  # as safetensors makes its files
        assert path.stat().st_mode & 0o777 == expected
        path.chmod(0o640)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
