"""Fixed lists of ambiguous words in sentences, for judging contextual vectors (polysemes*.tsv)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from elmokit.files.lines import read_lines
from elmokit.text.vocabulary import SPECIALS

if TYPE_CHECKING:
    from elmokit.text.vocabulary import Vocabulary

Language = Literal["en", "ko"]

LISTS: dict[Language, Path] = {
    "en": Path(__file__).with_name("polysemes.tsv"),
    "ko": Path(__file__).with_name("polysemes_ko.tsv"),
}

NUM_FREQUENT = 1000
"""This many of its most frequent words decide a vocabulary's language. In the bundled Korean vocabulary, 991 of them
have Hangul."""


@dataclass(frozen=True)
class Occurrence:
    """A word in a sentence, and its sense there."""

    word: str
    contrast: str
    """Parts of speech of the word's senses, in the order of the senses (noun/noun, noun/verb, ...), or `pragmatic`."""
    sense: str
    index: int
    """Index of the word in `tokens`."""
    tokens: tuple[str, ...]


def read_polysemes(path: Path = LISTS["en"]) -> list[Occurrence]:
    """The occurrences of a list, in its order. Lines that begin with # are comments."""
    rows = (line.split("\t") for line in read_lines(path) if line and not line.startswith("#"))
    return [
        Occurrence(word, contrast, sense, int(index), tuple(text.split(" ")))
        for word, contrast, sense, index, text in rows
    ]


def language_of(vocabulary: Vocabulary | None) -> Language:
    """Korean if most of the most frequent words have a Hangul syllable; otherwise, or without a vocabulary, English.

    A model's vocabulary shows which text it was trained on, and every model trained with elmokit has one.
    """
    tokens = [] if vocabulary is None else vocabulary.tokens
    words = (token for token in tokens if token not in SPECIALS and any(map(str.isalpha, token)))
    frequent = list(islice(words, NUM_FREQUENT))
    num_korean = sum(any("가" <= character <= "힣" for character in token) for token in frequent)
    return "ko" if 2 * num_korean > len(frequent) else "en"


def words_of(occurrences: list[Occurrence]) -> list[str]:
    """Each word once, in the order of the list."""
    return list(dict.fromkeys(occurrence.word for occurrence in occurrences))


def members_of(word: str, occurrences: list[Occurrence]) -> list[int]:
    """Indices of the occurrences of the word."""
    return [index for index, occurrence in enumerate(occurrences) if occurrence.word == word]


def senses_of(word: str, occurrences: list[Occurrence]) -> list[str]:
    """Each sense of the word once, in the order of the list."""
    return list(dict.fromkeys(occurrence.sense for occurrence in occurrences if occurrence.word == word))
