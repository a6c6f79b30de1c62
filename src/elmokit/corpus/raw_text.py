"""Sentences of raw text -> tokens, as `elmokit prepare` makes them."""

from __future__ import annotations

import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable

from elmokit.system.python import require
from elmokit.text.tokenizer import tokenize

SentenceTokenizer = Callable[[str], list[str]]


def keep_spelling(sentence: str) -> list[str]:
    """Tokens of `tokenize`, but with characters composed or decomposed as in the sentence."""
    tokens = tokenize(sentence)
    if unicodedata.is_normalized("NFC", sentence):
        return tokens
    spellings: defaultdict[str, deque[str]] = defaultdict(deque)
    for character in _characters(sentence):
        spellings[unicodedata.normalize("NFC", character)].append(character)

    def spelt(character: str) -> str:
        return spellings[character].popleft() if spellings[character] else character

    return ["".join(map(spelt, _characters(token))) for token in tokens]


def morphemes() -> SentenceTokenizer:
    """A tokenizer that splits Korean into morphemes with Kiwi. Raises ValueError when kiwipiepy is not installed."""
    kiwi = require("kiwipiepy", extra="ko", purpose="splitting Korean into morphemes").Kiwi()

    def morphemes_of(sentence: str) -> list[str]:
        text = " ".join(unicodedata.normalize("NFC", sentence).split())
        return [part for token in kiwi.tokenize(text) for part in token.form.split()]

    return morphemes_of


def _characters(text: str) -> list[str]:
    """Characters together with the combining marks (and, in Hangul, the vowels and final consonants) after them.

    Marks after a space or punctuation, from which `tokenize` parts them, are a character of their own.
    """
    characters: list[str] = []
    for code_point in text:
        before = unicodedata.category(characters[-1][0])[0] if characters else " "
        is_mark = unicodedata.category(code_point).startswith("M")
        if (is_mark and before in "LMNS") or ("\u1160" <= code_point <= "\u11ff" and before == "L"):
            characters[-1] += code_point
        else:
            characters.append(code_point)
    return characters
