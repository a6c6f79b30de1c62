"""Zip and tar archives of models that a stranger may have made, unpacked into a temporary folder.

An archive can name files outside of its folder, hold links, or unpack to terabytes. The first two are refused, and
so is an archive that unpacks to more than trained weights can have been packed from.
"""

from __future__ import annotations

import errno
import gzip
import lzma
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from elmokit.files.lines import GZIP_MAGIC
from elmokit.files.weights_file import MAX_EXPANSION, SMALL
from elmokit.system.messages import FormatError, readable_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

MAX_MEMBERS = 1000
"""Largest number of files and folders in an archive."""
_OF_MACOS = "__MACOSX"  # a folder that macOS adds to its zips, of icons and the like
_MAX_NAME_BYTES = 200
_MAX_DEPTH = 8
_PIECE_BYTES = 1 << 20
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    KeyError,
    OverflowError,
    MemoryError,
)
"""Errors that zipfile, tarfile and gzip raise for damaged archives."""


@contextmanager
def unpacked(path: Path) -> Generator[Path]:
    """The folder that contains the archive's files: a temporary one, or the only folder in it. It goes at the end.

    Raises FormatError, naming the archive and the member, for an archive that is damaged, encrypted or hostile.
    """
    with tempfile.TemporaryDirectory(prefix="elmokit-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        try:
            _unpack(path, folder, _zip_members(path) if is_zip else _tar_members(path))
        except FormatError:
            raise
        except (*_DAMAGE, gzip.BadGzipFile) as error:
            raise FormatError(path, f"is damaged: {shown(str(error))}") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # a place before the start of the file; other errors are of the disk
                raise
            raise FormatError(path, "is damaged: its members are not where it says") from error
        yield _without_shell(folder)


def _without_shell(folder: Path) -> Path:
    while len(inside := [path for path in folder.iterdir() if path.name != _OF_MACOS]) == 1 and inside[0].is_dir():
        folder = inside[0]
    return folder


def _most_bytes(path: Path) -> int:
    return MAX_EXPANSION * path.stat().st_size + SMALL


def _unpack(path: Path, folder: Path, members: Iterator[tuple[str, IO[bytes] | None]]) -> None:
    """Write all members, given as (name, open file), or (name, None) for a folder."""
    left = _most_bytes(path)
    for number, (name, file) in enumerate(members):
        if number == MAX_MEMBERS:
            raise FormatError(path, f"holds more than {MAX_MEMBERS} files; the archive of a model has a few")
        target = folder / _safe(path, name)
        try:
            (target if file is None else target.parent).mkdir(parents=True, exist_ok=True)
            if file is not None:
                with file, target.open("xb") as new:
                    while piece := file.read(min(_PIECE_BYTES, left + 1)):
                        left -= len(piece)
                        if left < 0:
                            raise _bomb(path)
                        new.write(piece)
        except (FileExistsError, NotADirectoryError) as error:
            raise FormatError(path, "is there twice, perhaps as a file and as a folder", part=name) from error


def _bomb(path: Path) -> FormatError:
    sizes = f"{readable_bytes(path.stat().st_size)} unpacks to more than {readable_bytes(_most_bytes(path))}"
    return FormatError(path, f"{sizes}, which no archive of trained weights does")


def _safe(path: Path, name: str) -> PurePosixPath:
    """The name as a path within the folder. Raises FormatError for one that leads out of it."""
    relative = PurePosixPath(name)
    parts = relative.parts
    plain = name.isprintable() and not set(name) & set('\\:*?"<>|') and len(name.encode("utf-8", "replace")) < 1000
    short = len(parts) <= _MAX_DEPTH and all(len(part.encode("utf-8", "replace")) <= _MAX_NAME_BYTES for part in parts)
    if not parts or relative.is_absolute() or ".." in parts or not plain or not short:
        raise FormatError(path, "is not the plain name of a file in a folder", part=f"member {name}")
    return relative


def _zip_members(path: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > _most_bytes(path):
            raise _bomb(path)
        for member in members:
            mode = member.external_attr >> 16
            if member.flag_bits & 1:
                raise FormatError(path, "is encrypted; unpack it and give the folder", part=member.filename)
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise FormatError(path, "is a link or a device; archives of models have neither", part=member.filename)
            is_folder = member.filename.endswith("/")  # `is_dir` raises IndexError for an empty name
            yield member.filename, None if is_folder else archive.open(member)


def _tar_members(path: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    with path.open("rb") as packed:
        is_gzip = packed.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        packed.seek(0)
        source = gzip.GzipFile(fileobj=packed) if is_gzip else packed
        limited = cast("IO[bytes]", _Limited(path, source, _most_bytes(path)))
        with tarfile.open(fileobj=limited, mode="r|") as archive:
            for member in archive:
                if member.isdir():
                    if PurePosixPath(member.name).parts:
                        yield member.name, None
                elif member.isreg() and not member.issparse():
                    file = archive.extractfile(member)
                    assert file is not None
                    yield member.name, file
                else:
                    raise FormatError(path, "is a link or a device; archives of models have neither", part=member.name)


class _Limited:
    """A file of which at most `most` bytes can be read, so that not even a header of a tar unpacks to gigabytes."""

    def __init__(self, path: Path, file: IO[bytes] | gzip.GzipFile, most: int) -> None:
        self.path = path
        self.file = file
        self.left = most + (SMALL if most else 0)  # headers of members and the padding between them

    def read(self, size: int) -> bytes:
        content = self.file.read(min(size, self.left + 1))
        self.left -= len(content)
        if self.left < 0:
            raise _bomb(self.path)
        return content
