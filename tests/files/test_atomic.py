import errno
import fcntl
import os
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest

from elmokit.files.atomic import as_paths, atomic_write, check_output, new_folder, remove_leftovers, temporary_folder
from elmokit.files.locks import InUseError, lock
from limited_disk import failing

KILLED = """
import os, signal, sys
from elmokit.files.atomic import atomic_write

with atomic_write(sys.argv[1]) as unfinished:
    unfinished.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def lock_of(unfinished: Path) -> Path:
    return unfinished.parent.with_name(f".{unfinished.parent.name}.lock")


def test_the_file_is_there_once_it_is_whole_and_a_link_is_followed(tmp_path: Path):
    path = tmp_path / "result.txt"
    with atomic_write(path) as unfinished:
        unfinished.write_text("half")
        assert not path.exists()
        assert unfinished.name == path.name
        assert unfinished.parent.parent == tmp_path
        unfinished.write_text("whole")
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    with atomic_write(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: Any, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(error), atomic_write(path) as unfinished:
        unfinished.write_text("half")
        raise error
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"), atomic_write(path) as unfinished:
        unfinished.write_text("whole")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_target_that_cannot_be_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    Path("link").symlink_to(tmp_path / "nothing")
    reader, writer = os.pipe()
    for target, kind, message in (
        ("no/a", FileNotFoundError, "does not exist; create it first"),
        (tmp_path, IsADirectoryError, "is a folder"),
        (os.devnull, OSError, "is a device"),
        ("fifo", OSError, "is a device or a pipe"),
        (f"/dev/fd/{writer}", OSError, "is a device or a pipe"),  # a link to a pipe, as /dev/stdout may be
        ("link", FileNotFoundError, "is a link to .*nothing, which does not exist"),
        ("-", ValueError, "- cannot name an output; name a file"),
    ):
        with pytest.raises(kind, match=message), atomic_write(target):
            pytest.fail("nothing should be computed")
        with pytest.raises(kind, match=message):
            check_output(target)
    os.close(reader)
    os.close(writer)
    assert sorted(os.listdir(tmp_path)) == ["fifo", "link"]


def test_a_new_file_has_usual_permissions_and_an_old_one_keeps_its_own(tmp_path: Path, monkeypatch: Any):
    path = tmp_path / "result.txt"
    os.umask(umask := os.umask(0))
    for expected in (0o666 & ~umask, 0o640):
        with atomic_write(path) as unfinished:
            unfinished.write_text("text")
            unfinished.chmod(0o600)  # like files that safetensors writes
        assert path.stat().st_mode & 0o777 == expected
        path.chmod(0o640)
    # Between two calls of umask, another thread would make files that everybody may write to.
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
    with atomic_write(tmp_path / "result.txt") as unfinished:
        unfinished.write_text("text")


def test_a_read_only_place_is_refused_at_once_and_by_its_own_name(tmp_path: Path):
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):  # root may write to any folder except the kernel's
        folder = Path("/proc/self")
    path = folder / "result.txt"
    with pytest.raises(OSError) as refusal, atomic_write(path):
        pytest.fail("nothing should be computed")
    assert refusal.value.filename == str(path)


def test_a_read_only_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "result.txt").touch(0o444)
    if os.access(tmp_path / "result.txt", os.W_OK):  # root may write to any file
        monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("result.txt"))
    with pytest.raises(PermissionError, match=r"result\.txt is read-only; choose another name, or make it writable"):
        check_output(tmp_path / "result.txt")


def test_an_error_names_the_file_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as refusal, atomic_write("result.txt"):
        pass  # leaves nothing to move
    assert (refusal.value.filename, refusal.value.filename2) == ("result.txt", None)
    with pytest.raises(OSError) as refusal, atomic_write("result.txt"):
        failing(errno.ENOSPC)()
    assert refusal.value.filename == "result.txt"
    with pytest.raises(FileNotFoundError) as refusal, atomic_write("result.txt"):
        Path("other.txt").read_text()
    assert refusal.value.filename == "other.txt"


def test_what_a_killed_process_left_goes_but_not_what_is_being_written(tmp_path: Path, forks: Any):
    path, best = tmp_path / "result.txt", tmp_path / "best"
    with atomic_write(path) as being_written:
        check_output(path)
        remove_leftovers(tmp_path)
        with atomic_write(path) as unfinished, temporary_folder(path):
            unfinished.write_text("whole")
        assert {*tmp_path.iterdir()} == {lock_of(being_written), being_written.parent, path}
        being_written.write_text("half")
    assert forks.wait(forks.start("-c", path, script=KILLED)) == -signal.SIGKILL
    check_output(tmp_path / "other.txt")
    assert len(os.listdir(tmp_path)) == 3  # the folder and its lock are still there
    check_output(path)  # they go when the same file is written again
    assert list(tmp_path.iterdir()) == [path]
    best.mkdir()
    assert forks.wait(forks.start("-c", best / "other.txt", script=KILLED)) == -signal.SIGKILL
    assert len(os.listdir(best)) == 2
    remove_leftovers(tmp_path)
    assert os.listdir(best) == []


@pytest.mark.parametrize("remove", [check_output, lambda path: remove_leftovers(path.parent)])
def test_a_lock_without_its_folder_is_left_over_and_nothing_else_is(remove: Callable[[Path], None], tmp_path: Path):
    name = ".result.txt.0123456789abcdef.tmp"
    (tmp_path / name).write_text("a file")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / name.replace("0", "1")).symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".result.txt.mine.tmp").mkdir()
    before = sorted(tmp_path.iterdir())
    (tmp_path / f".{name.replace('0', '2')}.lock").touch()  # left by a killed process
    remove(tmp_path / "result.txt")
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_is_written_where_there_are_no_locks_and_nothing_is_taken_for_a_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    with atomic_write(tmp_path / "result.txt") as being_written:
        with atomic_write(tmp_path / "result.txt") as unfinished:
            unfinished.write_text("text")
        being_written.write_text("more")
    assert os.listdir(tmp_path) == ["result.txt"]


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE])
def test_nothing_is_written_unlocked_when_locking_fails(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fcntl, "flock", failing(number))
    with pytest.raises(OSError) as refusal, atomic_write(tmp_path / "result.txt"):
        pytest.fail("it is not locked")
    assert (refusal.value.errno, refusal.value.filename) == (number, str(tmp_path / "result.txt"))
    assert not (tmp_path / "result.txt").exists()


def test_files_are_a_list_of_names_or_paths(tmp_path: Path):
    assert as_paths(["a.txt", tmp_path]) == as_paths(iter([Path("a.txt"), str(tmp_path)])) == [Path("a.txt"), tmp_path]
    assert as_paths(["~no-such-user/a.txt"]) == [Path("~no-such-user/a.txt")]
    for alone in ("a.txt", Path("a.txt")):
        with pytest.raises(ValueError, match=re.escape("a.txt is a single path; expected a list of files: ['a.txt']")):
            as_paths(alone)  # pyright: ignore[reportArgumentType] - a Path, as users may give it


def test_a_folder_is_made_once(tmp_path: Path):
    target = tmp_path / "parent" / "model"
    with new_folder(target) as place:
        (place / "first").touch()
        with pytest.raises(InUseError, match="model is in use by another process"), new_folder(target):
            pytest.fail("two are making it")
    assert os.listdir(target) == ["first"] and os.listdir(tmp_path / "parent") == ["model"]
    with pytest.raises(FileExistsError, match="is not an empty folder"), new_folder(target):
        pytest.fail("it is there")
    assert os.listdir(target.parent) == ["model"]


KILLED_WHILE_LOCKED = """
import os, signal, sys
from elmokit.files.locks import lock

