from __future__ import annotations

import errno
import fcntl
import os
import platform
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from elmokit.files import locks
from elmokit.files.locks import InUseError, lock, remove_stale_lock

NOBODY = 65534

HOLD = """
import sys, time
from elmokit.files.locks import lock

with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""

COUNT = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from elmokit.files.locks import InUseError, lock

counter = Path(sys.argv[1])
left = 200
while left:
    try:
        with lock(counter):
            counter.write_text(str(int(counter.read_text()) + 1))
            left -= 1
    except InUseError:
        pass
"""


def holder(target: Path) -> subprocess.Popen[str]:
    """A process that holds the lock now."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, target], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    with process:
        process.send_signal(signal.SIGKILL)


def test_the_second_process_is_told_who_holds_the_lock_and_since_when(tmp_path: Path):
    target = tmp_path / "out.h5"
    first = holder(target)
    who = rf"out\.h5 is in use by process {first.pid} on {re.escape(platform.node())} since \d{{4}}-\d\d-\d\d \d\d:"
    with pytest.raises(InUseError, match=who), lock(target):
        pytest.fail("both hold it")
    kill(first)


def test_a_holder_that_has_not_said_who_it_is_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    descriptor = locks.open_locked(tmp_path / ".out.h5.lock", os.O_RDWR | os.O_CREAT)
    says = threading.Timer(0.05, os.write, (descriptor, b"process 1 on moon"))
    says.start()
    with pytest.raises(InUseError, match=r"out\.h5 is in use by process 1 on moon;"), lock(tmp_path / "out.h5"):
        pytest.fail("both hold it")
    says.join()
    os.ftruncate(descriptor, 0)
    monkeypatch.setattr(locks, "_SECONDS_TO_SAY_WHO", 0.0)
    with pytest.raises(InUseError, match=r"out\.h5 is in use by another process;"), lock(tmp_path / "out.h5"):
        pytest.fail("both hold it")
    os.close(descriptor)


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path):
    kill(holder(tmp_path / "run"))
    assert os.listdir(tmp_path) == [".run.lock"]
    with lock(tmp_path / "run"):
        assert f"process {os.getpid()} " in (tmp_path / ".run.lock").read_text()
    assert os.listdir(tmp_path) == []


def test_a_second_thread_or_call_in_one_process_is_refused_too(tmp_path: Path):
    with lock(tmp_path / "run"), pytest.raises(InUseError, match=f"process {os.getpid()} "), lock(tmp_path / "run"):
        pytest.fail("both hold it")
    with lock(tmp_path / "run"):
        pass


def test_nothing_is_left_after_an_error_and_nothing_is_put_into_the_folder(tmp_path: Path):
    run = tmp_path / "run"
    run.mkdir()
    with pytest.raises(KeyboardInterrupt), lock(run):
        assert os.listdir(run) == []
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["run"]


def test_names_that_lead_to_one_place_have_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    monkeypatch.chdir(tmp_path)
    for other in ("link", "run/", "run/../run", tmp_path / "run"):
        with lock("run"), pytest.raises(InUseError), lock(other):
            pytest.fail("both hold it")


def test_no_lock_is_lost_while_others_are_released(tmp_path: Path):
    """Each process counts to 200; two holders at once, one of them with a removed file, would lose some."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, counter]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert counter.read_text() == "600"
    assert os.listdir(tmp_path) == ["counter"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP])
def test_a_file_system_without_locks_is_warned_about(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def unsupported(*_: object) -> None:
        raise OSError(number, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with (
        pytest.warns(UserWarning, match=r"run cannot be locked \(No locks available\); make sure"),
        lock(tmp_path / "run"),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_a_file_system_without_locks_keeps_a_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    (tmp_path / ".run.lock").touch()
    with pytest.warns(UserWarning, match="run cannot be locked"), lock(tmp_path / "run"):
        pass
    assert os.listdir(tmp_path) == [".run.lock"]


def test_the_lock_of_another_user_keeps_others_out_and_is_left_there():
    """In a folder that everybody may write to, which pytest's own are not. Root becomes nobody."""
    with TemporaryDirectory() as shared, lock(Path(shared, "out.h5")):
        os.chmod(shared, 0o777)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(NOBODY)
        else:
            Path(shared, ".out.h5.lock").chmod(0o444)
        try:
            with (
                pytest.raises(InUseError, match=r"out\.h5: the lock belongs to another user; wait until"),
                lock(Path(shared, "out.h5")),
            ):
                pytest.fail("both hold it")
        finally:
            if is_root:
                os.seteuid(0)
        assert os.listdir(shared) == [".out.h5.lock"]


def test_a_folder_that_cannot_be_written_to_is_warned_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.warns(UserWarning, match=r"run cannot be locked \(Permission denied\)"), lock(tmp_path / "run"):
        pass


def test_a_link_in_place_of_a_lock_is_not_followed(tmp_path: Path):
    (tmp_path / "other").write_text("kept")
    (tmp_path / ".run.lock").symlink_to("other")
    with pytest.raises(OSError) as refused, lock(tmp_path / "run"):
        pytest.fail("it is not a lock")
    assert refused.value.errno == errno.ELOOP
    assert (tmp_path / "other").read_text() == "kept"


def test_a_full_disk_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left on device") as refused, lock(tmp_path / "run"):
        pytest.fail("the lock does not say who holds it")
    assert refused.value.filename == str(tmp_path / "run")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ENOMEM, errno.ESTALE])
def test_a_stale_lock_that_cannot_be_removed_is_an_error_and_one_that_is_held_stays(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    target, path = tmp_path / "run", tmp_path / ".run.lock"
    with lock(target):
        remove_stale_lock(target)
        assert path.exists()
    path.touch()

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", fail)
        with pytest.raises(OSError) as refused:
            remove_stale_lock(target)
    assert (refused.value.errno, refused.value.filename) == (number, str(target)) and path.exists()
    remove_stale_lock(target)
    assert not path.exists()


def test_a_folder_that_is_missing_is_an_error_that_names_the_target(tmp_path: Path):
    with pytest.raises(FileNotFoundError) as refused, lock(tmp_path / "missing" / "out.h5"):
        pytest.fail("there is no such folder")
    assert refused.value.filename == str(tmp_path / "missing" / "out.h5")
