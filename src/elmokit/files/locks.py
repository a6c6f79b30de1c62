"""One job at a time on one target: an advisory lock, held by the process that writes a file or a folder.

The lock of `out.h5` is a file `.out.h5.lock` next to it; that of a folder is next to the folder, never inside it. The
operating system releases a lock when its process ends, however it ends: a dead process keeps nobody out. Where there
are no such locks nothing is guarded: a warning says so of a file system that has none, and Windows has none at all.
"""

from __future__ import annotations

import errno
import os
import platform
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.system.messages import shown

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Generator

_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.ENOTSUP)  # one number on Linux, two on macOS, where `flock` gives the second
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, *_NOT_SUPPORTED, errno.EACCES, errno.EPERM, errno.EROFS)
"""Of file systems without locks, and of folders in which no file can be made. A lock that is there but may not be
opened is somebody else's: `InUseError`."""
_MAX_HOLDER_BYTES = 200
_SECONDS_TO_SAY_WHO = 1.0
"""After that the holder of a lock does not say who it is."""


class InUseError(OSError):
    """Another process, or another thread of this one, is writing the same file or folder, or has left its lock."""


@contextmanager
def lock(target: str | os.PathLike[str]) -> Generator[None]:
    """Hold the lock of a file or folder, which need not exist yet; the folder that it is in must.

    Names that lead to one place through links have one lock. Raises InUseError, which says who holds the lock and since
    when, and OSError, which names `target`, when no lock can be made.
    """
    if sys.platform == "win32":
        yield
        return
    name = os.fspath(target)
    real = Path(os.path.realpath(target))
    path = real.with_name(f".{real.name}.lock")
    try:
        file = _acquire(path, name)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            if error.errno is not None:
                error.filename = name  # nobody knows the other one
            raise
        warnings.warn(
            f"{name} cannot be locked ({error.strerror}); make sure that no other process writes it", stacklevel=3
        )
        yield
        return
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is locked: whoever has opened it will see that it is gone
        os.close(file)


def remove_stale_lock(target: str | os.PathLike[str]) -> None:
    """Remove the lock that a killed process left of a file or folder, unless another process holds it.

    Raises the other errors of `lock`.
    """
    real = Path(os.path.realpath(target))
    if real.with_name(f".{real.name}.lock").exists():
        with suppress(InUseError), lock(target):
            pass


def open_locked(path: Path, flags: int) -> int:
    """Open a file or folder and lock it until the descriptor is closed or the process ends; not on Windows.

    Raises BlockingIOError when another process or thread holds it, FileNotFoundError when it was removed or replaced
    meanwhile, and OSError where there are no locks.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(path.stat(), os.fstat(descriptor)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _acquire(path: Path, name: str) -> int:
    """The open and locked file, which says who holds it."""
    latest = time.monotonic() + _SECONDS_TO_SAY_WHO
    while True:  # until nobody releases the lock, and with it the file, while it is being opened here
        try:
            file = _open(path)
        except BlockingIOError:
            holder = _holder(path)
            if holder or (holder == "" and time.monotonic() > latest):
                who = holder or "another process"
                raise InUseError(
                    f"{name} is in use by {who}; wait until that has ended, or choose another name"
                ) from None
            time.sleep(0.001)
        except FileNotFoundError:
            if not path.parent.is_dir():
                raise
        except PermissionError:
            if not os.path.lexists(path):
                raise
            raise InUseError(
                f"{name}: the lock belongs to another user; wait until the process of that user has ended, or remove "
                f"{path} if it was killed"
            ) from None
        else:
            try:
                os.ftruncate(file, 0)  # a dead process may have left its name
                os.write(file, _this_process().encode())
            except OSError:  # the disk is full
                path.unlink(missing_ok=True)
                os.close(file)
                raise
            return file


def _open(path: Path) -> int:
    """Open and lock the file, which is made if there is none; one made here that cannot be locked is removed again."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        is_new = True
    except FileExistsError:
        is_new = False
    try:
        return open_locked(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError as error:
        if is_new and error.errno in NO_LOCKS:
            path.unlink(missing_ok=True)
        raise


def _holder(path: Path) -> str | None:
    """What the lock's file says of its holder: nothing yet if that has just locked it; None if it was just removed."""
    try:
        with path.open("rb") as file:
            return shown(file.read(_MAX_HOLDER_BYTES).decode(errors="replace"))
    except FileNotFoundError:
        return None


def _this_process() -> str:
    now = datetime.now(UTC)
    return f"process {os.getpid()} on {platform.node() or 'this computer'} since {now:%Y-%m-%d %H:%M:%S} UTC"
