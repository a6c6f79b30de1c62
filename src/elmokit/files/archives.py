"""Unpack untrusted zip and tar archives of models into a temporary folder.

An archive can name files outside its folder, contain links, or unpack to terabytes. `zipfile`, and the filter "data" of
`tarfile`, keep names within the folder. This module refuses links, devices, and an archive that unpacks to more than
trained weights of its size could. Archives are unpacked in a process with limits.
"""

from __future__ import annotations

import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from elmokit.files.atomic import DISK_FULL
from elmokit.files.weights_file import MAX_EXPANSION, SMALL
from elmokit.system.messages import FormatError, printable, readable_bytes

MAX_MEMBERS = 1000
"""Largest number of files and folders in an archive."""
_NOT_MEANT = ("__MACOSX", ".")  # prefixes of hidden files, and of what macOS adds, such as icons


@contextmanager
def unpacked(path: Path) -> Generator[Path]:
    """Unpack an archive into a temporary folder, removed at the end. Yields that folder, or the only folder in it."""
    with tempfile.TemporaryDirectory(prefix="elmokit-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        try:
            _unpack(path, folder)
        except FormatError:
            raise
        except Exception as error:  # for damaged archives these libraries raise almost any error
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise OSError(error.errno, error.strerror, temporary) from error
            reason = printable(str(error).replace(str(folder), path.name))
            raise FormatError(path, f"cannot be unpacked: {reason}") from error
        while len(inside := meant(folder)) == 1 and inside[0].is_dir():
            folder = inside[0]
        yield folder


def meant(folder: Path) -> list[Path]:
    """The contents of an unpacked folder, without hidden files and the files that macOS adds."""
    return [path for path in folder.iterdir() if not path.name.startswith(_NOT_MEANT)]


def _unpack(path: Path, folder: Path) -> None:
    sizes: list[int] = []

    def check(name: str, size: int, *, is_plain: bool) -> None:
        sizes.append(size)
        if len(sizes) > MAX_MEMBERS:
            raise FormatError(path, f"holds more than {MAX_MEMBERS} files; the archive of a model has only a few")
        if not is_plain:
            raise FormatError(path, "is a link or a device; archives of models have neither", part=f"member {name}")
        if sum(sizes) > (most := MAX_EXPANSION * path.stat().st_size + SMALL):
            packed = readable_bytes(path.stat().st_size)
            reason = f"{packed} unpacks to more than {readable_bytes(most)}, too much for trained weights"
            raise FormatError(path, reason)

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():  # zipfile unpacks no more of a member than this size
                kind = stat.S_IFMT(member.external_attr >> 16)
                check(member.filename, member.file_size, is_plain=kind in (0, stat.S_IFREG, stat.S_IFDIR))
                archive.extract(member, folder)
    else:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                check(member.name, member.size, is_plain=member.isdir() or (member.isreg() and not member.issparse()))
                archive.extract(member, folder, filter="data")
