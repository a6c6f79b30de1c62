"""Raw text files -> documents -> sentences of tokens, as `elmokit prepare` reads them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path

from elmokit.system.extras import require
from elmokit.text.lines import read_lines
from elmokit.text.tokenizer import tokenize

PIECE_CHARACTERS = 1_000_000
"""A longer document comes in pieces, cut at a line end, so that a file without blank lines fits into memory."""

SentenceTokenizer = Callable[[str], list[str]]


def documents(path: Path) -> Iterator[tuple[int, str]]:
    """(number in the file, text) of the documents that blank lines separate; the pieces of a long one share a number.

    Raises ValueError and OSError naming file and line as `read_lines` does.
    """
    number = size = 0
    inside = False
    lines: list[str] = []
    for line in read_lines(path):
        blank = not line or line.isspace()
        if not blank:
            inside = True
            lines.append(line)
            size += len(line)
        if lines and (blank or size >= PIECE_CHARACTERS):
            yield number, "\n".join(lines)
            lines, size = [], 0
        if blank and inside:
            number += 1
            inside = False
    if lines:
        yield number, "\n".join(lines)


def keep_spelling(sentence: str) -> list[str]:
    """Tokens of `tokenize`, with the characters spelt (composed or decomposed) as the sentence spells them."""
    tokens = tokenize(sentence)
    if unicodedata.is_normalized("NFC", sentence):
        return tokens
    spellings: defaultdict[str, deque[str]] = defaultdict(deque)
    for character in _characters(sentence):
        spellings[unicodedata.normalize("NFC", character)].append(character)
    return ["".join(_next_spelling(spellings, character) for character in _characters(token)) for token in tokens]


def morphemes() -> SentenceTokenizer:
    """A tokenizer into Korean morphemes, by Kiwi. Raises ValueError when kiwipiepy is not installed."""
    kiwi = require("kiwipiepy", extra="ko", purpose="splitting Korean into morphemes").Kiwi()

    def morphemes_of(sentence: str) -> list[str]:
        text = " ".join(unicodedata.normalize("NFC", sentence).split())
        return [part for token in kiwi.tokenize(text) for part in token.form.split()]

    return morphemes_of


def script_share(sentence: str, script: re.Pattern[str]) -> float:
    """Share of the visible characters that are of the script."""
    visible = "".join(unicodedata.normalize("NFC", sentence).split())
    return len(script.findall(visible)) / max(len(visible), 1)


def _characters(text: str) -> list[str]:
    """Characters with the marks, and the vowels and final consonants (of Hangul), that join them."""
    characters: list[str] = []
    for code_point in text:
        if characters and _joins(code_point):
            characters[-1] += code_point
        else:
            characters.append(code_point)
    return characters


def _joins(code_point: str) -> bool:
    return "\u1160" <= code_point <= "\u11ff" or unicodedata.category(code_point).startswith("M")


def _next_spelling(spellings: defaultdict[str, deque[str]], character: str) -> str:
    return spellings[character].popleft() if spellings[character] else character
