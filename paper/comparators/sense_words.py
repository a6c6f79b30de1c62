"""Sentences with words whose senses are annotated or asked for: what the supervised sense taggers read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Word = tuple[str, str]
"""Lemma and part of speech, such as `("play", "NOUN")`."""

Senses = Callable[[Word], tuple[str, ...]]
"""The senses of a word in a dictionary, the most frequent first; none if it lacks the word."""


@dataclass(frozen=True)
class SenseWord:
    """A word in a sentence."""

    name: str
    """Its id in its corpus."""
    word: Word
    start: int
    end: int
    """Its tokens are those from `start` up to `end` (exclusive)."""
    senses: tuple[str, ...] = ()
    """Its annotated senses, which are equally right; none if they are asked for."""


@dataclass(frozen=True)
class SenseSentence:
    """Tokens with their parts of speech, and the words in question."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    words: tuple[SenseWord, ...]

    def __post_init__(self) -> None:
        if len(self.tags) != len(self.tokens):
            raise ValueError(f"{' '.join(self.tokens)[:80]!r} has {len(self.tokens)} tokens but {len(self.tags)} tags")
        for word in self.words:
            if not 0 <= word.start < word.end <= len(self.tokens):
                raise ValueError(f"{word.name} is tokens {word.start} to {word.end} of {len(self.tokens)}")
