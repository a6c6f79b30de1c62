"""Vocabulary files in the folder of a model: recognised by their contents, and unpacked with a size limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.system.untrusted import FormatError, readable_bytes
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.lines import read_chunks
from elmokit.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1 << 28
"""Largest size when unpacked; the vocabulary of the 1B Word benchmark has 8 MB."""
_HEAD_BYTES = 1 << 20


def leads_out(path: Path) -> bool:
    """Whether the file is a link out of its folder, which could make us read, and quote, any file of the reader's.

    The cache of Hugging Face is no such case: in `snapshots/REVISION/` all files are links into `blobs/`.
    """
    folder, file = path.parent.resolve(), path.resolve()
    is_blob = folder.parent.name == "snapshots" and file.parent == folder.parent.parent / "blobs"
    return not (file.is_relative_to(folder) or is_blob)


def looks_like_vocabulary(path: Path) -> bool:
    """Whether the three special tokens are lines in the first MiB of the file, plain or compressed."""
    if leads_out(path):
        return False
    try:
        head = next(read_chunks(path, size=_HEAD_BYTES), b"")
    except (OSError, ValueError):
        return False
    lines = set(head.replace(b"\r", b"").split(b"\n"))
    return all(special.encode() in lines for special in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))


def read_vocabulary(path: Path) -> Vocabulary:
    """`Vocabulary.read` after a check of the unpacked size.

    Raises FormatError for a link out of the folder and above 256 MiB.
    """
    if leads_out(path):
        raise FormatError(path, "is a link out of the model's folder, and is not followed; copy the file there")
    num_bytes = 0
    for chunk in read_chunks(path):
        num_bytes += len(chunk)
        if num_bytes > MAX_BYTES:
            raise FormatError(path, f"unpacks to more than {readable_bytes(MAX_BYTES)}; no vocabulary is so large")
    return Vocabulary.read(path)
