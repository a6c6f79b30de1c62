"""Raw text files -> documents -> sentences of tokens, as `elmokit prepare` reads them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path

from elmokit.system.python import require
from elmokit.text.sentence_lines import prose_lines
from elmokit.text.tokenizer import tokenize

PIECE_CHARACTERS = 1_000_000
"""Longer documents are cut at line ends into pieces, so that a file without blank lines fits into memory."""

SentenceTokenizer = Callable[[str], list[str]]


def read_raw_documents(path: Path, column: str | None = None) -> Iterator[tuple[int, str]]:
    """Number and text of each document of a file, separated by blank lines; pieces of a long one share its number.

    column: of JSON lines, a table or CoNLL-U (`column_texts`), each of whose texts is a document.
    Raises the ValueError and OSError of `prose_lines`, which name the file.
    """
    if column is not None:
        yield from enumerate(text for text in prose_lines(path, column=column) if text.strip())
        return
    number = size = 0
    inside = False
    lines: list[str] = []
    for line in prose_lines(path):
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
    """Tokens of `tokenize`, but with characters composed or decomposed as in the sentence."""
    tokens = tokenize(sentence)
    if unicodedata.is_normalized("NFC", sentence):
        return tokens
    spellings: defaultdict[str, deque[str]] = defaultdict(deque)
    for character in _characters(sentence):
        spellings[unicodedata.normalize("NFC", character)].append(character)
    return ["".join(_next_spelling(spellings, character) for character in _characters(token)) for token in tokens]


def morphemes() -> SentenceTokenizer:
    """A tokenizer that splits Korean into morphemes with Kiwi. Raises ValueError when kiwipiepy is not installed."""
    kiwi = require("kiwipiepy", extra="ko", purpose="splitting Korean into morphemes").Kiwi()

    def morphemes_of(sentence: str) -> list[str]:
        text = " ".join(unicodedata.normalize("NFC", sentence).split())
        return [part for token in kiwi.tokenize(text) for part in token.form.split()]

    return morphemes_of


def script_share(sentence: str, script: re.Pattern[str]) -> float:
    """Share, from 0 to 1, of the visible characters that match the script's pattern."""
    visible = "".join(unicodedata.normalize("NFC", sentence).split())
    return len(script.findall(visible)) / max(len(visible), 1)


def _characters(text: str) -> list[str]:
    """Characters together with the combining marks (and, in Hangul, the vowels and final consonants) after them."""
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
