"""The scripts that words are written in (Latin, Hangul, ...), from the names of their characters in Unicode."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache


def script_counts(tokens: Iterable[str]) -> Counter[str]:
    """Number of letters of each script: `LATIN`, `HANGUL`, `CYRILLIC`, `CJK`, ..., the most frequent scripts first."""
    counts = Counter(character for token in tokens for character in token if character.isalpha())
    scripts: Counter[str] = Counter()
    for character, number in counts.items():
        scripts[_script(character)] += number
    return Counter(dict(scripts.most_common()))


@cache
def _script(letter: str) -> str:
    """The first word of a letter's name: `HANGUL` of `HANGUL SYLLABLE GA`."""
    return unicodedata.name(letter, "UNNAMED").split(" ")[0].split("-")[0]
