"""Raw text files -> documents -> sentences, in their order."""

from __future__ import annotations

import os
from collections.abc import Iterator

from elmokit.text.sentence_lines import prose_lines
from elmokit.text.tokenizer import HYPHENATION, split_sentences

PIECE_CHARACTERS = 1_000_000
"""Longer documents are cut at line ends into pieces, so that a file without blank lines fits into memory."""


def read_sentences(path: str | os.PathLike[str]) -> Iterator[str]:
    """The sentences of a file of raw text, such as a book, each in one line: a line end within one becomes a space.

    A blank line ends a sentence, too (`split_sentences`). Raises the errors of `prose_lines`, which name the file.
    """
    for _, text in read_raw_documents(path):
        for sentence in split_sentences(text):
            yield " ".join(map(str.strip, sentence.split("\n")))


def read_raw_documents(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Number and text of each document of a file, separated by blank lines; pieces of a long one share its number.

    A word that a soft hyphen breaks at a line end is joined. Raises the errors of `prose_lines`, which name the file.
    """
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
            yield number, HYPHENATION.sub("", "\n".join(lines))
            lines, size = [], 0
        if blank and inside:
            number += 1
            inside = False
    if lines:
        yield number, HYPHENATION.sub("", "\n".join(lines))
