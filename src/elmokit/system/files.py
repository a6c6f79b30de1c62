"""Files that are whole or absent: written under another name, then moved into place."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Generator[Path]:
    """Give a path next to `path` to write to; at the end the file takes the place of `path`, or is removed on failure.

    The temporary name ends like the real one, because some writers look at it. A link is followed. Raises OSError at
    once, before anything is computed, when the folder is missing or the target is a folder or a device.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist; create it first")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is a device, not a file; a file is put in its place as a whole")
    unfinished = target.with_name(f".{target.stem}.{os.getpid()}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield unfinished
        unfinished.chmod(_mode(target))
        with unfinished.open("r+b") as file:
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, or of a new one; some writers make files for their owner alone."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
