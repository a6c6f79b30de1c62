"""Nearest contexts of a token in a sentence, and nearest words of a static vector (Peters et al., 2018, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from elmokit.elmo.layer_choice import unit_vectors
from elmokit.model.token_cache import TokenCache
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from elmokit.model.bilm import BiLM

Floats = NDArray[np.float64]

Among = Literal["any word", "same word", "other words"]


@dataclass(frozen=True)
class Context:
    """A token in a sentence, by its indices, and its cosine with the query."""

    sentence: int
    index: int
    cosine: float


@dataclass(frozen=True)
class Word:
    """A word without context, and its cosine with the query."""

    token: str
    cosine: float


class Contexts:
    """All tokens of a list of sentences with their vectors, searchable by cosine."""

    def __init__(self, vectors: Sequence[NDArray[np.float32]], sentences: Sequence[Sequence[str]]) -> None:
        """`vectors` has one array (T,E) per sentence, as `Elmo.encode` returns them."""
        self.sentences = sentences
        self._unit = unit_vectors(np.concatenate(vectors).astype(np.float64))
        self._tokens = np.array([token for sentence in sentences for token in sentence])
        self._sentence = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
        self._starts = np.cumsum([0, *(len(sentence) for sentence in sentences)])
        if len(self._unit) != len(self._tokens):
            raise ValueError(f"{len(self._unit)} vectors for {len(self._tokens)} tokens; expected one per token")

    def nearest(self, sentence: int, index: int, *, among: Among = "any word", number: int = 5) -> list[Context]:
        """The nearest tokens of other sentences, nearest first. Words are the same if they are spelled the same."""
        row = int(self._starts[sentence]) + index
        nearness = self._unit @ self._unit[row]
        allowed = self._sentence != sentence
        if among != "any word":
            allowed &= (self._tokens == self._tokens[row]) == (among == "same word")
        nearness[~allowed] = -np.inf
        best = np.argsort(-nearness, kind="stable")[: min(number, int(allowed.sum()))]
        return [
            Context(int(self._sentence[row]), int(row - self._starts[self._sentence[row]]), float(nearness[row]))
            for row in map(int, best)
        ]


class StaticWords:
    """Words with their token representations (layer 0 of the biLM), which do not depend on context."""

    def __init__(self, bilm: BiLM, tokens: Sequence[str]) -> None:
        self.tokens = list(tokens)
        self._encode_tokens = TokenCache(bilm.char_encoder, spelling=bilm.spelling)
        self._unit = self._vectors(self.tokens)

    def nearest(self, token: str, *, number: int = 5) -> list[Word]:
        """The nearest words except the token itself, nearest first."""
        nearness = self._unit @ self._vectors([token])[0]
        order = np.argsort(-nearness, kind="stable")
        best = [row for row in map(int, order[: number + 1]) if self.tokens[row] != token][:number]
        return [Word(self.tokens[row], float(nearness[row])) for row in best]

    @torch.no_grad()
    def _vectors(self, tokens: list[str]) -> Floats:
        vectors, rows = self._encode_tokens.distinct([tokens])
        return unit_vectors(vectors[rows].cpu().double().numpy())


def most_frequent_words(vocabulary: Vocabulary, *, number: int = 5000) -> list[str]:
    """The first tokens with a letter in a vocabulary, which is sorted by frequency."""
    specials = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
    words = (token for token in vocabulary.tokens if token not in specials and any(map(str.isalpha, token)))
    return list(islice(words, number))
