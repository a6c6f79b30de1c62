"""Raw text -> a corpus: shuffled shards of tokenised sentences without duplicates, and whole held-out documents.

Two external sorts do this in bounded memory. The first sorts by sentence, which brings duplicates together (it compares
sentences, not hashes, so no sentence is dropped by accident). The second sorts by a random number, which shuffles the
whole corpus. Order and held-out documents depend only on the seed and on positions in the input.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import lzma
import math
import os
import re
import struct
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from pathlib import Path

from elmokit.corpus.exclusion import Exclusion, SentenceTokenizer
from elmokit.corpus.external_sort import MEMORY_BYTES, ExternalSort
from elmokit.corpus.manifest import (
    HELD_OUT_FILE,
    MANIFEST_NAME,
    TOO_LONG,
    Amount,
    CorpusFile,
    CorpusManifest,
    ExcludedText,
    Source,
)
from elmokit.files.atomic import as_paths, atomic_write, check_names, new_folder, temporary_folder, write_text
from elmokit.files.lines import check_inputs, check_texts, is_read_once
from elmokit.runs.settings import check_bounds, check_choices
from elmokit.system.messages import join_names, printable, warn_caller
from elmokit.system.optional import require
from elmokit.system.paths import expanded, file_digest
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.text.alignment import token_offsets
from elmokit.text.broken_words import BrokenWords, find_broken_words, num_broken_words
from elmokit.text.plain_text import DAMAGED, LATEX, MARKER, is_wrapped
from elmokit.text.sentence_lines import column_rows, prose_lines, read_raw_documents
from elmokit.text.tokenizer import HANGUL, INVISIBLE, PLAIN_MARKS, split_sentences, tokenize, without_invisible
from elmokit.version import __version__

TOO_SHORT, OTHER_SCRIPT = "too short", "in another script"
EXCLUDED = "in excluded texts"
DUPLICATE, HELD_OUT_TOO = "duplicates", "held out elsewhere"
_REASONS = (TOO_SHORT, TOO_LONG, OTHER_SCRIPT, EXCLUDED, DUPLICATE, HELD_OUT_TOO)

# The thresholds of the bundled models' corpora: ASCII letters in English, Hangul in Korean text.
_SCRIPTS = {"en": (re.compile(r"[A-Za-z]"), 0.55), "ko": (re.compile(f"[{HANGUL}]"), 0.6)}

# from HTML, XML, wikis and LaTeX
_MARKUP = re.compile(rf"</?[A-Za-z][^<>]*>|&(?:#\d+|[a-z]+);|\{{\||\[\[|{MARKER}|{LATEX}|{DAMAGED}")
_ORIGIN = struct.Struct(">QQ")  # of a sentence: random number of its document, position in the input
_HELD_OUT, _TO_TRAIN = 0, 1
_KEY = struct.Struct(">BQQ")  # _HELD_OUT or _TO_TRAIN, random number, position
_LINES_LOOKED_AT = 100


@dataclass(frozen=True)
class Preparation:
    """Settings of `prepare`. The bundled English model's corpus was made with the default limits on sentence length."""

    language: str = "other"
    """`en` drops sentences with less than 55 % ASCII letters, `ko` those with less than 60 % Hangul; `other` none."""
    unit: str = "eojeol"
    """Tokens of Korean: `eojeol` (split at spaces and punctuation) or `morphemes` (by Kiwi). Ignored in other text."""
    nfc: bool = True
    """Whether to normalise to NFC; False keeps composed and decomposed characters as in the raw text."""
    min_tokens: int = 4
    """Sentences with fewer tokens are dropped."""
    max_tokens: int = 100
    """Sentences with more tokens are dropped."""
    keep_duplicates: bool = False
    """Whether to keep repeated sentences (but never a held-out sentence in the training text)."""
    held_out: float = 0.005
    """Share of the documents to hold out, drawn at random; unless it is 0, at least one document is held out."""
    seed: int = 0
    """Seed of the shuffle and of the choice of held-out documents."""
    shard_megabytes: float = 40.0
    """Size of a shard's text, in 10^6 bytes before compression."""
    join_hyphens: bool = False
    """Whether to join words broken by a hyphen at a line end, if they occur unbroken elsewhere in the text."""
    exclude: tuple[str, ...] = ()
    """Files of evaluation data: sentences that share `exclude_words` successive words with one of them are dropped."""
    exclude_words: int = 10
    """Number of successive words, without regard to case and punctuation, that count as shared."""
    column: str | None = None
    """Column of JSON lines or of tables with tabs or commas, or `form` in CoNLL-U. Each text in it is a document.

    If it has tokens (CoNLL-U, lists in JSON), each list is a sentence, and its tokens stay unchanged.
    """
    lines: bool = False
    """Whether each line is a document, such as a review. Otherwise blank lines end documents."""
    document_per_file: bool = False
    """Whether each file is one document, so that whole files are held out. Blank lines still end sentences."""
    as_text: bool = False
    """Whether to read files as text, even if they look like something else, such as a table."""

    def __post_init__(self) -> None:
        check_choices(self, {"language": ("en", "ko", "other"), "unit": ("eojeol", "morphemes")})
        if self.unit == "morphemes" and (self.language != "ko" or not self.nfc):
            raise ValueError(
                "morphemes need Korean in NFC; use --language ko without --no-nfc, or language='ko' with nfc=True"
            )
        if self.lines and self.column is not None:
            raise ValueError(f"lines and column ({self.column!r}) are both given; expected only one of them")
        if self.join_hyphens and (self.lines or self.column is not None):
            given = "lines" if self.lines else f"the texts in column {self.column!r}"
            raise ValueError(f"{given} are read one by one, so broken words cannot be joined; leave out join_hyphens")
        if not 1 <= self.min_tokens <= self.max_tokens:
            limits = f"min_tokens is {self.min_tokens} and max_tokens {self.max_tokens}"
            raise ValueError(f"{limits}; expected a minimum of at least 1, and a maximum not below it")
        if not 0 <= self.held_out < 1:
            raise ValueError(
                f"the held-out share is {self.held_out:g}; expected at least 0 and less than 1 (0.5% is 0.005)"
            )
        check_bounds(self, positive=("exclude_words",))
        if not 0 < self.shard_megabytes * 1e6 < math.inf:
            raise ValueError(f"shard_megabytes is {self.shard_megabytes:g}; expected a number above 0")


