"""Raw text -> a corpus: sentences of tokens without duplicates, shuffled shards, and held-out text by whole documents.

Two sorts on disk (`spilled_sort.py`) do it in bounded memory: by sentence, so that equal ones meet (they themselves are
compared, no hashes, so none is dropped by accident); then by a random number, which is a shuffle of the whole corpus.
The order and the choice of documents follow from the seed and the place in the input alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import lzma
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from elmokit import __version__
from elmokit.corpus.external_sort import MEMORY_BYTES, ExternalSort, temporary_folder
from elmokit.corpus.manifest import Amount, CorpusFile, CorpusManifest, Source, sha256
from elmokit.corpus.raw_text import SentenceTokenizer, documents, keep_spelling, morphemes, script_share
from elmokit.model.formats.folder import new_folder
from elmokit.system.files import atomic_write
from elmokit.system.progress import progress_bar
from elmokit.text.tokenizer import split_sentences, tokenize

HELD_OUT_FILE = "heldout.txt.xz"
TOO_SHORT, TOO_LONG, OTHER_SCRIPT = "too short", "too long", "in another script"
DUPLICATE, HELD_OUT_TOO = "duplicates", "held out elsewhere"

# The thresholds of data/en (ASCII letters) and of the Wikipedia in data/ko (Hangul syllables).
_SCRIPTS = {"en": (re.compile(r"[A-Za-z]"), 0.55), "ko": (re.compile(r"[가-힣]"), 0.6)}


@dataclass(frozen=True)
class Preparation:
    """How raw text becomes a corpus. The limits of length are those of the bundled English model's corpus."""

    language: str = "other"
    """en and ko drop sentences of which less than 55 % is ASCII letters, or 60 % Hangul; other drops none."""
    unit: str = "eojeol"
    """Of Korean: eojeol (as it is spaced, punctuation split) or morphemes (Kiwi's). Other text is split into words."""
    nfc: bool = True
    """False keeps composed and decomposed characters as the raw text spells them."""
    min_tokens: int = 4
    """Of a sentence; shorter ones are dropped."""
    max_tokens: int = 100
    """Of a sentence; longer ones are dropped."""
    keep_duplicates: bool = False
    """True keeps sentences that occurred before, unless they are held out."""
    held_out: float = 0.005
    """Share of the documents, drawn at random; at least one document, unless it is 0."""
    seed: int = 0
    """Of the shuffle and the draw."""
    shard_megabytes: float = 40.0
    """Text of a shard, in 10^6 bytes before compression."""

    def __post_init__(self) -> None:
        for name, choices in (("language", ("en", "ko", "other")), ("unit", ("eojeol", "morphemes"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(choices)}")
        if self.unit == "morphemes" and self.language != "ko":
            raise ValueError(f"morphemes are for Korean, the language is {self.language}; say --language ko")
        if self.unit == "morphemes" and not self.nfc:
            raise ValueError("the analyser of morphemes reads NFC; leave out --no-nfc or take --unit eojeol")
        if not 1 <= self.min_tokens <= self.max_tokens:
            raise ValueError(
                f"sentences of {self.min_tokens} to {self.max_tokens} tokens are asked for; "
                "expected at least 1, and the maximum not below the minimum"
            )
        if not 0 <= self.held_out < 1:
            raise ValueError(
                f"the held-out share is {self.held_out:g}; expected at least 0 and below 1 (0.5% is 0.005)"
            )
        if not self.shard_megabytes > 0:
            raise ValueError(f"a shard of {self.shard_megabytes:g} megabytes; expected more than 0")


def prepare(
    raw: Sequence[Path], folder: Path, how: Preparation | None = None, *, memory_bytes: int = MEMORY_BYTES
) -> CorpusManifest:
    """Write `train-00000.txt.xz` ..., `heldout.txt.xz`, `MANIFEST.md` and `manifest.json` of raw text files.

    raw: UTF-8, plain, gzip or xz. A blank line or the end of a file ends a document; a single line end is a space.
    folder: new; it is there as a whole or not at all. memory_bytes: of sentences in memory, about; changes no result.

    A sentence of a held-out document is nowhere in the shards: where a training document has it too, it is dropped
    there. Needs room on the disk for about three times the text. Raises ValueError for malformed UTF-8, naming file
    and line, and when nothing is left to train on; FileExistsError when the folder is there.
    """
    how = how or Preparation()
    for path in raw:
        if not path.is_file():
            raise FileNotFoundError(f"{path}: there is no such file; expected raw text (.txt, .gz or .xz)")
    if not raw:
        raise ValueError("no raw text was given; expected at least one file")
    tokenizer = _tokenizer(how)
    with new_folder(folder) as staging:
        with temporary_folder(staging / "corpus") as sorting:
            found = _Sentences(how, ExternalSort(sorting, memory_bytes=memory_bytes // 2))
            sources = [found.read(index, path, tokenizer) for index, path in enumerate(raw)]
            shuffled = ExternalSort(sorting, memory_bytes=memory_bytes // 2)
            for record in found.without_duplicates():
                shuffled.add(record)
            held_out, shards = _write_corpus(staging, shuffled, shard_bytes=round(how.shard_megabytes * 1e6))
        if not shards:
            raise ValueError(_nothing_left(found))
        manifest = CorpusManifest(
            made_by=f"elmokit {__version__}",
            options=dataclasses.asdict(how),
            sources=sources,
            dropped=found.dropped,
            held_out_documents=found.num_held_out_documents,
            held_out=held_out,
            shards=shards,
        )
        for name, text in (("MANIFEST.md", manifest.markdown()), ("manifest.json", manifest.to_json())):
            with atomic_write(staging / name) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
    return manifest


class _Sentences:
    """All sentences that may stay, sorted on disk; each knows its place in the input and its document's random number.

    A record is the sentence, NUL (which sorts before everything), the document's number, the place: of equal sentences,
    those of held-out documents, which have the lowest numbers, come first.
    """

    def __init__(self, how: Preparation, records: ExternalSort) -> None:
        self.dropped = {reason: Amount() for reason in (TOO_SHORT, TOO_LONG, OTHER_SCRIPT, DUPLICATE, HELD_OUT_TOO)}
        self.num_documents = 0
        """With at least one sentence that may stay."""
        self.num_held_out_documents = 0
        self._how = how
        self._records = records
        self._place = 0
        self._first_to_train = round(how.held_out * 2**64)
        self._lowest = 2**64

    def read(self, index: int, path: Path, tokenizer: SentenceTokenizer) -> Source:
        """Take in the sentences of the `index`-th raw file."""
        found = Amount()
        num_documents = num_with_sentences = -1
        with progress_bar(unit=" sentences", label=path.name) as bar:
            for number, text in documents(path):
                num_documents = number
                key = _random_number(self._how.seed, "document", index, number)
                for sentence in split_sentences(text):
                    tokens = tokenizer(sentence)
                    if not tokens:
                        continue
                    found.add(len(tokens))
                    bar.update()
                    if reason := self._why_not(sentence, tokens):
                        self.dropped[reason].add(len(tokens))
                        continue
                    if num_with_sentences != number:
                        num_with_sentences = number
                        self._count_document(key)
                    self._add(tokens, key)
        return Source(
            path=os.fspath(path),
            bytes=path.stat().st_size,
            sha256=sha256(path),
            documents=num_documents + 1,
            sentences=found.sentences,
            tokens=found.tokens,
        )

    def without_duplicates(self) -> Iterator[bytes]:
        """Records to shuffle: 0, the place and the sentence; or 1, a random number, the place and the sentence."""
        first_to_train = self._first_to_train
        if self._how.held_out and not self.num_held_out_documents:
            first_to_train, self.num_held_out_documents = self._lowest + 1, 1
            if self.num_documents == 1:
                raise ValueError(
                    "the raw text is one document, and held-out text is whole documents; separate documents by blank "
                    "lines, give several files, or say --held-out 0"
                )
        for sentence, records in groupby(self._records, key=lambda record: record[:-17]):
            num_tokens = sentence.count(b" ") + 1
            kept_to_train = kept_out = False
            for record in records:
                place = record[-8:]
                if int.from_bytes(record[-16:-8], "big") < first_to_train:
                    if kept_out and not self._how.keep_duplicates:
                        self.dropped[DUPLICATE].add(num_tokens)
                        continue
                    kept_out = True
                    yield b"\0" + place + sentence
                elif kept_out:
                    self.dropped[HELD_OUT_TOO].add(num_tokens)
                elif kept_to_train and not self._how.keep_duplicates:
                    self.dropped[DUPLICATE].add(num_tokens)
                else:
                    kept_to_train = True
                    number = _random_number(self._how.seed, "sentence", int.from_bytes(place, "big"))
                    yield b"\1" + number.to_bytes(8, "big") + place + sentence

    def _why_not(self, sentence: str, tokens: list[str]) -> str | None:
        if len(tokens) < self._how.min_tokens:
            return TOO_SHORT
        if len(tokens) > self._how.max_tokens:
            return TOO_LONG
        if self._how.language in _SCRIPTS:
            script, least = _SCRIPTS[self._how.language]
            if script_share(sentence, script) < least:
                return OTHER_SCRIPT
        return None

    def _count_document(self, key: int) -> None:
        self.num_documents += 1
        self.num_held_out_documents += key < self._first_to_train
        self._lowest = min(self._lowest, key)

    def _add(self, tokens: list[str], key: int) -> None:
        text = " ".join(tokens).encode("utf-8")
        self._records.add(text + b"\0" + key.to_bytes(8, "big") + self._place.to_bytes(8, "big"))
        self._place += 1


def _tokenizer(how: Preparation) -> SentenceTokenizer:
    if how.unit == "morphemes":
        return morphemes()
    return tokenize if how.nfc else keep_spelling


def _random_number(seed: int, *place: str | int) -> int:
    """Uniform below 2^64, of the seed and the place alone."""
    text = "/".join(map(str, (seed, *place)))
    return int.from_bytes(hashlib.blake2b(text.encode("ascii"), digest_size=8).digest(), "big")


def _write_corpus(
    folder: Path, records: ExternalSort, *, shard_bytes: int
) -> tuple[CorpusFile | None, list[CorpusFile]]:
    held_out: CorpusFile | None = None
    shards: list[CorpusFile] = []
    for to_train, group in groupby(records, key=lambda record: record[0]):
        lines = (record[17 if to_train else 9 :] + b"\n" for record in group)
        if not to_train:
            held_out, _ = _write_file(folder / HELD_OUT_FILE, next(lines), lines, limit=sys.maxsize)
            continue
        line = next(lines, None)
        while line is not None:
            file, line = _write_file(folder / f"train-{len(shards):05}.txt.xz", line, lines, limit=shard_bytes)
            shards.append(file)
    return held_out, shards


def _write_file(path: Path, first: bytes, lines: Iterator[bytes], *, limit: int) -> tuple[CorpusFile, bytes | None]:
    """Write `first` and what follows, up to `limit` bytes; returns the file and the line that did not fit any more."""
    amount = Amount()
    size = 0
    line: bytes | None = first
    with atomic_write(path) as unfinished, lzma.open(unfinished, "wb") as packed:
        while line is not None and (size == 0 or size + len(line) <= limit):
            packed.write(line)
            size += len(line)
            amount.add(line.count(b" ") + 1)
            line = next(lines, None)
    return CorpusFile(path.name, amount.sentences, amount.tokens, path.stat().st_size, sha256(path)), line


def _nothing_left(found: _Sentences) -> str:
    reasons = [f"{amount.sentences:,} {reason}" for reason, amount in found.dropped.items() if amount.sentences]
    if not found.num_documents and not reasons:
        return "the raw text holds no sentence at all"
    held_out = f"; {found.num_held_out_documents:,} of {found.num_documents:,} documents are held out"
    return f"no sentence is left to train on; dropped: {', '.join(reasons) or 'none'}{held_out}"
