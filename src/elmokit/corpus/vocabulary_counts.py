"""Corpus shards -> a vocabulary, most frequent tokens first, from exact counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from elmokit.corpus.manifest import HELD_OUT_FILE, MANIFEST_NAME, training_files
from elmokit.corpus.stream import SentenceStream
from elmokit.files.atomic import as_paths, atomic_write, check_is_not_input
from elmokit.files.lines import check_texts
from elmokit.system.paths import expanded
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, num_truncated
from elmokit.text.vocabulary import SPECIALS


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
    """Number of tokens over 48 bytes. At 50 characters (48 and two word boundaries), they lose their ends."""
    rarest_count: int
    """Count of the rarest type in the vocabulary."""

    @property
    def coverage(self) -> float:
        """Share, from 0 to 1, of the tokens of the text that are in the vocabulary."""
        return self.num_known_tokens / self.num_tokens


def write_vocabulary(
    shards: Iterable[str | Path],
    path: str | Path,
    *,
    min_count: int = 1,
    max_size: int | None = None,
    as_text: bool = False,
) -> VocabularySummary:
    """Write the vocabulary of text: `<S>`, `</S>`, `<UNK>`, then tokens by falling count, ties by code point.

    shards: text with one tokenised sentence per line, or a folder from `prepare`, whose held-out text is not read.
    min_count: tokens with a lower count are left out.
    max_size: largest number of lines in the file, including the specials.
    as_text: whether to read files as text, even if they look like something else, such as a table.

    The counts of all types are in memory. The file is written completely or not at all. Raises ValueError for shards
    that have no sentence or are not UTF-8, and if no token is left.
    """
    if min_count < 1:
        raise ValueError(f"the minimum count is {min_count}; expected at least 1")
    if max_size is not None and max_size <= len(SPECIALS):
        raise ValueError(f"the maximum size is {max_size}; expected more than the {len(SPECIALS)} specials")
    corpora, path = as_paths(shards), expanded(path)
    shards = [file for given in corpora for file in training_files(given)]
    check_is_not_input(path, *shards, *(folder / name for folder in corpora for name in (MANIFEST_NAME, HELD_OUT_FILE)))
    if len(shards) > 1:
        check_texts(*shards)
    with atomic_write(path) as unfinished:
        counts: Counter[str] = Counter()
        num_sentences = 0
        sentences = SentenceStream(shards, shuffle=False, num_epochs=1, as_text=as_text, warn=True)
        for sentence in counted(sentences, progress_bar(unit=" sentences", label="counting")):
            num_sentences += 1
            counts.update(sentence)
        tokens = sorted(token for token in counts if token not in SPECIALS)
        tokens.sort(key=counts.__getitem__, reverse=True)  # tokens with the same count stay in their order
        most = None if max_size is None else max_size - len(SPECIALS)
        kept = list(takewhile(lambda token: counts[token] >= min_count, tokens[:most]))
        if not kept:
            raise ValueError(f"no token occurs {min_count:,} times; expected a lower minimum count (--min-count)")
        known = (*kept, BEGIN_SENTENCE, END_SENTENCE)  # `<UNK>` in the text counts as unknown
        with unfinished.open("wb") as file:
            file.writelines(f"{token}\n".encode() for token in (*SPECIALS, *kept))
        return VocabularySummary(
            num_sentences=num_sentences,
            num_tokens=counts.total(),
            num_types=len(tokens),
            num_kept=len(kept),
            num_known_tokens=sum(counts[token] for token in known),
            num_cut_tokens=sum(count * num_truncated([token]) for token, count in counts.items()),
            rarest_count=counts[kept[-1]],
        )
