"""Vocabulary files in the folder of a model: recognised by their contents, and unpacked with a size limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.files.lines import read_chunks
from elmokit.files.weights_file import MAX_EXPANSION, SMALL
from elmokit.system.messages import FormatError, leads_out, readable_bytes, refuse_link_out
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1 << 28
"""Largest size when unpacked; the vocabulary of the 1B Word benchmark has 8 MB."""
_HEAD_BYTES = 1 << 20


def looks_like_vocabulary(path: Path) -> bool:
    """Whether the three special tokens are lines in the first MiB of the file, plain or compressed.

    Raises ValueError for a compressed file that is damaged there, and OSError for one that cannot be read.
    """
    if leads_out(path):
        return False
    try:
        head = next(read_chunks(path, size=_HEAD_BYTES), b"")
    except ValueError as error:
        raise ValueError(
            f"{error}; it may be the vocabulary of the model: if it is not, move it to another folder"
        ) from error
    lines = set(head.replace(b"\r", b"").split(b"\n"))
    return all(special.encode() in lines for special in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))


def read_vocabulary(path: Path) -> Vocabulary:
    """`Vocabulary.read` after a check of the unpacked size.

    Raises FormatError for a link out of the folder, and above 256 MiB or what words can have been packed from.
    """
    refuse_link_out(path)
    most = min(MAX_BYTES, MAX_EXPANSION * path.stat().st_size + SMALL)
    num_bytes = 0
    for chunk in read_chunks(path):
        num_bytes += len(chunk)
        if num_bytes > most:
            raise FormatError(path, f"unpacks to more than {readable_bytes(most)}; no vocabulary is so large")
    return Vocabulary.read(path)
