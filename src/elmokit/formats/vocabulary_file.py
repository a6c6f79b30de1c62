"""Vocabulary files in the folder of a model: recognised by their contents, and unpacked with a size limit.

The dictionary of a bilm-tf model that reads words is its vocabulary, whose lines are the rows of the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.lines import read_chunks
from elmokit.formats.file_kinds import FileKind
from elmokit.system.messages import FormatError, leads_out, refuse_link_out
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.indexer import DictionarySpelling
from elmokit.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from elmokit.model.config import BiLMConfig

MAX_BYTES = 1 << 28
"""Largest size when unpacked; the vocabulary of the 1B Word benchmark has 8 MB."""
_HEAD_BYTES = 1 << 20


def vocabulary_of(kinds: dict[Path, FileKind]) -> Path | None:
    """The vocabulary among these files; None if there is none, or more than one."""
    texts = (file for file, kind in kinds.items() if kind in (FileKind.TEXT, FileKind.GZIP, FileKind.XZ))
    vocabularies = [text for text in texts if looks_like_vocabulary(text)]
    return vocabularies[0] if len(vocabularies) == 1 else None


def looks_like_vocabulary(path: Path) -> bool:
    """Whether the three special tokens are lines in the first MiB of the file, plain or compressed.

    Raises ValueError for a compressed file that is damaged there, and OSError for one that cannot be read.
    """
    if leads_out(path):
        return False
    head = next(read_chunks(path, size=_HEAD_BYTES), b"")
    lines = set(head.replace(b"\r", b"").split(b"\n"))
    return all(special.encode() in lines for special in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))


def read_vocabulary(path: Path) -> Vocabulary:
    """`Vocabulary.read`, but of no link out of the folder, and of no more than 256 MiB or what words are packed to."""
    refuse_link_out(path)
    return Vocabulary.read(path, most=MAX_BYTES)


def read_words(
    where: Path, config: BiLMConfig, kinds: dict[Path, FileKind]
) -> tuple[Vocabulary | None, DictionarySpelling | None]:
    """The vocabulary among these files, if any, and the dictionary if the model reads words instead of bytes.

    Raises FormatError, naming `where`, if a model that reads words has no vocabulary, or one of another size than its
    table.
    """
    path = vocabulary_of(kinds)
    vocabulary = None if path is None else Vocabulary.read(path, most=MAX_BYTES)
    if config.lookup is None:
        return vocabulary, None
    if path is None or vocabulary is None:
        raise FormatError(where, "reads words of a vocabulary, but there is no vocabulary with it, or more than one")
    if len(vocabulary) != config.lookup.num_words:
        reason = f"has {len(vocabulary)} tokens, but the table of words has {config.lookup.num_words} rows"
        raise FormatError(path, reason)
    words = {token: number for number, token in enumerate(vocabulary.tokens)}
    most = config.max_characters_per_token
    return vocabulary, DictionarySpelling(words=words, symbols={}, max_characters_per_token=most)
