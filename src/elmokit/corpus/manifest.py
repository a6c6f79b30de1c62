"""The manifest of a prepared corpus: what came in, what was dropped and why, what was written; as JSON and Markdown."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.text.markdown import markdown_table

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Source:
    """A raw file; `sentences` and `tokens` are all that were found in it."""

    path: str
    bytes: int
    sha256: str
    documents: int
    sentences: int
    tokens: int


@dataclass
class Amount:
    """So many sentences, of so many tokens."""

    sentences: int = 0
    tokens: int = 0

    def add(self, num_tokens: int) -> None:
        self.sentences += 1
        self.tokens += num_tokens


@dataclass(frozen=True)
class CorpusFile:
    """A file of the corpus; `bytes` and `sha256` as it lies on disk."""

    name: str
    sentences: int
    tokens: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class CorpusManifest:
    """The sentences of all sources are those that were dropped, held out and kept for training; so are the tokens."""

    made_by: str
    options: Mapping[str, object]
    sources: list[Source]
    dropped: dict[str, Amount]
    """By reason."""
    held_out_documents: int
    held_out: CorpusFile | None
    shards: list[CorpusFile]

    @property
    def train(self) -> Amount:
        return Amount(sum(shard.sentences for shard in self.shards), sum(shard.tokens for shard in self.shards))

    def to_json(self) -> str:
        record = {"format": "elmokit corpus", "version": 1, **dataclasses.asdict(self)}
        return json.dumps(record, indent=2, ensure_ascii=False) + "\n"

    def text(self) -> str:
        """A few lines for people."""
        lines = [
            f"{'read':24}{_count(self.sources)} in {sum(source.documents for source in self.sources):,} documents",
            *(f"{reason:24}{_count([amount])}" for reason, amount in self.dropped.items() if amount.sentences),
            f"{'training':24}{_count(self.shards)} in {_plural(len(self.shards), 'shard')}",
        ]
        if self.held_out:
            documents = _plural(self.held_out_documents, "document")
            lines.append(f"{'held out':24}{_count([self.held_out])} of {documents}")
        return "\n".join(lines)

    def markdown(self) -> str:
        """MANIFEST.md."""
        files = [*self.shards, *([self.held_out] if self.held_out else [])]
        total = self.train
        return "\n".join(
            [
                "# Corpus",
                "",
                f"{total.sentences:,} sentences, {total.tokens:,} tokens to train on, shuffled, "
                f"in {_plural(len(self.shards), 'shard')}. {self._about_held_out()}",
                "",
                "One sentence a line, one space between tokens. Where the texts are from, and their licences, only you "
                "know: write it here.",
                "",
                "## What came in",
                "",
                _table(
                    ("file", "bytes", "documents", "sentences", "tokens", "SHA-256"),
                    [(s.path, s.bytes, s.documents, s.sentences, s.tokens, s.sha256) for s in self.sources],
                ),
                "",
                "## What was dropped",
                "",
                _table(
                    ("why", "sentences", "tokens"),
                    [(reason, amount.sentences, amount.tokens) for reason, amount in self.dropped.items()],
                ),
                "",
                "## Files",
                "",
                _table(
                    ("file", "sentences", "tokens", "bytes", "SHA-256"),
                    [(file.name, file.sentences, file.tokens, file.bytes, file.sha256) for file in files],
                ),
                "",
                "## How it was made",
                "",
                f"By `elmokit prepare` ({self.made_by}). The same files and options make the same corpus.",
                "",
                markdown_table(
                    ("option", "value"), [(name, str(value)) for name, value in self.options.items()], num_names=2
                ),
                "",
            ]
        )

    def _about_held_out(self) -> str:
        if not self.held_out:
            return "Nothing is held out."
        return (
            f"Held out: {self.held_out.sentences:,} sentences, {self.held_out.tokens:,} tokens of "
            f"{_plural(self.held_out_documents, 'whole document')}, in their order; "
            "none of these sentences is in a shard."
        )


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _count(parts: list[Source] | list[CorpusFile] | list[Amount]) -> str:
    return f"{sum(p.sentences for p in parts):>12,} sentences {sum(p.tokens for p in parts):>14,} tokens"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _table(header: tuple[str, ...], rows: list[tuple[str | int, ...]]) -> str:
    """With thousands separators in the numbers."""
    return markdown_table(header, [[cell if isinstance(cell, str) else f"{cell:,}" for cell in row] for row in rows])
