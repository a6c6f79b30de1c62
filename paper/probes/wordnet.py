"""The senses of a word in WordNet, most frequent first (the file `index.sense`; see senseidx(5WN))."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from elmokit.files.lines import read_lines
from elmokit.system.messages import FormatError, printable

Word = tuple[str, str]
"""Lemma in lower case and part of speech: `("play", "NOUN")`."""
Senses = Callable[[Word], tuple[str, ...]]
"""The senses of a word in a dictionary, the most frequent first; none if it lacks the word."""

_LINE = re.compile(r"(?P<key>(?P<lemma>[^ %]+)%(?P<type>[1-5]):[^ ]*) \d{8} (?P<number>\d{1,3}) \d{1,9}")
_POS = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}  # 5: adjectives that belong to another one


class SenseInventory:
    """Sense keys of each word, in WordNet's order: `inventory.senses(("play", "NOUN"))[0]` is its first sense."""

    def __init__(self, numbered: dict[Word, dict[str, int]]) -> None:
        self._senses = {word: tuple(sorted(keys, key=keys.__getitem__)) for word, keys in numbered.items()}

    def __len__(self) -> int:
        return sum(map(len, self._senses.values()))

    def senses(self, word: Word) -> tuple[str, ...]:
        """Sense keys; none if WordNet lacks the word."""
        return self._senses.get(word, ())


def read_inventory(path: str | os.PathLike[str]) -> SenseInventory:
    """Read `index.sense`. Raises FileNotFoundError, and FormatError, naming the line, for anything else."""
    numbered: dict[Word, dict[str, int]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise FormatError(f"{path}, line {number}", f"is {printable(line)!r}; expected a line of index.sense")
        numbered.setdefault((match["lemma"], _POS[match["type"]]), {})[match["key"]] = int(match["number"])
    return SenseInventory(numbered)


def word_of(key: str) -> Word:
    """The word of a sense key. Raises ValueError for what is not a sense key."""
    lemma, _, rest = key.partition("%")
    if not lemma or rest[:1] not in _POS:
        raise ValueError(f"{printable(key)!r} is not a sense key of WordNet; expected one such as art%1:09:00::")
    return lemma, _POS[rest[0]]
