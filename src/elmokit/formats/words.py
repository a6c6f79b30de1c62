"""Models of bilm-tf that read words: the dictionary is the vocabulary, whose lines are the rows of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.formats.vocabulary_file import read_vocabulary
from elmokit.system.messages import FormatError
from elmokit.text.indexer import DictionarySpelling

if TYPE_CHECKING:
    from pathlib import Path

    from elmokit.model.config import BiLMConfig


def word_spelling(where: Path, config: BiLMConfig, vocabulary: Path | None) -> DictionarySpelling | None:
    """The dictionary of a model that reads words; None for one that reads bytes.

    Raises FormatError, naming `where`, if there is no vocabulary, or one of another size than the table of words.
    """
    if config.lookup is None:
        return None
    if vocabulary is None:
        raise FormatError(where, "reads words of a vocabulary, but there is no vocabulary with it, or more than one")
    tokens = read_vocabulary(vocabulary).tokens
    if len(tokens) != config.lookup.num_words:
        reason = f"has {len(tokens)} tokens, but the table of words has {config.lookup.num_words} rows"
        raise FormatError(vocabulary, reason)
    return DictionarySpelling(
        words={token: number for number, token in enumerate(tokens)},
        symbols={},
        max_characters_per_token=config.max_characters_per_token,
    )
