"""Advisory locks, so that only one process at a time writes a file or a folder.

The lock of `out.h5` is the file `.out.h5.lock` next to it. The lock of a folder is next to the folder, never inside it.
The operating system releases a lock when its process ends, even in a crash. elmokit warns where locks are not possible.
"""

import errno
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from elmokit.system.messages import warn_caller

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors of file systems without locks (two numbers on macOS), and of folders where no file can be created."""


class InUseError(OSError):
    """Another process, or another thread of this one, is writing the same file or folder."""


@contextmanager
def lock(target: str | os.PathLike[str], *, wait: str | None = None, warns: bool = True) -> Generator[bool]:
    """Hold the lock of a file or folder. The target need not exist yet, but its parent folder must.

    Yields whether the lock is held. On a file system without locks it is not; then elmokit warns, if `warns` is true.
    Paths that lead to the same place through links share a lock. Raises InUseError if another process or thread holds
    the lock, and OSError, which names `target`, if no lock can be made.

    wait: text of a warning to give before waiting for the process that holds the lock; None raises at once.
    """
    name, real = os.fspath(target), Path(os.path.realpath(target))
    path = real.with_name(f".{real.name}.lock")
    if not path.parent.is_dir():  # filelock would create it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    held = FileLock(path, preserve_lock_file=sys.platform != "win32")  # Windows can remove the file only afterwards
    why_not = _acquire(held, path, name, wait=wait)
    if why_not is not None and warns:
        advice = "make sure that no other process writes to it"
        warnings.warn(f"{name} cannot be locked ({why_not}); {advice}", stacklevel=3)
    try:
        yield why_not is None
    finally:
        if why_not is None and sys.platform != "win32":
            path.unlink(missing_ok=True)  # while still locked: a process that has opened it will see that it is gone
        held.release()


def _acquire(held: FileLock, path: Path, name: str, *, wait: str | None) -> str | None:
    """Acquire a lock, and return None. On a file system without locks, return the reason instead."""
    try:
        try:
            held.acquire(blocking=False)
        except Timeout:
            if wait is None:
                raise
            warn_caller(wait)
            held.acquire(poll_interval=0.5)
    except Timeout:
        advice = "wait until that process has ended, or choose another name"
        raise InUseError(f"{name} is in use by another process; {advice}") from None
    except OSError as error:
        if isinstance(error, PermissionError) and path.exists():
            advice = f"wait until the process of that user has ended, or remove {path} if it was killed"
            raise InUseError(f"{name}: the lock belongs to another user; {advice}") from None
        if error.errno not in _NO_LOCKS:
            raise OSError(error.errno, error.strerror, name) from error
        with suppress(OSError):
            path.unlink()  # it was created, but cannot be locked
        return error.strerror or str(error)
    return None
