"""Texts that a corpus must not share passages with: evaluation data in any layout.

A sentence with N successive words of such a text is dropped. Words are tokens with a letter or a digit. They are
compared in NFC and without regard to case, so punctuation and capitals hide nothing.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import cast

from elmokit.files.json import parse_json
from elmokit.files.lines import read_lines, split_tokens, whole
from elmokit.system.messages import FormatError
from elmokit.text.corpora.cells import plain_token

SentenceTokenizer = Callable[[str], list[str]]

NUM_COLUMNS = 12
"""Columns of a column file that may hold the words: the first in CoNLL-2003, the second in CoNLL-U, the fourth in
CoNLL-2012, a later one in other tables."""

_MARKUP = re.compile(r"<[^<>]*>|\([^\s()]*\s|[)\[\]]")
"""XML tags, the brackets and labels of trees, `(3 (2 A) (4 film))`, and brackets around a word: `my [head]ache`."""

_TAGGED = re.compile(r"(\S+)[_/|](?:[A-Z]{1,5}\$?|[a-z]{1,5}\$?|[BIESLUM]-\w+|[^\w\s]{1,5})(?=\s|\Z)")
"""A word with its part of speech or entity label: `bank/NN`, `Anna|B-PER`."""

_OTHER_ID = re.compile(r"\d+[-.]\d+")
"""The id of a multiword token or of an empty node in CoNLL-U."""

_SPACE = " \t\r\n\ufeff"
_JSON_LIST = re.compile(rf'[{_SPACE}]*(?:\[[{_SPACE}]*)+(?:(?:[\d.+-]+|null|true|false)\s*,\s*)*["{{]')
"""The beginning of a list of texts or objects. Plain text may also begin with a bracket: `[1] Introduction`."""


class Exclusion:
    """All passages of N successive words in some files, with the file of each passage."""

    def __init__(self, files: Sequence[Path], *, num_words: int, tokenizer: SentenceTokenizer) -> None:
        """Read the files. Raises the errors of `read_lines`, and ValueError for a file without such a passage."""
        self._num_words = num_words
        self._file_of: dict[int, int] = {}
        for number, path in enumerate(files):
            has_passage = False
            for words in texts_of(path, tokenizer):
                for passage in _passages(words, num_words):
                    has_passage = True
                    self._file_of.setdefault(passage, number)
            if not has_passage:
                raise ValueError(
                    f"{path}: has no text of {num_words} consecutive words, so it would exclude nothing; expected "
                    "plain text, columns, JSON or JSON lines, or, for short texts, fewer words (--exclude-words)"
                )

    def find(self, tokens: Iterable[str]) -> int | None:
        """The index of a file that shares a passage with the sentence, or None."""
        for passage in _passages(_words(tokens), self._num_words):
            if passage in self._file_of:
                return self._file_of[passage]
        return None


def texts_of(path: Path, tokenizer: SentenceTokenizer) -> Iterator[list[str]]:
    """The words of each text of a file. A text is a string in JSON, or a block of lines between blank lines.

    A block is read line by line: with its markup, without it, and without the tags of its words. It is also read column
    by column, because a column file has its words, or its characters, below each other.
    """
    lines = read_lines(path)
    number, first = next(((number, line) for number, line in enumerate(lines, start=1) if line.strip()), (1, ""))
    opening = first.lstrip(_SPACE)[:1]
    if opening == "[":
        lines = whole(lines, path)
    if opening == "{" or (opening == "[" and _is_json_list(first, lines, path)):
        try:
            for text in _texts_in_json(first, lines, path, number=number):
                yield _words(tokenizer(text))
        except FormatError as error:
            raise ValueError(f"{error}; if it is plain text, put another line in front of it") from error
        return
    for is_text, block in groupby(chain([first], lines), key=lambda line: bool(line.strip())):
        if is_text:
            yield from _texts_of_block(list(block), tokenizer)


def _texts_of_block(block: Sequence[str], tokenizer: SentenceTokenizer) -> Iterator[list[str]]:
    yield _words(token for line in block for token in tokenizer(line))
    if any(map(_MARKUP.search, block)):
        # square brackets are removed, other markup becomes a space
        plain = html.unescape(_MARKUP.sub(lambda found: "" if found[0] in "[]" else " ", "\n".join(block)))
        yield _words(token for line in plain.split("\n") for token in tokenizer(line))
    if 2 * sum(len(_TAGGED.findall(line)) for line in block) > sum(len(split_tokens(line)) for line in block):
        yield _words(token for line in block for token in tokenizer(_TAGGED.sub(r"\1", line)))
    rows = [line.split("\t") if "\t" in line else split_tokens(line) for line in block]
    if any(len(row) > 1 and not row[0].startswith("#") for row in rows):
        rows = [row for row in rows if not row[0].startswith("#")] or rows
    for reading in _readings(rows):
        for column in range(min(NUM_COLUMNS, max(map(len, reading), default=0))):
            yield _words(tokenizer(_joined([row[column] for row in reading if column < len(row)])))


def _readings(rows: Sequence[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """The rows unchanged. If there are CoNLL-U ranges or empty nodes, also without them, and with ranges for words."""
    yield rows
    if any(map(_OTHER_ID.fullmatch, (row[0] for row in rows))):
        words = [row for row in rows if not _OTHER_ID.fullmatch(row[0])]
        yield words
        yield _with_ranges(rows)


def _with_ranges(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The rows with ranges instead of the words that they cover: `1-2 du` for `1 de` and `2 le`."""
    found: list[Sequence[str]] = []
    covered = 0  # the last word of the last range
    for row in rows:
        start, hyphen, last = row[0].partition("-")
        if hyphen and start.isdecimal() and last.isdecimal():
            covered = int(last[:9])
            found.append(row)
        elif row[0].isdecimal() and int(row[0][:9]) > covered:
            found.append(row)
    return found


