"""Draws a random sample of each word's uses in a corpus, in one pass and of limited size."""

from __future__ import annotations

import hashlib
import heapq
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from elmokit.analysis.semantic_change.words import spelling
from elmokit.corpus.manifest import is_corpus, training_files
from elmokit.files.lines import STDIN, split_tokens
from elmokit.system.messages import join_names, plural, warn_caller
from elmokit.system.paths import expanded
from elmokit.system.progress_bar import progress_bar
from elmokit.text.sentence_lines import sentence_lines
from elmokit.text.tokenizer import tokenize

TEXT_ENDINGS = (".txt", ".gz", ".bz2", ".xz")
COLUMN_ENDINGS = (".conllu", ".json", ".jsonl", ".tsv", ".csv")


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """A token of a corpus. Uses are sorted in the order of the corpus."""

    file: int
    """Index in the corpus's files."""
    line: int
    """Number of the line from 1; in a column, the number of the text."""
    index: int
    """Index of the token in its sentence."""
    sentence: str
    """The line as it is in the file."""


@dataclass(frozen=True)
class SampledUses:
    """The sampled uses of a word, in the order of the corpus, and how many there are in all."""

    of_forms: dict[str, int]
    """Number of uses of each form of the word."""
    uses: tuple[Use, ...]

    @property
    def total(self) -> int:
        return sum(self.of_forms.values())


@dataclass(frozen=True)
class TextCorpus:
    """Files with one sentence per line."""

    files: tuple[Path, ...]
    raw_text: bool
    """Whether to tokenise the lines; otherwise their tokens are separated by spaces."""
    column: str | None = None
    """Column of JSON lines, of tables with tabs or commas, or `form` of CoNLL-U. Its texts are the lines."""
    as_text: bool = False
    """Whether to read files as text even if they look like something else, such as a table."""

    def split(self, line: str) -> list[str]:
        """Tokens of a line, in NFC, by which words are compared."""
        return tokenize(line) if self.raw_text else split_tokens(unicodedata.normalize("NFC", line))

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """The lines of all files, each with the index of its file and its number there, from 1.

        Warns about the first file that does not look as expected, and at the end about the number of other such files.
        """
        doubts: list[str] = []

        def warn(message: str) -> None:
            if not doubts:
                warn_caller(message)
            doubts.append(message)

        with progress_bar(unit="line", label="reading", keep=False, scale=True) as bar:
            for index, path in enumerate(self.files):
                lines = sentence_lines(
                    path, raw_text=self.raw_text, column=self.column, as_text=self.as_text, warn=warn
                )
                for number, line in enumerate(lines, start=1):
                    yield index, number, line
                    bar.update()
        if len(doubts) > 1:
            warn_caller(f"{self.files[0].parent}: the same warning applies to {plural(len(doubts) - 1, 'more file')}")

    def sentences(self) -> Iterator[list[str]]:
        """The tokens of each line."""
        return (self.split(line) for _, _, line in self.lines())


def open_corpus(
    path: str | Path, *, raw_text: bool = False, column: str | None = None, as_text: bool = False
) -> TextCorpus:
    """Open the files of `corpus_files`. Warns about anything else in a folder, because elmokit does not read it."""
    path = expanded(path)
    files = corpus_files(path, column)
    others = [] if is_corpus(path) else sorted(file.name for file in {*path.glob("[!.]*")} - {*files})
    if others:
        warn_caller(f"files or folders in {path} are not read, {len(others):,} in all: {join_names(others)}")
    return TextCorpus(files, raw_text, column, as_text)


