"""Vocabulary files beside a model: recognised by their contents, and not unpacked without a limit."""

from __future__ import annotations

import gzip
import lzma
import zlib
from typing import IO, TYPE_CHECKING, cast

from elmokit.system.untrusted import FormatError, readable_bytes
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1 << 28
"""Unpacked; that of the 1B Word benchmark has 8 MB."""
_HEAD_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 20


def looks_like_vocabulary(path: Path) -> bool:
    """Whether the three specials are lines of the file's first MiB, plain or compressed."""
    try:
        with _open(path) as file:
            lines = set(file.read(_HEAD_BYTES).replace(b"\r", b"").split(b"\n"))
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return False
    return all(special.encode() in lines for special in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))


def read_vocabulary(path: Path) -> Vocabulary:
    """`Vocabulary.read` after a look at how large the file is when unpacked; `FormatError` above 256 MiB."""
    num_bytes = 0
    try:
        with _open(path) as file:
            while block := file.read(_BLOCK_BYTES):
                num_bytes += len(block)
                if num_bytes > MAX_BYTES:
                    raise FormatError(path, f"unpacks to more than {readable_bytes(MAX_BYTES)}; no vocabulary does")
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise FormatError(path, f"is damaged or cut short: {error}") from error
    return Vocabulary.read(path)


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if start == b"\xfd7zXZ\x00":
        return cast("IO[bytes]", lzma.open(path, "rb"))
    return path.open("rb")