with lock(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""

COUNT = """
import sys
from contextlib import suppress
from pathlib import Path
from elmokit.files.locks import InUseError, lock

counter = Path(sys.argv[1])
left = 60
while left:
    with suppress(InUseError), lock(counter):
        counter.write_text(str(int(counter.read_text()) + 1))
        left -= 1
"""


def assert_refused(target: Path) -> None:
    with pytest.raises(InUseError, match=f"{target.name} is in use by another process; wait until"), lock(target):
        pytest.fail("both hold it")


def test_a_second_thread_or_call_is_refused_and_the_lock_of_a_killed_process_taken_over(tmp_path: Path, forks: Any):
    assert forks.wait(forks.start("-c", tmp_path / "run", script=KILLED_WHILE_LOCKED)) == -signal.SIGKILL
    assert os.listdir(tmp_path) == [".run.lock"]
    with lock(tmp_path / "run"), ThreadPoolExecutor(1) as thread:
        assert_refused(tmp_path / "run")
        thread.submit(assert_refused, tmp_path / "run").result()
    assert os.listdir(tmp_path) == []


def test_nothing_is_left_after_an_error_or_put_into_the_folder_and_a_missing_one_names_the_target(tmp_path: Path):
    run = tmp_path / "run"
    run.mkdir()
    with pytest.raises(KeyboardInterrupt), lock(run):
        assert os.listdir(run) == []
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["run"]
    with pytest.raises(FileNotFoundError) as refused, lock(tmp_path / "missing" / "out.h5"):
        pytest.fail("there is no such folder")
    assert refused.value.filename == str(tmp_path / "missing" / "out.h5")


def test_names_that_lead_to_one_place_have_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    monkeypatch.chdir(tmp_path)
    for other in ("link", "run/", "run/../run", tmp_path / "run"):
        with lock("run"), pytest.raises(InUseError), lock(other):
            pytest.fail("both hold it")


def test_no_lock_is_lost_while_others_are_released(tmp_path: Path, forks: Any):
    """Each process counts to 60. If two held the lock at once, one of them on a removed file, counts would be lost."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [forks.start("-c", counter, script=COUNT) for _ in range(3)]
    assert [forks.wait(process) for process in processes] == [0, 0, 0]
    assert counter.read_text() == "180"
    assert os.listdir(tmp_path) == ["counter"]


@pytest.mark.parametrize(
    ("module", "function", "number"),  # the second is what a read-only folder gives
    [(fcntl, "flock", errno.ENOLCK), (os, "open", errno.EACCES)],
)
def test_a_place_without_locks_is_warned_about(
    module: ModuleType, function: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, function, failing(number))
    warning = rf"run cannot be locked \({os.strerror(number)}\); make sure"
    with pytest.raises(KeyError) as failure, pytest.warns(UserWarning, match=warning), lock(tmp_path / "run"):
        raise KeyError
    assert failure.value.__context__ is None  # the error of the body has nothing to do with locks
    assert os.listdir(tmp_path) == []


def test_the_lock_of_another_user_keeps_others_out_and_is_left_there():
    """Uses a folder that everybody may write to, unlike pytest's own folders. Root becomes the user nobody."""
    belongs = r"out\.h5: the lock belongs to another user; wait until"
    with TemporaryDirectory() as shared, lock(target := Path(shared, "out.h5")):
        os.chmod(shared, 0o777)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        else:
            Path(shared, ".out.h5.lock").chmod(0o444)
        try:
            with pytest.raises(InUseError, match=belongs), lock(target):
                pytest.fail("both hold it")
        finally:
            if is_root:
                os.seteuid(0)
        assert os.listdir(shared) == [".out.h5.lock"]
