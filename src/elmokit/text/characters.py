"""Tokens to character ids: the bytes of a token between word boundaries (bilm-tf's `UnicodeCharsVocabulary`).

A token is `[BEGIN_WORD, its UTF-8 bytes, END_WORD, PADDING, ...]`, always `max_characters_per_token` long. Bytes that
do not fit are cut off, in the middle of a character if need be. Code points that UTF-8 cannot encode (lone surrogates)
are dropped, and the empty token is the two boundaries alone. The tokens `<S>` and `</S>` are the sentence boundaries.
Nothing is normalised here: NFC and NFD spellings of a word are different words (`tokenize` returns NFC).

Arrays hold every id shifted by one (`SHIFT`), so that a row of zeros is the padding token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from functools import partial

import numpy as np
from numpy.typing import NDArray

from elmokit.text.character_numbers import (
    BEGIN_SENTENCE_CHARACTER,
    BEGIN_WORD_CHARACTER,
    END_SENTENCE_CHARACTER,
    END_WORD_CHARACTER,
    PADDING_ID,
    SHIFT,
)

BEGIN_SENTENCE = "<S>"
END_SENTENCE = "</S>"

_SENTENCE_BOUNDARIES = {BEGIN_SENTENCE: BEGIN_SENTENCE_CHARACTER, END_SENTENCE: END_SENTENCE_CHARACTER}


def character_ids(tokens: Sequence[str], *, max_characters_per_token: int = 50) -> NDArray[np.int32]:
    """Shifted ids (N, C) of N tokens, with values 1..261; C is `max_characters_per_token`.

    Before the shift by one they are bilm-tf's ids: 258, 235, 176, 165, 259, 260, 260, ... for the token 밥.
    """
    spellings = _spellings(tokens)
    most_bytes = _bytes_per_token(max_characters_per_token)
    lengths = np.fromiter(map(len, spellings), dtype=np.int64, count=len(spellings)).clip(max=most_bytes)
    # A fixed-width bytes array cuts and pads in C; its padding zeros are overwritten below.
    text = np.array(spellings, dtype=f"S{most_bytes}").view(np.uint8).reshape(len(spellings), most_bytes)

    ids = np.full((len(spellings), max_characters_per_token), PADDING_ID, dtype=np.int32)
    ids[:, 0] = BEGIN_WORD_CHARACTER + SHIFT
    np.add(text, SHIFT, out=ids[:, 1:-1], where=np.arange(most_bytes) < lengths[:, None], dtype=np.int32)
    ids[np.arange(len(spellings)), lengths + 1] = END_WORD_CHARACTER + SHIFT
    for row, token in enumerate(tokens):
        if token in _SENTENCE_BOUNDARIES:
            boundary = [BEGIN_WORD_CHARACTER, _SENTENCE_BOUNDARIES[token], END_WORD_CHARACTER]
            ids[row] = PADDING_ID
            ids[row, :3] = np.array(boundary) + SHIFT
    return ids


def batch_character_ids(
    sentences: Sequence[Sequence[str]], *, max_characters_per_token: int = 50, add_boundaries: bool = False
) -> NDArray[np.int32]:
    """Shifted ids (B, T, C) of B sentences; positions after the end of a sentence are rows of zeros.

    `add_boundaries` puts `<S>` and `</S>` around every sentence, so T is the length of the longest sentence plus two.
    """
    if add_boundaries:
        check_sentences(sentences)
        sentences = [[BEGIN_SENTENCE, *sentence, END_SENTENCE] for sentence in sentences]
    return padded(sentences, partial(character_ids, max_characters_per_token=max_characters_per_token))


def padded(sentences: Sequence[Sequence[str]], rows: Callable[[Sequence[str]], NDArray[np.int32]]) -> NDArray[np.int32]:
    """Rows (B,T,C) of B sentences, zero after the end of a sentence; `rows` makes the rows (N,C) of N tokens."""
    check_sentences(sentences)
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    of_tokens = rows([token for sentence in sentences for token in sentence])
    longest = int(lengths.max(initial=0))
    batch = np.zeros((len(sentences), longest, of_tokens.shape[1]), dtype=np.int32)
    batch[np.arange(longest) < lengths[:, None]] = of_tokens
    return batch


def check_sentences(sentences: Sequence[Sequence[str]]) -> None:
    """Raise ValueError if `sentences`, or one of them (naming the first), is a string or None instead of a list."""
    if isinstance(sentences, str) or not isinstance(sentences, Sized):
        raise ValueError(f"got {_shown(sentences)}; expected a list of sentences, each a list of tokens")
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str) or not isinstance(sentence, Sized):
            raise ValueError(f"sentence {number} is {_shown(sentence)}; expected a list of tokens")


def _shown(given: object) -> str:
    return f"the string {given[:40]!r}" if isinstance(given, str) else f"{given!r:.40}"


def num_truncated(tokens: Sequence[str], *, max_characters_per_token: int = 50) -> int:
    """Number of tokens that are cut because they are too long: over 48 bytes when a token has 50 ids."""
    most_bytes = _bytes_per_token(max_characters_per_token)
    return sum(len(spelling) > most_bytes for spelling in _spellings(tokens))


def _spellings(tokens: Sequence[str]) -> list[bytes]:
    if isinstance(tokens, str):
        raise ValueError(f"expected a list of tokens, got the string {tokens[:40]!r}")
    try:
        return [token.encode("utf-8", "ignore") for token in tokens]
    except AttributeError:
        position, token = next((n, token) for n, token in enumerate(tokens) if not isinstance(token, str))
        raise ValueError(f"token {position} is {token!r}; expected a string") from None


def _bytes_per_token(max_characters_per_token: int) -> int:
    if max_characters_per_token < 3:
        raise ValueError(
            f"max_characters_per_token is {max_characters_per_token}; "
            "it must be at least 3: the two word boundaries and a byte"
        )
    return max_characters_per_token - 2
