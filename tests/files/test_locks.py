import errno
import fcntl
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest

from elmokit.files.locks import InUseError, lock
from limited_disk import failing

KILLED = """
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
    assert forks.wait(forks.start("-c", tmp_path / "run", script=KILLED)) == -signal.SIGKILL
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
    """Each process counts to 60; two holders at once, one of them with a removed file, would lose some."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [forks.start("-c", counter, script=COUNT) for _ in range(3)]
    assert [forks.wait(process) for process in processes] == [0, 0, 0]
    assert counter.read_text() == "180"
    assert os.listdir(tmp_path) == ["counter"]


@pytest.mark.parametrize(
    ("module", "function", "number"),  # the second is of a folder that cannot be written to
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
    """In a folder that everybody may write to, which pytest's own are not. Root becomes nobody."""
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
