"""Vocabulary: tokens and their ids, which are the targets of the softmax (the format is bilm-tf's vocabulary file)."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from elmokit.files.atomic import atomic_write
from elmokit.files.lines import BYTE_ORDER_MARK, MAX_WHOLE_BYTES, NOT_IN_A_TOKEN, is_read_once, read_lines, up_to
from elmokit.system.messages import plural
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE

UNKNOWN = "<UNK>"

LEAST_IN_FIRST_TENTH = 0.35
"""Least share of a text's known tokens in the first tenth of a vocabulary that is sorted by frequency. Measured shares
are at least 0.58, also in text of another domain, and at most 0.31 in any other order (mini-en and mini-ko, 1,000
sentences of 13 corpora)."""
LEAST_TO_JUDGE = 5_000, 500
"""With fewer tokens in the vocabulary, or fewer known tokens in the text, the order cannot be judged."""
SPECIALS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
_SEPARATORS = NOT_IN_A_TOKEN | {"\0"}
SKIPPED_LINE = "!!!MAXTERMID"  # a line in the vocabulary of the 1B Word benchmark that is not a token


class Vocabulary:
    """Tokens in the order of their ids, case-sensitive; `<S>`, `</S>` and `<UNK>` must be among them, in any position.

    For training, tokens must be sorted by falling frequency: the sampled softmax takes an id for a frequency rank.
    Raises ValueError when one of the special tokens is missing, or when a token is duplicate, empty or contains white
    space.
    """

    def __init__(self, tokens: Iterable[str], *, is_published: bool = False) -> None:
        """is_published: others have trained a model with it, so it may also have duplicate, empty and odd tokens."""
        self.tokens: list[str] = [tokens] if isinstance(tokens, str) else list(tokens)
        self._ids = dict(zip(self.tokens, range(len(self.tokens)), strict=True))
        together, distinct = "".join(self.tokens), len(self._ids) == len(self.tokens)
        is_odd = not distinct or "" in self._ids or any(character in together for character in _SEPARATORS)
        if is_odd and not is_published:
            first: dict[str, int] = {}
            for position, token in enumerate(self.tokens):
                if fault := _fault(token, first):
                    raise ValueError(fault)
                first[token] = position
        if missing := [special for special in SPECIALS if special not in self._ids]:
            raise ValueError(
                f"the vocabulary of {plural(len(self.tokens), 'token')} lacks {' and '.join(missing)}; "
                f"expected {', '.join(SPECIALS)} (case-sensitive), one token per line"
            )
        self.unknown_id: int = self._ids[UNKNOWN]
        self.begin_id: int = self._ids[BEGIN_SENTENCE]
        self.end_id: int = self._ids[END_SENTENCE]

    @cached_property
    def is_decomposed(self) -> bool:
        """Whether more tokens are spelt in NFD than in NFC, as in a text with decomposed characters."""
        num_decomposed = sum(not unicodedata.is_normalized("NFC", token) for token in self.tokens)
        num_composed = sum(not unicodedata.is_normalized("NFD", token) for token in self.tokens)
        return num_decomposed > num_composed

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Self:
        """Read a file of one token per line (plain, gzip or xz). Errors name the file and the line.

        max_bytes: largest size of a file from elsewhere. It must not be compressed to far less either.
        """
        try:
            return cls(_at_once(path))
        except (OSError, ValueError):  # reading line by line can unpack the file, and finds the error
            first: dict[str, int] = {}
        lines = read_lines(path, keep_marks=True)
        for number, line in enumerate(lines if max_bytes is None else up_to(max_bytes, lines, path), start=1):
            if line == SKIPPED_LINE:
                continue
            if fault := _fault(line, first):
                raise ValueError(f"{os.fspath(path)}, line {number}: {fault}")
            first[line] = len(first)
        try:
            return cls(first)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write one token per line. The file is written completely or not at all."""
        with atomic_write(path) as unfinished:
            unfinished.write_bytes("".join(f"{token}\n" for token in self.tokens).encode("utf-8"))

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        """Whether a token has its own id; `<UNK>` in a text is an unknown token."""
        return token in self._ids and token != UNKNOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.tokens == other.tokens

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self)} tokens"

    def id(self, token: str) -> int:
        """Id of the token, or the id of `<UNK>` if the token is unknown."""
        return self._ids.get(token, self.unknown_id)

    def ids(self, tokens: Iterable[str]) -> NDArray[np.int64]:
        """Ids (N,) of N tokens; unknown tokens get the id of `<UNK>`."""
        find, unknown = self._ids.get, self.unknown_id
        return np.array([find(token, unknown) for token in tokens], dtype=np.int64)

    def is_out_of_order(self, counts: NDArray[np.int64]) -> bool:
        """Whether `counts`, how often each id occurs in a text, show that ids are not ranks by frequency."""
        words = np.delete(counts, [self.begin_id, self.end_id, self.unknown_id])
        num_known = int(words.sum())
        if len(self) < LEAST_TO_JUDGE[0] or num_known < LEAST_TO_JUDGE[1]:
            return False
        return int(words[: len(words) // 10].sum()) < LEAST_IN_FIRST_TENTH * num_known


def _at_once(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a plain file, in a tenth of the time; an empty list for a file that must be read line by line."""
    if is_read_once(path) or os.stat(path).st_size > MAX_WHOLE_BYTES:
        return []
    content = Path(path).read_bytes()
    if content.startswith(BYTE_ORDER_MARK) or any(odd in content for odd in (b"\r", b"\0", SKIPPED_LINE.encode())):
        return []
    return content.decode("utf-8").removesuffix("\n").split("\n")


def _fault(token: str, first: Mapping[str, int]) -> str | None:
    """What is wrong with a token, given the positions of the tokens before it; None if nothing is wrong."""
    if not token:
        return "the token is empty; expected one token per line"
    if not _SEPARATORS.isdisjoint(token):
        return f"the token {token[:40]!r} has white space in it; expected one per line"
    return f"duplicate token {token[:40]!r} (first at entry {first[token] + 1})" if token in first else None
