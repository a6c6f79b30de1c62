"""Word vectors on disk: GloVe, word2vec (text and binary) and fastText's `.vec`, recognised by their contents."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from elmokit.files.lines import read_chunks, read_lines
from elmokit.system.messages import first_token

if TYPE_CHECKING:
    from jaxtyping import Float32

MAX_DIM = 10_000
"""Largest width of vectors that are read; published vectors have 25 to 1,024 numbers."""
MAX_WORD_BYTES = 10_000
"""Longest word of a binary file; without a limit, a file of another kind would be read to its end as one word."""

_SAMPLE_BYTES = 1 << 18  # more than the longest header and line of text
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)? *(\d{1,18}) +(\d{1,18})[ \r]*\n")  # after a byte order mark, too
_TOO_WIDE = re.compile(rf" |[^ ]* (?:{_NUMBER.pattern})? ")
"""Start of a line that has more columns than expected, but not because its word has spaces."""


@dataclass(frozen=True)
class WordVectors:
    """N words of a file and their vectors (N,D), in file order."""

    words: list[str]
    matrix: Float32[np.ndarray, "N D"]


class _Header(NamedTuple):
    """The first line of word2vec and fastText files."""

    num_words: int
    dim: int


def read_word_vectors(path: str | os.PathLike[str], wanted: Collection[str], *, first: int = 0) -> WordVectors:
    """The vectors of the `wanted` words and of the `first` words of the file; all other words are skipped.

    Files may be plain or compressed. If a word occurs twice, its first vector counts. Wanted words cannot contain
    spaces, although some words in text files do (GloVe's 840B has some).
    Raises OSError when the file cannot be read. Raises ValueError, naming the file and the line or word, when the
    number of columns changes, a value is not a finite number, the width exceeds `MAX_DIM`, or the file has fewer words
    than its header promises.
    """
    path, wanted = os.fspath(path), set(wanted)
    sample, header = _read_start(path)
    if header is not None and not _is_text(sample, header):
        found = _binary_vectors(path, header, wanted, first)
    else:
        found = _text_vectors(path, header, wanted, first)
    vectors: dict[str, Float32[np.ndarray, " D"]] = {}
    dim = 0
    for word, vector in found:
        dim = len(vector)
        vectors.setdefault(word, vector)
    matrix = np.stack(list(vectors.values())) if vectors else np.empty((0, dim), np.float32)
    return WordVectors(list(vectors), matrix)


def word_vector_dim(path: str | os.PathLike[str]) -> int:
    """Width D of the vectors in a file, read from its first line."""
    path = os.fspath(path)
    _, header = _read_start(path)
    if header is not None:
        return header.dim
    for line in read_lines(path, keep_marks=True):
        return _dim_of(line, path)
    raise ValueError(f"{path} is empty; expected a word and its vector on each line")


def _read_start(path: str) -> tuple[bytes, _Header | None]:
    """The first bytes of a file, and the header in them, if there is one."""
    sample = b"".join(islice(read_chunks(path, size=_SAMPLE_BYTES), 1))
    match = _HEADER.match(sample)
    if match is None:
        return sample, None
    header = _Header(int(match[1]), int(match[2]))
    if not 1 <= header.dim <= MAX_DIM:
        raise ValueError(f"{path}, line 1: vectors of {header.dim} numbers; expected 1 to {MAX_DIM:,}")
    return sample, header


def _is_text(sample: bytes, header: _Header) -> bool:
    """Whether the line after the header has two printable columns, which the bytes of a vector hardly ever form."""
    line = sample.split(b"\n", 2)[1]
    try:
        text = line.decode("utf-8").rstrip(" \r")
    except UnicodeDecodeError:
        return False
    _, *numbers = text.rsplit(" ", header.dim)  # the word may be a no-break space
    if len(numbers) < min(2, header.dim) or not all(map(str.isprintable, numbers)):
        return False
    return any(map(_NUMBER.fullmatch, numbers))


def _text_vectors(
    path: str, header: _Header | None, wanted: Collection[str], first: int
) -> Iterator[tuple[str, Float32[np.ndarray, " D"]]]:
    lines = enumerate(read_lines(path, keep_marks=True), start=1)
    head = next(lines, (1, ""))
    if header is None:
        lines = chain([head], lines)
    dim = _dim_of(head[1], path) if header is None else header.dim
    num_words = 0
    for number, line in lines:
        line = line.rstrip(" ")
        if not line:
            continue
        num_words += 1
        columns = line.count(" ")
        if columns < dim or (number == 2 and columns > dim and _TOO_WIDE.match(line)):
            found = f"{path}, line {number}: {columns} columns after the word, a space before each"
            raise ValueError(f"{found}; line 1 says {dim}: {first_token(line)}")
        if num_words > first and line[: line.index(" ")] not in wanted:
            continue
        word, *numbers = line.rsplit(" ", dim)
        if num_words <= first or word in wanted:
            yield word, _vector(numbers, where=f"{path}, line {number}")
    if header is not None and num_words < header.num_words:
        raise ValueError(f"{path} ends after {num_words:,} words; its first line promises {header.num_words:,}")


def _dim_of(line: str, path: str) -> int:
    """Width of the vector on the first line of a file without a header."""
    _, *numbers = line.rstrip(" ").split(" ")
    if not 1 <= len(numbers) <= MAX_DIM or not all(map(_NUMBER.fullmatch, numbers)):
        expected = f"a word and 1 to {MAX_DIM:,} numbers, with one space before each"
        raise ValueError(f"{path}, line 1: expected {expected}: {first_token(line)}")
    return len(numbers)


def _vector(numbers: list[str], *, where: str) -> Float32[np.ndarray, " D"]:
    try:
        with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
            read = [np.nan] if "_" in "".join(numbers) else [float(text) for text in numbers]  # 1_0 is 10 in Python
            values = np.array(read).astype(np.float32)
    except ValueError:
        values = np.array([np.nan], np.float32)
    if not np.isfinite(values).all():
        raise ValueError(f"{where}: expected {len(numbers)} finite numbers after the word")
    return values


def _binary_vectors(
    path: str, header: _Header, wanted: Collection[str], first: int
) -> Iterator[tuple[str, Float32[np.ndarray, " D"]]]:
    """Vectors in word2vec's binary format: after the header, each word, a space and D little-endian float32 numbers."""
    chunks = read_chunks(path)
    buffer = next(chunks, b"")
    at = buffer.index(b"\n") + 1
    size = 4 * header.dim
    for number in range(1, header.num_words + 1):
        while (space := buffer.find(b" ", at)) < 0 or len(buffer) < space + 1 + size:
            if (len(buffer) if space < 0 else space) - at > MAX_WORD_BYTES:
                raise ValueError(
                    f"{path}: word {number:,} has more than {MAX_WORD_BYTES:,} bytes; is it a word2vec file?"
                )
            more = next(chunks, b"")
            if not more:
                raise ValueError(f"{path} ends in word {number:,}; its first line promises {header.num_words:,} words")
            buffer = buffer[at:] + more
            at = 0
        word = buffer[at:space].lstrip(b"\n").decode("utf-8", "replace")  # some programs end vectors with a line end
        at = space + 1 + size
        if number <= first or word in wanted:
            vector = np.frombuffer(buffer, "<f4", header.dim, offset=space + 1).astype(np.float32)
            if not np.isfinite(vector).all():
                raise ValueError(f"{path}: the vector of word {number:,} ({first_token(word)}) is not finite")
            yield word, vector
