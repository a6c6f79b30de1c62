"""The occurrences of words in a corpus that are nearest to an occurrence in a sentence, by the cosine of their vectors.

The corpus is read once, in blocks, so that it may be larger than the memory.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from elmokit.elmo.encoding import TOKENS_AT_ONCE, Sentence, as_int, tokens_in_turn, tokens_of_each, unit_vectors
from elmokit.system.batches import batched
from elmokit.system.messages import printable
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from elmokit.elmo.encoding import Array

Among = Literal["any", "same", "other"]
"""Occurrences of any word, of the same word, or of other words."""
_SENTENCES_AT_ONCE = 1024


@dataclass(frozen=True)
class NearOccurrence:
    """An occurrence in the corpus."""

    tokens: list[str]
    """Its sentence."""
    index: int
    """Index of the token in `tokens`."""
    sentence: int
    """Index of the sentence in the corpus."""
    similarity: float
    """Cosine with the occurrence in the given sentence."""

    @property
    def token(self) -> str:
        """The token at `index`, as it is spelt in the corpus."""
        return self.tokens[self.index]


def nearest_occurrences(
    encode: Callable[[list[list[str]]], list[Array]],
    sentence: Sentence,
    word: str | int,
    corpus: Iterable[Sentence],
    *,
    number: int,
    among: Among,
) -> list[NearOccurrence]:
    """The nearest occurrences, nearest first. The given sentence and repeated sentences in the corpus are left out.

    encode: returns one array (T,E) for each list of tokens. The other arguments are the same as for `Elmo.nearest`.
    Tokens are compared in NFC. `encode` may read them in another form.
    Raises ValueError for a word that is not in the sentence, an unknown `among`, and a number below 1.
    """
    if isinstance(corpus, str):
        raise ValueError(f"the corpus is the string {printable(corpus)!r}; expected sentences, such as lines of a file")
    if (as_int(number) or 0) < 1:
        raise ValueError(f"number is {number!r}; expected a whole number, at least 1")
    if among not in ("any", "same", "other"):
        raise ValueError(f"among is {among!r}; expected any, same or other (words)")
    (tokens,) = tokens_of_each([sentence])
    spelt = _composed(tokens)
    index = _index(spelt, word)
    query = unit_vectors(encode([tokens])[0][index].astype(np.float64))
    found: list[tuple[float, int, int, list[str]]] = []
    sentences = enumerate(tokens_in_turn(corpus))
    for block in batched(
        sentences, size=_SENTENCES_AT_ONCE, weight=lambda one: len(one[1]), enough_weight=TOKENS_AT_ONCE
    ):
        known = {tuple(spelt), *(tuple(_composed(other)) for *_, other in found)}
        wanted: dict[tuple[str, ...], tuple[int, list[str]]] = {}
        for place, other in block:
            composed = tuple(_composed(other))
            if composed not in known and (among != "same" or spelt[index] in composed):
                wanted.setdefault(composed, (place, other))
        vectors = encode([other for _, other in wanted.values()])
        for (composed, (place, other)), array in zip(wanted.items(), vectors, strict=True):
            for position, cosine in enumerate(unit_vectors(array.astype(np.float64)) @ query):
                if among == "any" or (composed[position] == spelt[index]) == (among == "same"):
                    found.append((float(cosine), -place, -position, other))
        found = heapq.nlargest(number, found, key=lambda one: one[:3])
    return [NearOccurrence(other, -position, -place, cosine) for cosine, place, position, other in found]


def _composed(tokens: list[str]) -> list[str]:
    return [unicodedata.normalize("NFC", token) for token in tokens]


def _index(tokens: list[str], word: str | int) -> int:
    if isinstance(word, str):
        for spelt in (_composed([word]), tokenize(word)):  # `tokenize` turns `l’amour` into `l'amour`
            if len(spelt) == 1 and spelt[0] in tokens:
                return tokens.index(spelt[0])
        said = printable(" ".join(tokens))
        raise ValueError(f"the sentence has no token {printable(repr(word))}; its tokens are: {said}")
    if as_int(word) is None or not 0 <= word < len(tokens):
        raise ValueError(f"word is {word!r}; the sentence has tokens 0 to {len(tokens) - 1}")
    return word