def _joined(cells: Sequence[str]) -> str:
    """The cells of a column as a text. Words are joined by spaces, single characters (as in KLUE-NER) by nothing."""
    if len(cells) > 1 and all(len(cell.strip()) <= 1 for cell in cells):
        return "".join(cell if cell.strip() else " " for cell in cells)
    return " ".join(map(plain_token, cells))


def _is_json_list(first: str, rest: Iterable[str], path: Path) -> bool:
    """Whether lines that begin with a bracket are JSON (complete or cut short), not plain text."""
    content = "\n".join([first, *rest])
    if _JSON_LIST.match(content):
        return True
    try:
        parse_json(content, list[object], where=path)
    except FormatError:
        return False
    return True


def _texts_in_json(first: str, rest: Iterable[str], path: Path, *, number: int) -> Iterator[str]:
    """All texts in JSON lines, or in a file with one value over many lines, such as SQuAD.

    `number` is the number of the first line, for errors.
    """
    first = first.lstrip(_SPACE)
    try:
        value = parse_json(first, object, where=path)
    except FormatError:
        yield from _strings(
            parse_json("\n".join([first, *whole(rest, path)]).replace("\ufeff", ""), object, where=path)
        )
        return
    yield from _strings(value)
    for following, line in enumerate(rest, start=number + 1):
        if line.strip():
            yield from _strings(parse_json(line, object, where=f"{path}, line {following}"))


def _strings(value: object) -> Iterator[str]:
    """Every text in a JSON value. The items of a list are also joined, because they may be tokens.

    Items that are lists or objects, such as `{"text": "bank", "pos": "NN"}`, may be tokens too. Their texts of one word
    are joined with the texts of the same name (or index) in the other items.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in cast("dict[str, object]", value).values():
            yield from _strings(part)
    elif isinstance(value, list):
        parts = cast("list[object]", value)
        yield " ".join(part for part in parts if isinstance(part, str))
        by_name: defaultdict[object, list[str]] = defaultdict(list)
        for part in parts:
            if isinstance(part, list):
                part = dict(enumerate(cast("list[object]", part)))
            named = cast("dict[object, object]", part) if isinstance(part, dict) else {}
            for name, text in named.items():
                if isinstance(text, str) and " " not in text:
                    by_name[name].append(text)
        yield from map(" ".join, by_name.values())
        for part in parts:
            yield from _strings(part)


def _words(tokens: Iterable[str]) -> list[str]:
    spelt = (unicodedata.normalize("NFC", token.casefold()) for token in tokens)  # the tokenizer may keep NFD
    return [token for token in spelt if any(character.isalnum() for character in token)]


def _passages(words: Sequence[str], num_words: int) -> Iterator[int]:
    """A hash of each run of `num_words` words."""
    window: deque[str] = deque(maxlen=num_words)
    for word in words:
        window.append(word)
        if len(window) == num_words:
            digest = hashlib.blake2b("\0".join(window).encode("utf-8", "surrogatepass"), digest_size=8).digest()
            yield int.from_bytes(digest, "big")
