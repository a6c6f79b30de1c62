"""Fixed lists of ambiguous words in sentences, for judging contextual vectors (polysemes*.tsv)."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from elmokit.files.lines import read_lines
from elmokit.system.messages import first_token
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.corpora.cells import whole_number
from elmokit.text.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from elmokit.text.vocabulary import Vocabulary

Language = Literal["en", "ko"]

LISTS: dict[Language, Path] = {
    "en": Path(__file__).with_name("polysemes.tsv"),
    "ko": Path(__file__).with_name("polysemes_ko.tsv"),
}

NUM_FREQUENT = 1000
"""Number of words that decide the language of a vocabulary; in the bundled Korean one, 991 of them have Hangul."""

_COLUMNS = ("word", "contrast", "sense", "index", "tokens")


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


def read_polysemes(path: str | os.PathLike[str] = LISTS["en"]) -> list[Occurrence]:
    """The occurrences of a list, in its order. Lines that begin with # are comments.

    Raises ValueError, naming the line, for a line without five tab-separated columns or with an index that does not
    point at the word; and, naming the word, for a word with fewer than two senses or a sense with fewer than two
    sentences.
    """
    lines = list(read_lines(path))  # to its end, so that the file is closed when a line is refused
    occurrences = [
        _occurrence(line, f"{os.fspath(path)}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    ]
    sizes = Counter((occurrence.word, occurrence.sense) for occurrence in occurrences)
    for word in words_of(occurrences):
        senses = senses_of(word, occurrences)
        if len(senses) < 2 or any(sizes[word, sense] < 2 for sense in senses):
            raise ValueError(
                f"{os.fspath(path)}: {first_token(word)} needs at least two senses with at least two sentences each"
            )
    return occurrences


def language_of(vocabulary: Vocabulary | None) -> Language:
    """Korean if most of the most frequent words have a Hangul syllable; otherwise, or without a vocabulary, English.

    A model's vocabulary shows which text it was trained on, and every model trained with elmokit has one.
    """
    frequent = [] if vocabulary is None else most_frequent_words(vocabulary, number=NUM_FREQUENT)
    num_korean = sum(any("가" <= character <= "힣" for character in token) for token in frequent)
    return "ko" if 2 * num_korean > len(frequent) else "en"


def most_frequent_words(vocabulary: Vocabulary, *, number: int = 5000) -> list[str]:
    """The first tokens with a letter in a vocabulary, which is sorted by frequency."""
    specials = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
    words = (token for token in vocabulary.tokens if token not in specials and any(map(str.isalpha, token)))
    return list(islice(words, number))


def words_of(occurrences: list[Occurrence]) -> list[str]:
    """Each word once, in the order of the list."""
    return list(dict.fromkeys(occurrence.word for occurrence in occurrences))


def members_of(word: str, occurrences: list[Occurrence]) -> list[int]:
    """Indices of the occurrences of the word."""
    return [index for index, occurrence in enumerate(occurrences) if occurrence.word == word]


def senses_of(word: str, occurrences: list[Occurrence]) -> list[str]:
    """Each sense of the word once, in the order of the list."""
    return list(dict.fromkeys(occurrence.sense for occurrence in occurrences if occurrence.word == word))


def _occurrence(line: str, where: str) -> Occurrence:
    columns = line.split("\t")
    if len(columns) != len(_COLUMNS):
        raise ValueError(f"{where}: {len(columns)} columns; expected {', '.join(_COLUMNS)}, separated by tabs")
    word, contrast, sense, column, text = columns
    tokens, index = tuple(text.split(" ")), whole_number(column)
    if index is None or index >= len(tokens) or tokens[index] != word:
        raise ValueError(f"{where}: index {column[:40]} is not the index of {first_token(word)} in {first_token(text)}")
    return Occurrence(word, contrast, sense, index, tokens)
