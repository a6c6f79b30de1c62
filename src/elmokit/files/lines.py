"""Lines of text files: plain or compressed, recognised by their first bytes, and read in constant memory."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, BinaryIO, cast

from elmokit.system.messages import join_names, plural, readable_bytes
from elmokit.system.paths import expanded

STDIN = "-"

GZIP_MAGIC = b"\x1f\x8b"
XZ_MAGIC = b"\xfd7zXZ\x00"
ZIP_MAGIC = b"PK\x03\x04"
PARQUET_MAGIC = b"PAR1"
NPY_MAGIC = b"\x93NUMPY"
_BZIP2_MAGIC = b"BZh"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_NOT_TEXT = {
    ZIP_MAGIC: "zip (or .docx, .xlsx, .odt)",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"%PDF-": "PDF",
    b"{\\rtf": "RTF",
    b"\xd0\xcf\x11\xe0": "Microsoft Office",
    PARQUET_MAGIC: "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "an Arrow stream, such as a file of a Hugging Face dataset",
    b"\x89HDF": "HDF5",
    b"\x89PNG": "a PNG image",
    NPY_MAGIC: "a NumPy array",
    b"SQLite format 3\0": "an SQLite database",
    **dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a Python pickle"),
}
"""First bytes of files that elmokit does not read as text, and their kinds."""
_CHUNK = 1 << 16
"""Bytes that are read and unpacked at once."""
_MAX_XZ_BYTES = 1 << 30
"""Most memory for unpacking an xz file. Its header may ask for gigabytes; `xz -9` asks for 65 MiB."""
MAX_LINE_BYTES = 16 << 20
"""Longest line, unpacked, with its line end. A few compressed kilobytes can hold a line that fills the memory."""
MAX_WHOLE_BYTES = 64 << 20
"""Largest file to hold in memory as a whole. The training set of SQuAD 1.1 has 30 MB."""
_MAX_EXPANSION, _SMALL = 20, 1 << 20
NOT_IN_A_TOKEN = frozenset(" \t\n\r")
"""White space that separates tokens or lines. A file of tokens cannot store a token that contains it."""
HEAD_LINES, _HEAD_CHARACTERS = 20, 100_000

OLD_LINE_ENDS = "the file has the line ends of old Macs; convert it, for example with tr '\\r' '\\n'"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHER_UNICODE = {b"\xff\xfe\0\0": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\0\0\xfe\xff": "UTF-32"}
_FAILURES = (EOFError, lzma.LZMAError, zlib.error, OSError)
"""Errors from files that do not unpack, or from the disk."""


def read_lines(
    path: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES, keep_marks: bool = False
) -> Iterator[str]:
    r"""Lines of a UTF-8 text file, or of standard input (`-`), without their line ends.

    The file may be compressed: gzip, bzip2, xz, or zstd if Python has it (3.14) or the package backports.zstd
    is installed.
    A line ends at `\n` or `\r\n` and nowhere else (U+2028, U+0085 and the like are part of the line). A byte order
    mark at the start of any line is removed, because concatenated files have some in the middle. The last line needs
    no line end.

    keep_marks: remove only the mark at the start of the file. For lines that are tokens, which may begin with one.
    Raises OSError when the file cannot be opened or read, and ValueError when its content is not text: malformed
    UTF-8, a NUL byte, a line of more than `max_line_bytes`, lines that end at `\r`, or a truncated or damaged
    compressed file. Both name the file, and the line if there is one.
    """
    name = shown_name(path)
    number = 0
    with _open(path) as stream:
        try:
            lines = iter(partial(stream.readline, max_line_bytes + 1), b"")  # they are split at b"\n" only
            for number, line in enumerate(lines, start=1):
                if number == 1 and not line.endswith(b"\n") and b"\r" in line[:-1] and b"\0" not in line:
                    raise ValueError(f"{name}: {OLD_LINE_ENDS}")
                if len(line) > max_line_bytes:
                    most = readable_bytes(max_line_bytes)
                    reason = f"has more than {most}; expected text with a sentence or a document on each line"
                    raise ValueError(f"{name}, line {number}: {reason}")
                yield _decode(line, number=number, name=name, keep_marks=keep_marks)
        except _FAILURES as error:
            raise _failure(name, error, f" after line {number}") from error


def lines_and_first(path: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES) -> tuple[Iterator[str], str]:
    """All lines of a file, and its first line that is not blank ("" if all are blank). The file is read only once."""
    lines, head = with_head(read_lines(path, max_line_bytes=max_line_bytes), num_lines=1)
    return lines, head[0] if head else ""


def with_head(lines: Iterator[str], *, num_lines: int = HEAD_LINES) -> tuple[Iterator[str], list[str]]:
    """All lines of a file, and its first lines that are not blank. The file is read only once.

    num_lines: number of first lines, not counting comments (lines that begin with `#`).
    """
    read: list[str] = []
    head: list[str] = []
    num_characters = num_found = 0
    for line in lines:
        read.append(line)
        num_characters += len(line)
        if line.strip():
            head.append(line)
            num_found += not line.startswith("#")
        if num_found == num_lines or num_characters > _HEAD_CHARACTERS:
            break
    return chain(read, lines), head


def whole(lines: Iterable[str], path: str | os.PathLike[str]) -> list[str]:
    """All lines of a file, held in memory together. Raises ValueError as `up_to` does."""
    return list(up_to(MAX_WHOLE_BYTES, lines, path))


def up_to(max_bytes: int, lines: Iterable[str], path: str | os.PathLike[str]) -> Iterator[str]:
    """The lines of a file. Raises ValueError for more than `max_bytes`, or more than a text of its size unpacks to."""
    if not is_read_once(path):
        max_bytes = min(max_bytes, _MAX_EXPANSION * os.stat(expanded(path)).st_size + _SMALL)
    left = max_bytes
    for line in lines:
        yield line
        left -= len(line) + 1
        if left < -1:
            too_much = f"has more than {readable_bytes(max_bytes)}, too much for a file of its size"
            raise ValueError(f"{shown_name(path)}: {too_much} that is read as a whole; split it, or unpack it first")


def check_inputs(*paths: str | os.PathLike[str]) -> None:
    """Raise the error of `read_lines` for a file that cannot be opened. Skips inputs that can be read only once."""
    for path in paths:
        if not is_read_once(path):
            with _open(path):
                pass


def check_texts(*paths: str | os.PathLike[str]) -> None:
    """Read all files to the end, so that a bad line wastes no work later. Skips inputs that can be read only once."""
    check_inputs(*paths)
    errors: dict[str, str] = {}
    for path in paths:
        if is_read_once(path):
            continue
        try:
            for _ in read_lines(path):
                pass
        except ValueError as error:
            errors[shown_name(path)] = str(error)
    if errors:
        first, *others = errors
        more = f" ({plural(len(others), 'more file')} cannot be read either: {join_names(others)})" if others else ""
        raise ValueError(errors[first] + more)


def is_terminal(path: str | os.PathLike[str]) -> bool:
    """Whether a path is standard input (-) and standard input is a terminal."""
    return os.fspath(path) == STDIN and sys.stdin.buffer.isatty()


def is_read_once(path: str | os.PathLike[str]) -> bool:
    """Whether a path is standard input (-), or a pipe or a device, such as `<(zcat file)` of a shell."""
    if os.fspath(path) == STDIN:
        return True
    try:
        mode = os.stat(expanded(path)).st_mode
    except (OSError, ValueError):  # opening the file will raise the error to report
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def read_chunks(path: str | os.PathLike[str], *, size: int = 1 << 20) -> Iterator[bytes]:
    """Bytes of a file, decompressed, in chunks of at most `size`. Raises the errors of `read_lines`."""
    name = shown_name(path)
    with _open(path) as stream:
        try:
            while chunk := stream.read(size):
                yield chunk
        except _FAILURES as error:
            raise _failure(name, error) from error


def shown_name(path: str | os.PathLike[str]) -> str:
    """The name of an input in errors: its path, or "standard input" for -."""
    return "standard input" if os.fspath(path) == STDIN else os.fspath(path)


def _failure(name: str, error: Exception, after: str = "") -> Exception:
    if isinstance(error, OSError) and error.errno is not None:  # from the disk
        return OSError(f"{name}: reading failed{after}: {error.strerror or error}")
    return ValueError(f"{name}: the compressed file is truncated or damaged{after} ({error}); download it again")


def split_tokens(line: str) -> list[str]:
    """Tokens of a line of tokenised text. Only spaces and tabs separate tokens."""
    return [token for token in line.replace("\t", " ").split(" ") if token]


def _decode(line: bytes, *, number: int, name: str, keep_marks: bool) -> str:
    for mark, unicode in _OTHER_UNICODE.items() if number == 1 else ():
        if line.startswith(mark):
            raise ValueError(f"{name} is {unicode}; convert it, for example with iconv -f {unicode} -t UTF-8")
    if number == 1 or not keep_marks:
        line = line.removeprefix(BYTE_ORDER_MARK)
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if b"\0" in line:
        place = line.index(0)
        unicode = "UTF-16BE" if number == 1 and place % 2 == 0 else "UTF-16LE"
        advice = f"expected UTF-8 (if it is UTF-16: iconv -f {unicode} -t UTF-8)"
        raise ValueError(f"{name}, line {number}: NUL byte at byte {place + 1}; {advice}")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}, line {number}: byte 0x{line[error.start]:02x} at byte {error.start + 1} is not UTF-8 "
            f"({error.reason}); convert the file with iconv -f NAME -t UTF-8, where NAME is its encoding: often CP1252 "
            "for Western Europe, CP1250 for Central Europe, CP1251 or KOI8-R for Cyrillic, CP949 for Korean, CP932 for "
            "Japanese, GB18030 for Chinese; check the result: a wrong encoding may damage letters without an error"
        ) from None


@contextmanager
def _open(path: str | os.PathLike[str]) -> Generator[BinaryIO]:
    name = shown_name(path)
    if os.fspath(path) == STDIN:
        yield _decompressed(cast("BinaryIO", sys.stdin.buffer), name)
        return
    try:
        file = open(expanded(path), "rb")  # noqa: SIM115 (closed by the with statement below)
    except FileNotFoundError:
        raise FileNotFoundError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise IsADirectoryError(
            f"{name} is a folder; expected a text file (several, where a command takes them: {name}/*)"
        ) from None
    except OSError as error:
        raise OSError(f"{name}: cannot be opened: {error.strerror or error}") from error
    with file:
        yield _decompressed(file, name)


def _decompressed(file: BinaryIO, name: str) -> BinaryIO:
    try:
        head = cast("bytes", file.peek(len(XZ_MAGIC)))  # pyright: ignore[reportAttributeAccessIssue]
    except OSError as error:
        raise _failure(name, error) from error
    if head.startswith(GZIP_MAGIC):
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if head.startswith(_BZIP2_MAGIC) and head[3:4].isdigit():
        return _unpacked(file, bz2.BZ2Decompressor)
    if head.startswith(XZ_MAGIC):
        return _unpacked(file, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _MAX_XZ_BYTES))
    if head.startswith(_ZSTD_MAGIC):
        try:
            zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        except ModuleNotFoundError:
            raise ValueError(f"{name} is a zstd file; pip install backports.zstd, or unpack it with zstd -d") from None
        return _unpacked(file, zstd.ZstdDecompressor)
    for magic, kind in _NOT_TEXT.items():
        if head.startswith(magic):
            expected = "plain text, or text in .gz, .bz2 or .xz"
            raise ValueError(f"{name} is {kind}; expected {expected}: unpack it, or save its text as UTF-8")
    return file


def _unpacked(file: BinaryIO, new_stream: Callable[[], Any]) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Streams(file, new_stream), _CHUNK))


class _Streams(io.RawIOBase):
    """The content of a file of one or more compressed streams.

    `LZMAFile` and `BZ2File` mistake a damaged second stream for the end of the file. Here it is an error.
    """

    def __init__(self, file: BinaryIO, new_stream: Callable[[], Any]) -> None:
        self._file = file
        self._new_stream = new_stream
        self._stream = new_stream()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        unpacked = self._unpack(len(buffer))
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)

    def _unpack(self, size: int) -> bytes:
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data.lstrip(b"\0")  # zeros may be between streams, and at the end
                while not packed and (more := self._file.read(_CHUNK)):
                    packed = more.lstrip(b"\0")
                if not packed:
                    return b""
                self._stream = self._new_stream()
            elif self._stream.needs_input:
                packed = self._file.read(_CHUNK)
                if not packed:
                    raise EOFError("it ends within a stream")
            if unpacked := self._stream.decompress(packed, size):
                return unpacked
