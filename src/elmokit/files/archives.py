"""Zip and tar archives of models that a stranger may have made, unpacked into a temporary folder.

An archive can name files outside of its folder, hold links, or unpack to terabytes. `zipfile`, and the filter "data" of
`tarfile`, keep names within the folder; links and devices are refused, and so is an archive that unpacks to more than
trained weights can have been packed from.
"""

from __future__ import annotations

import errno
import gzip
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from elmokit.files.lines import GZIP_MAGIC
from elmokit.files.weights_file import MAX_EXPANSION, SMALL
from elmokit.system.messages import FormatError, printable, readable_bytes

MAX_MEMBERS = 1000
"""Largest number of files and folders in an archive."""
_MAX_DEPTH = 8
_NOT_MEANT = ("__MACOSX", ".")  # names of what macOS and others add: icons and the like, hidden files
_OF_THE_ARCHIVE = (None, errno.EINVAL, errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)
"""Errors of the system that names and places in an archive cause; others are of the disk."""


@contextmanager
def unpacked(path: Path) -> Generator[Path]:
    """The folder that contains the archive's files: a temporary one, or the only folder in it. It goes at the end.

    Raises FormatError, naming the archive, for one that is damaged, encrypted or hostile.
    """
    with tempfile.TemporaryDirectory(prefix="elmokit-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        try:
            with path.open("rb") as file:
                unpack = _unpack_zip if file.read(2) == b"PK" else _unpack_tar
            unpack(path, folder)
        except Exception as error:  # of damaged archives these libraries raise almost any
            if isinstance(error, FormatError):
                raise
            if isinstance(error, OSError) and error.errno not in _OF_THE_ARCHIVE:
                raise OSError(error.errno, error.strerror, error.filename or temporary) from error
            reason = printable(str(error).replace(str(folder), path.name))
            raise FormatError(path, f"cannot be unpacked: {reason}") from error
        while len(inside := meant(folder)) == 1 and inside[0].is_dir():
            folder = inside[0]
        yield folder


def meant(folder: Path) -> list[Path]:
    """What is in an unpacked folder, except for hidden files and those that macOS adds."""
    return [path for path in folder.iterdir() if not path.name.startswith(_NOT_MEANT)]


def _unpack_zip(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > _most_bytes(path):  # and no more of a member is unpacked
            raise _bomb(path)
        for number, member in enumerate(members):
            is_plain = stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR)
            _check(path, number, member.filename, is_plain=is_plain)
            archive.extract(member, folder)


def _unpack_tar(path: Path, folder: Path) -> None:
    with path.open("rb") as packed:
        is_gzip = packed.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        packed.seek(0)
        limited = cast("IO[bytes]", _Limited(path, gzip.GzipFile(fileobj=packed) if is_gzip else packed))
        with tarfile.open(fileobj=limited, mode="r|") as archive:
            for number, member in enumerate(archive):
                is_plain = member.isdir() or (member.isreg() and not member.issparse())
                _check(path, number, member.name, is_plain=is_plain)
                archive.extract(member, folder, filter="data")


def _check(path: Path, number: int, name: str, *, is_plain: bool) -> None:
    if number == MAX_MEMBERS:
        raise FormatError(path, f"holds more than {MAX_MEMBERS} files; the archive of a model has a few")
    if not is_plain:
        raise FormatError(path, "is a link or a device; archives of models have neither", part=f"member {name}")
    if name.count("/") > _MAX_DEPTH:
        raise FormatError(path, f"is in more than {_MAX_DEPTH} folders", part=f"member {name}")


def _most_bytes(path: Path) -> int:
    return MAX_EXPANSION * path.stat().st_size + SMALL


def _bomb(path: Path) -> FormatError:
    sizes = f"{readable_bytes(path.stat().st_size)} unpacks to more than {readable_bytes(_most_bytes(path))}"
    return FormatError(path, f"{sizes}, which no archive of trained weights does")


class _Limited:
    """A tar of which only so many bytes can be read, so that not even a header of it unpacks to gigabytes."""

    def __init__(self, path: Path, file: IO[bytes] | gzip.GzipFile) -> None:
        self.path = path
        self.file = file
        self.left = _most_bytes(path) + SMALL  # headers of members and the padding between them

    def read(self, size: int) -> bytes:
        content = self.file.read(min(size, self.left + 1))
        self.left -= len(content)
        if self.left < 0:
            raise _bomb(self.path)
        return content
