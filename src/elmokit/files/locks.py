"""One job at a time on one target: an advisory lock, held by the process that writes a file or a folder.

The lock of `out.h5` is a file `.out.h5.lock` next to it; that of a folder is next to the folder, never inside it. The
operating system releases a lock when its process ends, even by a crash. File systems without locks give a warning.
"""

import errno
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from elmokit.system.messages import warn_caller

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors of file systems without locks (two numbers on macOS), and of folders where no file can be created."""


class InUseError(OSError):
    """Another process, or another thread of this one, is writing the same file or folder."""


class NoLocksError(OSError):
    """The file system has no locks, or no file can be made in the folder."""


@contextmanager
def lock(target: str | os.PathLike[str], *, wait: str | None = None) -> Generator[None]:
    """Hold the lock of a file or folder, which need not exist yet; the folder that it is in must.

    Names that lead to one place through links have one lock. Raises InUseError if it is held, and OSError, which names
    `target`, when no lock can be made.

    wait: waits for the process that holds the lock, after a warning with this text; None raises at once.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(target, wait=wait))
        except NoLocksError as error:
            reason, advice = error.strerror, "make sure that no other process writes it"
            warnings.warn(f"{os.fspath(target)} cannot be locked ({reason}); {advice}", stacklevel=3)
        yield


@contextmanager
def locked(target: str | os.PathLike[str], *, wait: str | None = None) -> Generator[None]:
    """The same, but raises NoLocksError if the file system lacks locks."""
    name, real = os.fspath(target), Path(os.path.realpath(target))
    path = real.with_name(f".{real.name}.lock")
    if not path.parent.is_dir():  # filelock would make it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    held = FileLock(path, preserve_lock_file=sys.platform != "win32")  # on Windows it can only be removed afterwards
    try:
        try:
            held.acquire(blocking=False)
        except Timeout:
            if wait is None:
                advice = "wait until that has ended, or choose another name"
                raise InUseError(f"{name} is in use by another process; {advice}") from None
            warn_caller(wait)
            held.acquire(poll_interval=0.5)
    except InUseError:
        raise
    except OSError as error:
        if isinstance(error, PermissionError) and path.exists():
            advice = f"wait until the process of that user has ended, or remove {path} if it was killed"
            raise InUseError(f"{name}: the lock belongs to another user; {advice}") from None
        if error.errno not in _NO_LOCKS:
            raise OSError(error.errno, error.strerror, name) from error
        with suppress(OSError):
            path.unlink()  # one that was made, and cannot be locked
        raise NoLocksError(error.errno, error.strerror, name) from error
    try:
        yield
    finally:
        if sys.platform != "win32":
            path.unlink(missing_ok=True)  # while it is locked: who has opened it will see that it is gone
        held.release()
