"""A disk of our own that can be made full: a tmpfs, mounted where only this process and its children see it (Linux).

That needs a mount namespace, and a user namespace for those who are not root; no privileges.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE_BYTES = 4096
_NUM_PAGES = 8192
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_REC, _MS_PRIVATE, _MNT_DETACH = 16384, 1 << 18, 2
_BALLAST = ".ballast"


def enter_namespace() -> None:
    """From now on this process may mount what nobody else sees. Raises OSError where that is forbidden."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", _CLONE_NEWNS | (_CLONE_NEWUSER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)


class Disk:
    """A folder that is a disk of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / _BALLAST

    def fill(self, *, free_pages: int) -> None:
        """Take all space but so many pages of 4 KiB."""
        free = os.statvfs(self.folder).f_bavail
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, (free - free_pages) * PAGE_BYTES)

    def clear(self) -> None:
        """Give the space back."""
        self._ballast.unlink()


@contextmanager
def new_disk(folder: Path) -> Iterator[Disk]:
    """Mount an empty disk on a new folder, after `enter_namespace`."""
    folder.mkdir()
    _call("mount", b"none", bytes(folder), b"tmpfs", 0, f"size={_NUM_PAGES * PAGE_BYTES}".encode())
    try:
        yield Disk(folder)
    finally:
        _call("umount2", bytes(folder), _MNT_DETACH)
        folder.rmdir()


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