def corpus_files(path: Path, column: str | None = None) -> tuple[Path, ...]:
    """The files of a corpus: one text file (`-`: standard input), or the files of a folder, sorted by name.

    Its files end in .txt, .gz, .bz2 or .xz, and with a column also in .conllu, .json, .jsonl, .tsv or .csv; endings may
    be in capitals. Names that begin with a dot are skipped. For a folder that `elmokit prepare` wrote, the files are
    its training text. Raises FileNotFoundError for a missing file, and ValueError for a folder without such files, or
    with the same file both packed and unpacked.
    """
    if is_corpus(path):
        return tuple(training_files(path))
    if not path.is_dir():
        if not path.exists() and str(path) != STDIN:
            raise FileNotFoundError(f"{path}: there is no such file; expected a corpus, or a folder of text files")
        return (path,)
    inside = (file for file in path.iterdir() if not file.name.startswith("."))  # `._a.txt` of macOS is not text
    endings = TEXT_ENDINGS if column is None else (*TEXT_ENDINGS, *COLUMN_ENDINGS)
    files = tuple(sorted(file for file in inside if file.suffix.lower() in endings and file.is_file()))
    if not files:
        table = f" (with a column also {', '.join(COLUMN_ENDINGS)})"
        folders = join_names(sorted(file.name for file in path.glob("[!.]*") if file.is_dir()))
        rest = f"{table}; subfolders are not read: {folders}" if folders else table
        raise ValueError(f"{path} has no text files; expected some that end in {', '.join(TEXT_ENDINGS)}{rest}")
    unpacked: dict[str, str] = {}
    for name in (file.name for file in files):
        if (other := unpacked.setdefault(re.sub(r"(?i)\.(gz|bz2|xz)$", "", name), name)) != name:
            raise ValueError(f"{path} has {other} and {name}, which seem to be the same text; remove or rename one")
    return files


def sample_uses(
    corpus: TextCorpus,
    words: Mapping[str, Sequence[str]],
    *,
    most: int,
    ignore_case: bool,
    seed: str,
    patterns: bool = False,
) -> dict[str, SampledUses]:
    """Draw at most `most` uses of each word, each with the same chance. Other words do not change the sample.

    A repeated sentence counts once, where it occurs first.
    words: the forms that count as uses of each word, by its name.
    patterns: whether the forms are regular expressions, which match whole tokens.
    """
    find = _finder(words, ignore_case=ignore_case, patterns=patterns)
    kept: dict[str, dict[int, Use]] = {word: {} for word in words}
    lots: dict[str, list[int]] = {word: [] for word in words}
    counts = {word: dict.fromkeys(forms, 0) for word, forms in words.items()}
    for file, line, sentence in corpus.lines():
        tokens = corpus.split(sentence)
        same = " ".join(tokens)
        for index, token in enumerate(tokens):
            found = find(token)
            if found is not None:
                word, form = found
                counts[word][form] += 1
                lot = _lot(seed, word, index, same)
                if lot not in kept[word]:  # the same sentence has the same lot
                    kept[word][lot] = Use(file, line, index, sentence)
                    heapq.heappush(lots[word], lot)
                    if len(kept[word]) > most:
                        del kept[word][heapq.heappop(lots[word])]
    return {word: SampledUses(counts[word], tuple(sorted(kept[word].values()))) for word in words}


def _finder(
    words: Mapping[str, Sequence[str]], *, ignore_case: bool, patterns: bool
) -> Callable[[str], tuple[str, str] | None]:
    """A function that finds the word and the form for a token."""
    forms = [(word, form) for word in words for form in words[word]]
    if not patterns:
        meant = {spelling(form, ignore_case=ignore_case): (word, form) for word, form in forms}
        return lambda token: meant.get(spelling(token, ignore_case=ignore_case))
    compiled = [(re.compile(form, re.IGNORECASE if ignore_case else 0), word, form) for word, form in forms]

    @lru_cache(maxsize=1 << 20)
    def find(token: str) -> tuple[str, str] | None:
        token = spelling(token, ignore_case=False)
        return next(((word, form) for pattern, word, form in compiled if pattern.fullmatch(token)), None)

    return find


def _lot(*what: object) -> int:
    """A random number that depends only on the arguments. The uses with the largest numbers are kept."""
    digest = hashlib.blake2b("\0".join(map(str, what)).encode(errors="surrogateescape"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")
