"""Sentences as a user gives them -> lists of tokens, with an error for whatever is not a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import cast

from elmokit.system.messages import printable
from elmokit.text.tokenizer import tokenize

Sentence = str | Sequence[str]

TOKENS_AT_ONCE = 65_536
"""Tokens with which a block of sentences ends: 67 MB of hidden states for the released `original` model."""
TOKENS_PER_SENTENCE = 32
"""A batch has at most `batch_size` sentences and `batch_size` times this many tokens."""

_MAX_SHOWN = 40
_NOT_LISTS: tuple[type, ...] = (Set, Mapping, str, bytes, bytearray, memoryview)
"""Iterating over them gives something, but no items in an order."""


def tokens_of_each(sentences: Iterable[Sentence]) -> list[list[str]]:
    """Tokens of each sentence: strings are tokenised, lists of tokens are used unchanged.

    Raises ValueError, with the index and the type, for what is neither, such as a missing value (None, NaN), and for
    what has no order or whose items are not sentences: a set, a dict, bytes, a table.
    """
    return list(tokens_in_turn(sentences))


def tokens_in_turn(sentences: Iterable[Sentence]) -> Iterator[list[str]]:
    """The lists of `tokens_of_each`, each when it is asked for."""
    for number, sentence in enumerate(_items(sentences, "the sentences are", "a list of sentences")):
        if isinstance(sentence, str):
            yield tokenize(sentence)
            continue
        tokens = list(_items(sentence, f"sentence {number} is", "a string or a list of tokens (str)"))
        for position, token in enumerate(tokens):
            if not isinstance(token, str):
                raise ValueError(
                    f"token {position} of sentence {number} is {_described(token)}; expected a string: sentences are "
                    "strings or lists of tokens (str)"
                )
        yield cast("list[str]", tokens)


def batches_by_length(lengths: Sequence[int], *, batch_size: int) -> Iterator[list[int]]:
    """Indices of sentences of similar length, longest first, within `batch_size` and its budget of padded tokens."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        # the first sentence of a batch is its longest, so its length decides how many fit
        fit = batch_size * TOKENS_PER_SENTENCE // max(lengths[order[start]], 1)
        end = start + max(1, min(batch_size, fit))
        yield order[start:end]
        start = end


def _items(given: object, subject: str, expected: str) -> Iterator[object]:
    is_table = hasattr(given, "columns")  # of pandas, polars or Arrow: iterating gives its columns or their names
    if not isinstance(given, _NOT_LISTS) and not is_table:
        with suppress(TypeError):  # arrays without dimensions, too, which have the method
            return iter(cast("Iterable[object]", given))
    raise ValueError(f"{subject} {_described(given)}; expected {expected}")


def _described(given: object) -> str:
    name = type(given).__name__
    is_short = given is None or isinstance(given, (str, bytes, int, float))
    return f"{printable(repr(given), most=_MAX_SHOWN)} ({name})" if is_short else f"of type {name}"
