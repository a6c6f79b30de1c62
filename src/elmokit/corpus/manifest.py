"""The folder that `prepare` writes. Its manifest records how much text was read, dropped and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.files.json import as_type, read_json
from elmokit.system.messages import FormatError, plural

HELD_OUT_FILE, MANIFEST_NAME = "heldout.txt.xz", "manifest.json"
TOO_LONG = "too long"
MIN_HELD_OUT_TOKENS = 5_000
"""The loss of a token has a standard deviation of about 3.4 nats (`mini-en`, 3,791 tokens of news). On this many
tokens, perplexity therefore has a standard error of about 5 %."""

MOST_TOO_LONG = 0.05
"""Warn if a larger share of the tokens is dropped in long sentences. In classical Latin verse, it is 0.28."""
MOST_BROKEN = 0.001
"""Warn if words broken at line ends are a larger share of the tokens. In any book, a few compounds are broken."""
_MAX_MANIFEST_BYTES = 1 << 28


def is_corpus(path: Path) -> bool:
    """Whether a path is a folder that `prepare` wrote."""
    return (path / MANIFEST_NAME).is_file()


def is_held_out_file(path: Path) -> bool:
    """Whether a path is the held-out text of a folder that `prepare` wrote."""
    return path.name == HELD_OUT_FILE and is_corpus(path.parent)


def training_files(path: Path) -> list[Path]:
    """The shards of a folder that `prepare` wrote. Any other path counts as one file of text, and is returned.

    Raises FileNotFoundError for a shard that the manifest lists but the folder lacks.
    """
    return _listed(path, "shards", list[CorpusFile]) if is_corpus(path) else [path]


def held_out_file(path: Path) -> Path:
    """The held-out text of a folder that `prepare` wrote. Any other path counts as one file of text, and is returned.

    Raises ValueError if nothing was held out, and FileNotFoundError if the file is missing.
    """
    if not is_corpus(path):
        return path
    found = _listed(path, "held_out", CorpusFile | None)
    if not found:
        raise ValueError(f"{path} has no held-out text; prepare it with --held-out 0.5%, or give a text file")
    return found[0]


def _listed(folder: Path, part: str, kind: Any) -> list[Path]:
    """The files that a part of the manifest lists."""
    manifest = folder / MANIFEST_NAME
    value = read_json(manifest, max_bytes=_MAX_MANIFEST_BYTES).get(part)
    files: list[CorpusFile] | CorpusFile | None = as_type(value, kind, where=manifest, part=part)
    names = [file.name for file in (files if isinstance(files, list) else [files] if files else [])]
    for name in names:
        if Path(name).name != name:
            raise FormatError(manifest, f"lists {name!r}; expected the name of a file in its folder", part=part)
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder / name} is missing, but {MANIFEST_NAME} lists it; copy the whole folder")
    return [folder / name for name in names]


@dataclass(frozen=True)
class Source:
    """A raw text file. `sentences` and `tokens` count everything in it, before anything was dropped."""

    path: str
    bytes: int
    sha256: str
    documents: int
    sentences: int
    tokens: int


@dataclass
class Amount:
    """A number of sentences and of their tokens."""

    sentences: int = 0
    tokens: int = 0

    def add(self, num_tokens: int) -> None:
        self.sentences += 1
        self.tokens += num_tokens


@dataclass(frozen=True)
class ExcludedText:
    """A file of evaluation data, and the sentences that were dropped because they share a passage with it.

    If a sentence shares passages with several files, it counts for the file of the first passage that was found.
    """

    path: str
    sha256: str
    dropped: Amount


@dataclass(frozen=True)
class CorpusFile:
    """A file of the corpus. `bytes` and `sha256` describe the compressed file on disk."""

    name: str
    sentences: int
    tokens: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class CorpusManifest:
    """A record of `prepare`. Sentences (and tokens) over all sources = dropped + held out + training."""

    made_by: str
    options: Mapping[str, object]
    sources: list[Source]
    dropped: dict[str, Amount]
    """What was dropped, by reason."""
    excluded: list[ExcludedText]
    held_out_documents: int
    held_out: CorpusFile | None
    shards: list[CorpusFile]
    broken_words: int = 0
    """Words broken by a hyphen at a line end."""
    joined_words: int = 0
    """How many of these were joined (`join_hyphens`)."""
    marked_up: int = 0
    """Sentences that passed the filters although they contain tags, entities, wiki links or damaged letters."""

    @property
    def train(self) -> Amount:
        """Sentences and tokens of all shards."""
        return Amount(sum(shard.sentences for shard in self.shards), sum(shard.tokens for shard in self.shards))

    @property
    def share_held_out(self) -> float:
        """Tokens of the held-out text, as a share of all tokens that were kept."""
        num_held_out = self.held_out.tokens if self.held_out else 0
        return num_held_out / (num_held_out + self.train.tokens)

    def warnings(self) -> list[str]:
        """What is wrong with the corpus, as messages for the user."""
        warnings: list[str] = []
        if self.held_out is not None and self.held_out.tokens < MIN_HELD_OUT_TOKENS:
            warnings.append(
                f"only {self.held_out.tokens:,} tokens are held out; perplexities measured on fewer than "
                f"{MIN_HELD_OUT_TOKENS:,} vary by chance: hold out a larger share of the documents"
            )
        if self.marked_up * 1000 > self.train.sentences:
            warnings.append(
                f"markup (<doc ...>, &quot;, [[...]]) or letters damaged by a wrong encoding (Ã¶) are left in "
                f"{plural(self.marked_up, 'sentence')}, and models would learn them: clean the raw text first"
            )
        num_tokens = sum(source.tokens for source in self.sources)
        if not self.options.get("join_hyphens") and self.broken_words > max(2, MOST_BROKEN * num_tokens):
            warnings.append(
                f"{self.broken_words:,} words seem to be broken by a hyphen at a line end, and models would learn "
                "their pieces; use --join-hyphens (join_hyphens=True) to join words that also occur unbroken"
            )
        share = self.dropped[TOO_LONG].tokens / num_tokens
        if share > MOST_TOO_LONG:
            warnings.append(
                f"{share:.0%} of the tokens are dropped, because their sentences have more than "
                f"{self.options['max_tokens']} tokens: keep them with --max-tokens 1000 (max_tokens=1000); if "
                "sentences have no mark at their end, put a blank line after each, or use --lines"
            )
        if not self.options.get("nfc", True):
            warnings.append(
                "the corpus keeps decomposed characters (--no-nfc, or nfc=False), but --tokenize and Elmo.encode "
                "compose the characters of raw text: give models trained on it tokens spelt as in the corpus"
            )
        return warnings
