"""Tokens -> character offsets in the text that they come from."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, groupby, pairwise, zip_longest
from operator import itemgetter

from elmokit.system.messages import first_token
from elmokit.text.tokenizer import tokenize


def token_offsets(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """For each token, the offset of its first character in the text and the offset after its last one.

    The tokens must be all tokens of the text in order, from `tokenize` or from a tokenizer that changes no more than
    `tokenize` does. Each character of the text is normalised as the tokenizer normalises it; then text and tokens are
    compared letter by letter, ignoring how often a letter is repeated. Where a run of letters was shortened, the last
    token of the run in its word gets the remaining characters. (Where several adjacent runs of one mark were shortened
    or lengthened, the bounds between them may be off by a few marks.)
    Raises ValueError, naming the token, where the tokens do not match the text.
    """
    return _verbatim(text, tokens) or _letter_by_letter(text, tokens)


def _verbatim(text: str, tokens: Sequence[str]) -> list[tuple[int, int]] | None:
    """The offsets if the text is only unchanged tokens and white space, else None. Fast, and enough for most texts."""
    offsets: list[tuple[int, int]] = []
    end = 0
    for token in tokens:
        start = end
        while text[start : start + 1].isspace():
            start += 1
        end = start + len(token)
        if not token or not text.startswith(token, start):
            return None
        offsets.append((start, end))
    return None if text[end:].strip() else offsets


def _letter_by_letter(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    starts, ends = [len(text)] * len(tokens), [0] * len(tokens)
    for token_run, text_run in zip_longest(_runs(tokens), _runs(text)):
        if token_run is None or text_run is None or token_run[0] != text_run[0]:
            raise ValueError(_difference(text, tokens, token_run, text_run))
        for owners, positions in _by_word(token_run, text_run, text):
            for repetition, owner in enumerate(owners):
                last = len(positions) if repetition == len(owners) - 1 else repetition + 1
                for position in positions[repetition:last] or positions[-1:]:  # `..` has become `...`
                    starts[owner] = min(starts[owner], position)
                    ends[owner] = max(ends[owner], position + 1)
    for index, end in enumerate(ends):
        if end == 0:  # no character of the token is visible
            starts[index] = ends[index] = ends[index - 1] if index else 0
    return list(zip(starts, ends, strict=True))


_Run = tuple[str, list[int]]


def _runs(pieces: Iterable[str]) -> list[_Run]:
    """Runs of equal letters: the letter, and for each repetition the index of the piece that it comes from."""
    letters = [(letter, index) for index, piece in enumerate(pieces) for letter in _letters(piece)]
    return [(letter, [index for _, index in run]) for letter, run in groupby(_ordered(letters), key=itemgetter(0))]


def _by_word(token_run: _Run, text_run: _Run, text: str) -> list[tuple[list[int], list[int]]]:
    """For each word, owners and positions of a letter's repetitions. The tokenizer tells how many owners a word has."""
    letter, owners = token_run
    words = [text_run[1][:1]]
    for before, position in pairwise(text_run[1]):
        if any(map(str.isspace, text[before:position])):
            words.append([])
        words[-1].append(position)
    for start in ("", "가") if len(words) > 1 else ():  # as in English, or as in Korean
        split = [tokenize(start + text[word[0] : word[-1] + 1]) for word in words]
        counts = [_letters("".join(tokens)).count(letter) for tokens in split]
        if sum(counts) == len(owners):
            ends = accumulate(counts)
            return [(owners[end - count : end], word) for end, count, word in zip(ends, counts, words, strict=True)]
    return [(owners, text_run[1])]


def _letters(piece: str) -> str:
    return _letters_of(piece) if len(piece) == 1 else "".join(map(_letters_of, piece))


@cache
def _letters_of(character: str) -> str:
    """A character as the tokenizer writes it, decomposed. It may join two apostrophes to `"`, which is split here."""
    return unicodedata.normalize("NFD", "".join(tokenize(character))).replace('"', "''")


def _ordered(letters: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The letters with combining marks in Unicode's canonical order, as NFC in the tokenizer orders them."""
    ordered: list[tuple[str, int]] = []
    for is_mark, run in groupby(letters, key=lambda letter: letter[0] > "\u02ff" and _mark_class(letter) > 0):
        same = list(run)
        ordered += sorted(same, key=_mark_class) if is_mark else same
    return ordered


def _mark_class(letter: tuple[str, int]) -> int:
    return unicodedata.combining(letter[0])


def _difference(text: str, tokens: Sequence[str], token_run: _Run | None, text_run: _Run | None) -> str:
    token = (
        "the end of the tokens"
        if token_run is None
        else f"token {token_run[1][0]}, {first_token(tokens[token_run[1][0]])},"
    )
    position = "its end" if text_run is None else f"character {text_run[1][0]}, {first_token(text[text_run[1][0] :])}"
    return f"{token} does not match the text at {position}; expected the tokens of this text"
