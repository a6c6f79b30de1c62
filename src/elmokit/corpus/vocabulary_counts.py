"""Corpus shards -> a vocabulary, most frequent tokens first, from exact counts in bounded memory."""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, takewhile
from pathlib import Path

from elmokit.corpus.external_sort import MEMORY_BYTES, ExternalSort
from elmokit.corpus.stream import SentenceStream
from elmokit.files.atomic import as_paths, atomic_write, check_is_not_input, temporary_folder
from elmokit.system.messages import FormatError, join_names
from elmokit.system.progress_bar import progress_bar
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, num_truncated
from elmokit.text.vocabulary import UNKNOWN

SPECIALS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)

_TYPE_OVERHEAD = 120  # bytes per type besides the string: dictionary entry, its share of spare capacity, count
_COUNT = struct.Struct(">Q")
_LARGEST = 2**64 - 1  # records by falling count begin with _LARGEST - count


@dataclass(frozen=True)
class VocabularySummary:
    """How well a vocabulary covers the text that it was counted on."""

    num_sentences: int
    num_tokens: int
    num_types: int
    """Number of distinct tokens in the text, without the specials."""
    num_kept: int
    """Number of these types that are in the vocabulary."""
    num_known_tokens: int
    """Number of tokens in the text that are in the vocabulary."""
    num_cut_tokens: int
    """Number of tokens over 48 bytes, which lose their ends at 50 characters (48 and the two word boundaries)."""
    rarest_count: int
    """Count of the rarest type in the vocabulary; 0 if it has none."""

    @property
    def coverage(self) -> float:
        """Share, from 0 to 1, of the tokens of the text that are in the vocabulary."""
        return self.num_known_tokens / self.num_tokens

    @property
    def unknown_rate(self) -> float:
        return 1 - self.coverage


def write_vocabulary(
    shards: Iterable[str | Path],
    path: str | Path,
    *,
    min_count: int = 1,
    max_size: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> VocabularySummary:
    """Write the vocabulary of text shards: `<S>`, `</S>`, `<UNK>`, then tokens by falling count, ties by code point.

    min_count: tokens with a lower count are left out.
    max_size: largest number of lines in the file, including the specials.
    memory_bytes: approximate limit for counts in memory; the rest goes to temporary files next to `path`. It does not
        change the result.

    The file is written completely or not at all. Raises ValueError for shards without a sentence or not in UTF-8.
    """
    if min_count < 1:
        raise ValueError(f"the minimum count is {min_count}; expected at least 1")
    if max_size is not None and max_size <= len(SPECIALS):
        raise ValueError(f"the maximum size is {max_size}; expected more than the {len(SPECIALS)} specials")
    shards, path = as_paths(shards), Path(path).expanduser()
    check_is_not_input(path, *shards)
    with atomic_write(path) as unfinished, temporary_folder(path) as folder:
        counted = _Counted(shards, folder, memory_bytes=memory_bytes)
        num_kept = num_known_tokens = rarest_count = 0
        tokens = islice(counted.most_frequent(), None if max_size is None else max_size - len(SPECIALS))
        with unfinished.open("wb") as file:
            file.writelines(f"{special}\n".encode() for special in SPECIALS)
            for token, count in takewhile(lambda entry: entry[1] >= min_count, tokens):
                file.write(f"{token}\n".encode())
                num_kept += 1
                num_known_tokens += count
                rarest_count = count
        return VocabularySummary(
            num_sentences=counted.num_sentences,
            num_tokens=counted.num_tokens,
            num_types=counted.num_types,
            num_kept=num_kept,
            num_known_tokens=num_known_tokens + counted.num_boundary_tokens,
            num_cut_tokens=counted.num_cut_tokens,
            rarest_count=rarest_count,
        )


class _Counted:
    """The counts of all types, sorted on disk: first by token, to add up partial counts, then by count."""

    def __init__(self, shards: Sequence[Path], folder: Path, *, memory_bytes: int) -> None:
        self.num_sentences = 0
        self.num_tokens = 0
        self.num_types = 0
        self.num_cut_tokens = 0
        self.num_boundary_tokens = 0
        """Number of tokens in the text that are `<S>` or `</S>`; those that are `<UNK>` count as unknown."""
        self._shards = shards
        self._by_count = ExternalSort(folder, memory_bytes=memory_bytes // 2)
        for token, count in self._types(ExternalSort(folder), memory_bytes=memory_bytes // 2):
            self._add(token, count)

    def most_frequent(self) -> Iterator[tuple[str, int]]:
        """Tokens, without the specials, and their counts, most frequent first. This works only once."""
        for record in self._by_count:
            yield record[_COUNT.size :].decode("utf-8"), _LARGEST - _COUNT.unpack_from(record)[0]

    def _add(self, token: str, count: int) -> None:
        self.num_tokens += count
        self.num_cut_tokens += count * num_truncated([token])
        if token in SPECIALS:
            self.num_boundary_tokens += count * (token != UNKNOWN)
            return
        if "\r" in token:
            raise FormatError(
                join_names(map(str, self._shards)),
                f"the token {token[:40]!r} contains a carriage return, which a vocabulary file cannot store; "
                r"end the lines of the shards with line feeds, for example with tr '\r' '\n'",
            )
        self.num_types += 1
        self._by_count.add(_COUNT.pack(_LARGEST - count) + token.encode("utf-8"))

    def _types(self, partial: ExternalSort, *, memory_bytes: int) -> Iterator[tuple[str, int]]:
        """Every type with its count, in any order."""
        counter: Counter[str] = Counter()
        size = 0
        spilled = False
        sentences = SentenceStream(self._shards, shuffle=False, num_epochs=1, warn=True)
        with progress_bar(unit=" sentences", label="counting") as bar:
            for tokens in sentences:
                bar.update()
                self.num_sentences += 1
                known = len(counter)
                counter.update(tokens)
                if num_new := len(counter) - known:
                    size += sum(map(sys.getsizeof, islice(reversed(counter), num_new))) + num_new * _TYPE_OVERHEAD
                    if size >= memory_bytes:
                        partial.add_sorted(_records(counter))
                        counter.clear()
                        size, spilled = 0, True
        if not spilled:
            yield from counter.items()
            return
        partial.add_sorted(_records(counter))
        del counter
        for spelling, records in groupby(partial, key=lambda record: record[: -len(b"\0") - _COUNT.size]):
            counts = (_COUNT.unpack(record[-_COUNT.size :])[0] for record in records)
            yield spelling.decode("utf-8"), sum(counts)


def _records(counter: Counter[str]) -> Iterator[bytes]:
    """Records of token, NUL (which no token contains and which sorts before everything) and count, by code point."""
    for token in sorted(counter):
        yield token.encode("utf-8") + b"\0" + _COUNT.pack(counter[token])