def prepare(
    raw: Iterable[str | Path],
    folder: str | Path,
    options: Preparation | None = None,
    *,
    memory_bytes: int = MEMORY_BYTES,
) -> CorpusManifest:
    """Write a corpus from raw text: `train-00000.txt.xz` ..., `heldout.txt.xz` and `manifest.json`.

    raw: UTF-8 files, plain or compressed. A blank line or the end of a file ends a document; a single line end
        counts as a space. A different order of the files gives a different corpus.
    folder: the new folder. It is written completely or not at all.
    options: by default `Preparation()`.
    memory_bytes: approximate limit for sentences in memory; it does not change the result.

    No sentence of a held-out document occurs in the shards: if a training document also has it, it is dropped there.
    This needs about three times the size of the text on disk. Raises ValueError for malformed UTF-8, naming file and
    line, for a file name that is not UTF-8, and if nothing is left to train on or an excluded file has no text.
    Raises FileExistsError if the folder exists.
    """
    raw, folder, options = as_paths(raw), expanded(folder), options or Preparation()
    options = replace(options, exclude=tuple(os.fspath(expanded(path)) for path in options.exclude))
    if not raw:
        raise ValueError("no raw text was given; expected at least one file")
    for path in (*raw, *options.exclude):
        if is_read_once(path):  # once for its text, and once for its checksum in the manifest
            raise ValueError(f"{path} is a pipe or standard input, but it is read twice; write it to a file first")
    check_inputs(*raw, *options.exclude)
    check_names(*raw, *options.exclude)  # the manifest lists them
    if len(raw) > 1:  # report errors in the last file before hours of work on the others
        check_texts(*raw)
    tokenizer = morphemes() if options.unit == "morphemes" else tokenize if options.nfc else keep_spelling
    broken = find_broken_words(raw, as_text=options.as_text) if options.join_hyphens else BrokenWords({})
    with new_folder(folder) as staging:
        with temporary_folder(staging / "corpus") as sorting:
            found = _Sentences(options, tokenizer, broken, ExternalSort(sorting, memory_bytes=memory_bytes // 2))
            sources = [found.read(index, path) for index, path in enumerate(raw)]
            shuffled = ExternalSort(sorting, memory_bytes=memory_bytes // 2)
            for record in found.without_duplicates():
                shuffled.add(record)
            held_out, shards = _write_corpus(staging, shuffled, shard_bytes=round(options.shard_megabytes * 1e6))
        if not shards:
            raise ValueError(f"{join_names(map(os.fspath, raw))}: {_nothing_left(found)}")
        manifest = CorpusManifest(
            made_by=f"elmokit {__version__}",
            options=dataclasses.asdict(options),
            sources=sources,
            dropped=found.dropped,
            excluded=found.excluded,
            held_out_documents=found.num_held_out_documents,
            held_out=held_out,
            shards=shards,
            broken_words=broken.num_found if options.join_hyphens else found.num_broken_words,
            joined_words=broken.num_joined,
            marked_up=found.num_marked_up,
        )
        contents = {"format": "elmokit corpus", "version": 1, **dataclasses.asdict(manifest)}
        write_text(staging / MANIFEST_NAME, json.dumps(contents, indent=2, ensure_ascii=False) + "\n")
    return manifest


def keep_spelling(sentence: str) -> list[str]:
    """The tokens of `tokenize`, but with characters composed or decomposed as in the sentence."""
    tokens = tokenize(sentence)
    if unicodedata.is_normalized("NFC", sentence):
        return tokens
    offsets = token_offsets(sentence, tokens)
    return [_spelt(token, sentence[start:end]) for token, (start, end) in zip(tokens, offsets, strict=True)]


def _spelt(token: str, text: str) -> str:
    """A token's text, unchanged or with plain marks, if it differs from the token only in composition."""
    written = INVISIBLE.sub("", text)
    plain = written.replace("\u2013", "-").translate(PLAIN_MARKS)
    return next((one for one in (written, plain) if unicodedata.normalize("NFC", one) == token), token)


def morphemes() -> SentenceTokenizer:
    """A tokenizer that splits Korean into morphemes with Kiwi. Raises ValueError when kiwipiepy is not installed."""
    kiwi = require("kiwipiepy", extra="kiwi", purpose="splitting Korean into morphemes").Kiwi()

    def morphemes_of(sentence: str) -> list[str]:
        text = " ".join(without_invisible(sentence).split())
        return [part for token in kiwi.tokenize(text) for part in token.form.split()]

    return morphemes_of


class _Sentences:
    """All sentences that pass the filters, sorted on disk, with their positions and their documents' random numbers.

    A record is the sentence, NUL (which sorts before everything), the random number of its document, and its position
    in the input. Held-out documents have the lowest random numbers, so they come first among equal sentences.
    """

    def __init__(
        self, options: Preparation, tokenizer: SentenceTokenizer, broken: BrokenWords, records: ExternalSort
    ) -> None:
        excluded = [Path(path) for path in options.exclude]
        self._options = options
        self._tokenizer = tokenizer
        self._broken = broken
        self._records = records
        self._exclusion = Exclusion(excluded, num_words=options.exclude_words, tokenizer=tokenizer)
        self.excluded = [ExcludedText(str(path), file_digest(path, "sha256").hex(), Amount()) for path in excluded]
        self.dropped = {reason: Amount() for reason in _REASONS if reason != EXCLUDED or excluded}
        self.num_documents = 0
        """Number of documents with at least one sentence that passes the filters."""
        self.num_held_out_documents = 0
        self.num_marked_up = 0
        self.num_broken_words = 0
        self.num_kept = 0
        """Number of sentences that pass the filters, with duplicates; the position of the next one."""
        self._first_to_train = round(options.held_out * 2**64)
        self._lowest = 2**64

    def read(self, index: int, path: Path) -> Source:
        """Add the sentences of the `index`-th raw file."""
        found = Amount()
        num_documents = num_with_sentences = -1
        with progress_bar(unit=" sentences", label=printable(path.name)) as bar:
            for num_documents, text in self._documents(path):
                key = _random_number(self._options.seed, "document", index, num_documents)
                for sentence, tokens in self._tokenised(text, path):
                    if not tokens:
                        continue
                    found.add(len(tokens))
                    bar.update()
                    if reason := self._why_not(sentence, tokens):
                        self.dropped[reason].add(len(tokens))
                        continue
                    if num_with_sentences != num_documents:
                        num_with_sentences = num_documents
                        self.num_documents += 1
                        self.num_held_out_documents += key < self._first_to_train
                        self._lowest = min(self._lowest, key)
                    self.num_marked_up += _MARKUP.search(sentence) is not None
                    self._records.add(" ".join(tokens).encode() + b"\0" + _ORIGIN.pack(key, self.num_kept))
                    self.num_kept += 1
        sha256 = file_digest(path, "sha256").hex()
        return Source(str(path), path.stat().st_size, sha256, num_documents + 1, found.sentences, found.tokens)

    def _documents(self, path: Path) -> Iterator[tuple[int, str | list[str]]]:
        """Number and text of each document, or the tokens of its only sentence."""
        column, as_text = self._options.column, self._options.as_text
        if column is not None:
            texts = (text for text, _ in column_rows(path, column))
            documents = enumerate(text for text in texts if (text.strip() if isinstance(text, str) else text))
        elif self._options.lines:
            documents = enumerate(line for line in self._lines(path) if line.strip())
        else:
            documents = read_raw_documents(path, as_text=as_text)
        return ((0, text) for _, text in documents) if self._options.document_per_file else documents

    def _lines(self, path: Path) -> Iterator[str]:
        lines = prose_lines(path, as_text=self._options.as_text)
        head = list(islice(lines, _LINES_LOOKED_AT))
        if is_wrapped(head):
            warn_caller(
                f"the lines of {path} look wrapped at a fixed width, but each is read as a document; if it is a book, "
                "leave out --lines (lines=True)"
            )
        return chain(head, lines)

    def _tokenised(self, text: str | list[str], path: Path) -> Iterator[tuple[str, Sequence[str]]]:
        """Text and tokens of each sentence of a document."""
        if isinstance(text, str):
            if self._options.column is None:
                self.num_broken_words += num_broken_words(text)
            for sentence in split_sentences(self._broken.join(text)):
                yield sentence, self._tokenizer(sentence)
        elif self._options.unit == "morphemes":
            raise ValueError(f"{path}: a column of tokens is not split into morphemes; leave out the unit")
        else:
            tokens = [unicodedata.normalize("NFC", token) for token in text] if self._options.nfc else text
            yield " ".join(text), tokens

    def without_duplicates(self) -> Iterator[bytes]:
        """Records to shuffle, each a `_KEY` and a sentence. Held-out records sort first, in the order of the text."""
        options, first_to_train = self._options, self._first_to_train
        if options.held_out and self.num_documents and not self.num_held_out_documents:
            first_to_train, self.num_held_out_documents = self._lowest + 1, 1
            if self.num_documents == 1:
                raise ValueError(
                    "the raw text is a single document, so no whole document can be held out; separate "
                    "documents by blank lines, pass several files, use --held-out 0 (held_out=0), or, if each line is "
                    "a text, use --lines (lines=True)"
                )
        bar = progress_bar(unit=" sentences", total=self.num_kept, label="sorting", keep=False)
        by_sentence = groupby(counted(self._records, bar), key=lambda record: record[: -len(b"\0") - _ORIGIN.size])
        for sentence, records in by_sentence:
            kept: int | None = None
            for record in records:
                key, position = _ORIGIN.unpack(record[-_ORIGIN.size :])
                part = _HELD_OUT if key < first_to_train else _TO_TRAIN
                if kept is not None and (part != kept or not options.keep_duplicates):
                    self.dropped[DUPLICATE if part == kept else HELD_OUT_TOO].add(sentence.count(b" ") + 1)
                    continue
                kept = part
                number = _random_number(options.seed, "sentence", position) if part == _TO_TRAIN else 0
                yield _KEY.pack(part, number, position) + sentence

    def _why_not(self, sentence: str, tokens: Sequence[str]) -> str | None:
        if len(tokens) < self._options.min_tokens:
            return TOO_SHORT
        if len(tokens) > self._options.max_tokens:
            return TOO_LONG
        if self._options.language in _SCRIPTS:
            script, min_share = _SCRIPTS[self._options.language]
            visible = "".join(unicodedata.normalize("NFC", sentence).split())
            if len(script.findall(visible)) / len(visible) < min_share:
                return OTHER_SCRIPT
        file = self._exclusion.find(tokens) if self.excluded else None
        if file is not None:
            self.excluded[file].dropped.add(len(tokens))
            return EXCLUDED
        return None


def _random_number(seed: int, *path: str | int) -> int:
    """Uniform number below 2^64 that depends only on the seed and the path."""
    text = "/".join(map(str, (seed, *path)))
    return int.from_bytes(hashlib.blake2b(text.encode("ascii"), digest_size=8).digest(), "big")


def _write_corpus(
    folder: Path, records: Iterable[bytes], *, shard_bytes: int
) -> tuple[CorpusFile | None, list[CorpusFile]]:
    files: list[CorpusFile] = []
    for name, lines in groupby(_placed(records, shard_bytes=shard_bytes), key=lambda placed: placed[0]):
        path, amount = folder / name, Amount()
        with atomic_write(path) as unfinished, lzma.open(unfinished, "wb") as packed:
            for _, line in lines:
                packed.write(line)
                amount.add(line.count(b" ") + 1)
        sha256 = file_digest(path, "sha256").hex()
        files.append(CorpusFile(name, amount.sentences, amount.tokens, path.stat().st_size, sha256))
    held_out = files.pop(0) if files and files[0].name == HELD_OUT_FILE else None
    return held_out, files


def _placed(records: Iterable[bytes], *, shard_bytes: int) -> Iterator[tuple[str, bytes]]:
    """The file name for each line, and the line. A progress bar counts them: compressing takes longer than sorting."""
    number = size = 0
    for record in counted(records, progress_bar(unit=" sentences", label="writing", keep=False, scale=True)):
        line = record[_KEY.size :] + b"\n"
        if record[0] == _HELD_OUT:
            yield HELD_OUT_FILE, line
            continue
        if size and size + len(line) > shard_bytes:
            number, size = number + 1, 0
        size += len(line)
        yield f"train-{number:05}.txt.xz", line


def _nothing_left(found: _Sentences) -> str:
    reasons = [f"{amount.sentences:,} {reason}" for reason, amount in found.dropped.items() if amount.sentences]
    if not found.num_documents and not reasons:
        return "the raw text has no sentences; expected UTF-8 text (plain, .gz, .bz2 or .xz)"
    advice = ""
    if found.dropped[TOO_LONG].sentences:
        advice = (
            "; end sentences by blank lines, keep longer ones (--max-tokens N, or max_tokens=N), or, if each line is a "
            "text, use --lines (lines=True)"
        )
    held_out = f"{found.num_held_out_documents:,} of {found.num_documents:,} documents are held out"
    return f"no sentence is left to train on; dropped: {', '.join(reasons) or 'none'}; {held_out}{advice}"
