"""Vocabulary files in the folder of a model: recognised by their contents, and unpacked with a size limit.

The dictionary of a bilm-tf model that reads words is its vocabulary, whose lines are the rows of the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from elmokit.files.lines import BYTE_ORDER_MARK, read_chunks, up_to
from elmokit.formats.file_kinds import FileKind
from elmokit.system.messages import FormatError, join_names, leads_out, refuse_link_out
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.indexer import DictionarySpelling
from elmokit.text.vocabulary import SKIPPED_LINE, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from elmokit.model.config import BiLMConfig

MAX_BYTES = 1 << 28
"""Largest size when unpacked; the vocabulary of the 1B Word benchmark has 8 MB."""
SEVERAL_VOCABULARIES = "there are several vocabularies, and none is used"
_HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class Words:
    """The vocabulary in a model's folder, and the dictionary that is made of it if the model reads words."""

    vocabulary: Vocabulary | None
    spelling: DictionarySpelling | None
    files: list[Path]


def read_words(where: Path, config: BiLMConfig, kinds: dict[Path, FileKind], risks: list[str]) -> Words:
    """The vocabulary among these files, if there is one; `risks` is told if there are several.

    An uncompressed file comes before compressed ones. Raises FormatError, naming `where`, if a model that reads words
    has no vocabulary, or one of another size than its table.
    """
    texts = (FileKind.TEXT, FileKind.GZIP, FileKind.XZ, FileKind.BINARY)  # the last for one with a NUL among its words
    found = [file for file, kind in kinds.items() if kind in texts and looks_like_vocabulary(file)]
    plain = [file for file in found if kinds[file] not in (FileKind.GZIP, FileKind.XZ)]
    path = next((files[0] for files in (plain, found) if len(files) == 1), None)
    if path is None and found:
        risks.append(f"{SEVERAL_VOCABULARIES}: {join_names(file.name for file in found)}")
    vocabulary = None if path is None else read_vocabulary(path)
    files = [] if path is None else [path]
    if config.lookup is None:
        return Words(vocabulary, None, files)
    if path is None or vocabulary is None:
        raise FormatError(where, "reads words of a vocabulary, but there is no vocabulary with it, or more than one")
    if len(vocabulary) != config.lookup.num_words:
        reason = f"has {len(vocabulary)} tokens, but the table of words has {config.lookup.num_words} rows"
        raise FormatError(path, reason)
    words = {token: number for number, token in enumerate(vocabulary.tokens)}
    most = config.max_characters_per_token
    return Words(vocabulary, DictionarySpelling(words=words, symbols={}, max_characters_per_token=most), files)


def looks_like_vocabulary(path: Path) -> bool:
    """Whether the three special tokens are lines in the first MiB of the file, plain or compressed.

    Raises ValueError for a compressed file that is damaged there, and OSError for one that cannot be read.
    """
    if leads_out(path):
        return False
    head = next(read_chunks(path, size=_HEAD_BYTES), b"").removeprefix(BYTE_ORDER_MARK)
    lines = {line.strip() for line in head.split(b"\n")}
    return all(special.encode() in lines for special in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))


def read_vocabulary(path: Path) -> Vocabulary:
    """The vocabulary of a model: a file of no more than 256 MiB, or what words are packed to, in its own folder.

    What `Vocabulary.read` refuses in text to train on is read as bilm-tf reads it: white space around tokens is
    ignored, a token may be empty or contain NUL, and of a token that occurs twice the last row counts.
    """
    refuse_link_out(path)
    try:
        return Vocabulary.read(path, most=MAX_BYTES)
    except ValueError as error:
        chunks: Any = read_chunks(path, size=_HEAD_BYTES)
        content = b"".join(cast("Iterable[bytes]", up_to(MAX_BYTES, chunks, path)))
        try:
            lines = content.decode("utf-8-sig").removesuffix("\n").split("\n")
            return Vocabulary((line.strip() for line in lines if line.strip() != SKIPPED_LINE), is_published=True)
        except ValueError:
            raise error from None
