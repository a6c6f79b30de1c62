"""The dictionaries of a model that reads tokens by their numbers, as `dictionary.json` of the native format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.folder import write_text
from elmokit.files.json_fields import Fields, read_json_object
from elmokit.system.messages import FormatError
from elmokit.text.indexer import DictionarySpelling

if TYPE_CHECKING:
    from elmokit.model.config import BiLMConfig

DICTIONARY_NAME = "dictionary.json"
MAX_BYTES = 256 << 20
"""Largest file; a dictionary of 150,000 words has 4 MB."""
_BYTES_PER_ROW = 1 << 10
_SMALL = 1 << 20
_NAMES = ("begin", "end", "unknown")


def write_dictionary(path: Path, spelling: DictionarySpelling) -> None:
    """Write the file, completely or not at all."""
    values: dict[str, object] = {name: getattr(spelling, name) for name in _NAMES}
    values |= {"words": dict(spelling.words), "symbols": dict(spelling.symbols)}
    write_text(path, json.dumps(values, indent=0) + "\n")


def read_dictionary(path: Path, config: BiLMConfig) -> DictionarySpelling:
    """Read and check the file. Raises FormatError, which names it and the field, also if it is too large for the rows.

    config: with the rows that the weights have.
    """
    assert config.lookup is not None
    num_rows = config.lookup.num_words + config.lookup.num_symbols
    fields = Fields(path, read_json_object(path, max_bytes=min(MAX_BYTES, _BYTES_PER_ROW * num_rows + _SMALL)))
    fields.require_known((*_NAMES, "words", "symbols"))
    names = {name: fields.text(name) for name in _NAMES}
    try:
        return DictionarySpelling(
            words=_numbers(fields, "words"),
            symbols=_numbers(fields, "symbols"),
            max_characters_per_token=config.max_characters_per_token,
            **names,
        )
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(path, str(error)) from error


def _numbers(fields: Fields, name: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for symbol, number in fields.object(name).items():
        if isinstance(number, bool) or not isinstance(number, int):
            raise fields.error(name, "has a value that is not a whole number")
        numbers[symbol] = number
    return numbers
