"""Corpus shards -> a vocabulary, most frequent tokens first; exact counts in bounded memory, however many types."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.corpus.external_sort import MEMORY_BYTES, ExternalSort, temporary_folder
from elmokit.corpus.stream import SentenceStream
from elmokit.system.files import atomic_write
from elmokit.system.progress import progress_bar
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, num_truncated
from elmokit.text.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Generator

SPECIALS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)

_TYPE_OVERHEAD = 120  # bytes of a dictionary's entry, its share of the spare room and the count, beside the string
_LARGEST = 2**64 - 1


@dataclass(frozen=True)
class VocabularySummary:
    """What a vocabulary covers of the text that it was counted on."""

    num_sentences: int
    num_tokens: int
    num_types: int
    """Distinct tokens of the text, the specials not counted."""
    num_kept: int
    """Of these, how many are in the vocabulary."""
    num_known_tokens: int
    """Tokens of the text that are in the vocabulary."""
    num_cut_tokens: int
    """Tokens of more than 48 bytes, which lose their ends at 50 characters (48 and the two word boundaries)."""
    rarest_count: int
    """Of the last token kept; 0 when none is."""

    @property
    def coverage(self) -> float:
        return self.num_known_tokens / self.num_tokens

    @property
    def unknown_rate(self) -> float:
        return 1 - self.coverage

    def text(self) -> str:
        """A few lines for people."""
        return (
            f"{self.num_sentences:,} sentences, {self.num_tokens:,} tokens, {self.num_types:,} types\n"
            f"kept {self.num_kept:,} types and {len(SPECIALS)} specials; the rarest has count {self.rarest_count:,}\n"
            f"they cover {self.coverage:.2%} of the tokens; OOV rate {self.unknown_rate:.2%}\n"
            f"cut at 50 characters: {self.num_cut_tokens:,} tokens ({self.num_cut_tokens / self.num_tokens:.4%})"
        )


def write_vocabulary(
    shards: Sequence[Path],
    path: Path,
    *,
    min_count: int = 1,
    max_size: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> VocabularySummary:
    """Write the tokens of text shards: `<S>`, `</S>`, `<UNK>`, then by falling count, equal counts by code point.

    min_count: rarer tokens are left out. max_size: lines of the file at most, the specials among them.
    memory_bytes: of counts in memory, about; the rest goes to files beside `path`. The result is always the same.

    The file is there as a whole or not at all. Raises ValueError for shards that hold no sentence or no UTF-8.
    """
    _check(min_count, max_size)
    with atomic_write(path) as unfinished, _counted(shards, beside=path, memory_bytes=memory_bytes) as counted:
        num_kept = num_known_tokens = rarest_count = 0
        with unfinished.open("wb") as file:
            for special in SPECIALS:
                file.write(special.encode("utf-8") + b"\n")
            for token, count in counted.most_frequent(min_count=min_count, max_size=max_size):
                file.write(token.encode("utf-8") + b"\n")
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


def count_vocabulary(
    shards: Sequence[Path], *, min_count: int = 1, max_size: int | None = None, memory_bytes: int = MEMORY_BYTES
) -> dict[str, int]:
    """The same tokens with their counts, in the same order, without the specials; what is kept is held in memory.

    What does not fit into `memory_bytes` while counting goes to the system's folder for temporary files.
    """
    _check(min_count, max_size)
    beside = Path(tempfile.gettempdir()) / "vocabulary"
    with _counted(shards, beside=beside, memory_bytes=memory_bytes) as counted:
        return dict(counted.most_frequent(min_count=min_count, max_size=max_size))


def _check(min_count: int, max_size: int | None) -> None:
    if min_count < 1:
        raise ValueError(f"the minimum count is {min_count}; expected at least 1")
    if max_size is not None and max_size <= len(SPECIALS):
        raise ValueError(f"the maximum size is {max_size}; expected more than the {len(SPECIALS)} specials")


@contextmanager
def _counted(shards: Sequence[Path], *, beside: Path, memory_bytes: int) -> Generator[_Counted]:
    with temporary_folder(beside) as folder:
        yield _Counted(shards, folder, memory_bytes=memory_bytes)


class _Counted:
    """The counts of all types, sorted by count on disk; two sorts, first by token to add up, then by count."""

    def __init__(self, shards: Sequence[Path], folder: Path, *, memory_bytes: int) -> None:
        self.num_sentences = 0
        self.num_tokens = 0
        self.num_types = 0
        self.num_cut_tokens = 0
        self.num_boundary_tokens = 0
        """Tokens of the text that are `<S>` or `</S>`; one that is `<UNK>` is unknown."""
        self._by_count = ExternalSort(folder, memory_bytes=memory_bytes // 2)
        for token, count in self._types(shards, ExternalSort(folder), memory_bytes=memory_bytes // 2):
            self._add(token, count)

    def most_frequent(self, *, min_count: int, max_size: int | None) -> Iterator[tuple[str, int]]:
        """Tokens that are no specials with their counts; once only."""
        num_wanted = None if max_size is None else max_size - len(SPECIALS)
        for record in islice(self._by_count, num_wanted):
            count = _LARGEST - int.from_bytes(record[:8], "big")
            if count < min_count:
                return
            yield record[8:].decode("utf-8"), count

    def _add(self, token: str, count: int) -> None:
        self.num_tokens += count
        self.num_cut_tokens += count * num_truncated([token])
        if token in SPECIALS:
            self.num_boundary_tokens += count * (token != UNKNOWN)
            return
        if "\r" in token:
            raise ValueError(
                f"the token {token[:40]!r} holds a carriage return, which no vocabulary can; "
                r"remove them from the shards, for example with tr -d '\r'"
            )
        self.num_types += 1
        self._by_count.add((_LARGEST - count).to_bytes(8, "big") + token.encode("utf-8"))

    def _types(self, shards: Sequence[Path], partial: ExternalSort, *, memory_bytes: int) -> Iterator[tuple[str, int]]:
        """Every type with its count, in no order that counts."""
        counter: Counter[str] = Counter()
        size = 0
        spilled = False
        sentences = SentenceStream(shards, shuffle=False, num_epochs=1)
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
        for spelling, records in groupby(partial, key=lambda record: record[:-9]):
            yield spelling.decode("utf-8"), sum(int.from_bytes(record[-8:], "big") for record in records)


def _records(counter: Counter[str]) -> Iterator[bytes]:
    """Token, NUL (which no token holds and which sorts before everything), count; in the order of code points."""
    for token in sorted(counter):
        yield token.encode("utf-8") + b"\0" + counter[token].to_bytes(8, "big")
