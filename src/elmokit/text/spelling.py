"""How a model spells a token: as a row of integers, from its bytes or from numbers in the model's own dictionaries.

Every id in a row is shifted by one (`SHIFT`), so that a row of zeros is the padding token. The sentence boundaries are
the tokens `<S>` and `</S>` for every model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from elmokit.text.character_numbers import SHIFT
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, character_ids, num_truncated
from elmokit.text.vocabulary import UNKNOWN

_BEGIN_WORD, _END_WORD = "<eow>", "<bow>"  # ELMoForManyLangs swaps the two, also when it trains
_PADDING_SYMBOL = "<pad>"


@dataclass(frozen=True)
class ByteSpelling:
    """The bytes of a token between word boundaries, as bilm-tf reads them (`text/characters.py`)."""

    max_characters_per_token: int

    @property
    def limit(self) -> str:
        """How much of a token is read."""
        return f"{self.max_characters_per_token - 2} bytes"

    def rows(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """Rows (N,C) of N tokens."""
        return character_ids(tokens, max_characters_per_token=self.max_characters_per_token)

    def keys(self, tokens: Sequence[str]) -> list[str | bytes]:
        """Keys that are equal only for tokens with equal rows, and short even for a token of a megabyte."""
        limit = self.max_characters_per_token
        return [token if len(token) <= limit else token.encode("utf-8", "ignore")[: limit - 2] for token in tokens]

    def num_cut(self, tokens: Sequence[str]) -> int:
        """Number of tokens that are too long to be read as a whole."""
        return num_truncated(tokens, max_characters_per_token=self.max_characters_per_token)


@dataclass(frozen=True)
class DictionarySpelling:
    """A word's number in a dictionary, then the numbers of its characters (ELMoForManyLangs; word-input bilm-tf).

    Either dictionary may be empty; then it is not used. A token of more than `max_characters_per_token - 2` characters
    is cut before it is looked up. Raises ValueError if a special symbol is missing.
    """

    words: Mapping[str, int]
    symbols: Mapping[str, int]
    """Numbers of characters (code points), and of `<bos> <eos> <oov> <pad> <bow> <eow>`."""
    max_characters_per_token: int
    begin: str = BEGIN_SENTENCE
    """The name of the opening boundary in the dictionaries. A token with this name is a boundary, too."""
    end: str = END_SENTENCE
    unknown: str = UNKNOWN
    _boundaries: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        boundaries = {BEGIN_SENTENCE: self.begin, END_SENTENCE: self.end}
        object.__setattr__(self, "_boundaries", boundaries | {name: name for name in boundaries.values()})
        specials = (self.begin, self.end, self.unknown)
        for what, known, needed in (
            ("words", self.words, specials),
            ("characters", self.symbols, (*specials, _PADDING_SYMBOL, _BEGIN_WORD, _END_WORD)),
        ):
            missing = [name for name in needed if known and name not in known]
            if missing:
                raise ValueError(f"the dictionary of {what} lacks {' and '.join(missing)}")
        if not self.words and not self.symbols:
            raise ValueError("there is neither a dictionary of words nor one of characters")
        padding = self.symbols.get(_PADDING_SYMBOL)
        if any(number == padding and symbol != _PADDING_SYMBOL for symbol, number in self.symbols.items()):
            raise ValueError(f"the dictionary of characters gives another character the number of {_PADDING_SYMBOL}")

    @property
    def limit(self) -> str:
        """How much of a token is read."""
        return f"{self._max_characters} characters"

    @property
    def padding_id(self) -> int:
        """The id that fills a row after the last character; 0 without characters."""
        return self.symbols[_PADDING_SYMBOL] + SHIFT if self.symbols else 0

    @property
    def _max_characters(self) -> int:
        return self.max_characters_per_token - 2

    def rows(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """Rows (N,W) of N tokens: the word's id if there are words, then the characters' if there are characters."""
        cut = self.keys(tokens)
        columns: list[NDArray[np.int32]] = []
        if self.words:
            unknown = self.words[self.unknown]
            ids = (self.words.get(token, unknown) for token in cut)
            columns.append(np.fromiter(ids, np.int32, count=len(cut))[:, None] + np.int32(SHIFT))
        if self.symbols:
            columns.append(self._character_rows(cut))
        return np.concatenate(columns, axis=1)

    def keys(self, tokens: Sequence[str]) -> list[str]:
        """Keys that are equal only for tokens with equal rows, and short even for a token of a megabyte."""
        return [self._boundaries.get(token, token[: self._max_characters]) for token in tokens]

    def num_cut(self, tokens: Sequence[str]) -> int:
        """Number of tokens that are too long to be read as a whole."""
        return sum(len(token) > self._max_characters for token in tokens)

    def _character_rows(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        begin, end = self.symbols[_BEGIN_WORD], self.symbols[_END_WORD]
        unknown = self.symbols[self.unknown]
        rows = np.full((len(tokens), self.max_characters_per_token), self.symbols[_PADDING_SYMBOL], np.int32)
        for row, token in zip(rows, tokens, strict=True):
            spelled = [token] if token in (self.begin, self.end) else token
            row[: len(spelled) + 2] = [begin, *(self.symbols.get(symbol, unknown) for symbol in spelled), end]
        return rows + np.int32(SHIFT)


Spelling: TypeAlias = ByteSpelling | DictionarySpelling
