"""Sentences of CoNLL-U, the format of the Universal Dependencies treebanks, and of CoNLL-U Plus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from elmokit.system.messages import first_token, plural, printable, warn_caller

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM, FEATS, MISC = (COLUMNS.index(name) for name in ("form", "feats", "misc"))
PLUS = re.compile(r"# ?global\.columns ?= ?(.+)")
"""The first line of CoNLL-U Plus, with the names of its columns."""
_ID = re.compile(r"[0-9]+(?:([-.])[0-9]+)?")
_OF_CONLLU = re.compile(r"#\s*(?:sent_id|text|newdoc|newpar|global)\b")
"""A comment of CoNLL-U. Other files of columns may have comments, too."""


@dataclass(frozen=True, slots=True)
class ConlluSentence:
    """The comments above a sentence, and its rows of cells: words, ranges of words (`1-2`), empty nodes (`2.1`)."""

    name: str
    first_line: int
    comments: list[str]
    rows: list[list[str]]
    words: list[list[str]]
    """The rows of words."""

    def comment(self, key: str) -> str | None:
        """The value of the last comment `# key = value`; None without one."""
        pairs = (comment.lstrip("# ").partition("=") for comment in reversed(self.comments))
        return next((value.strip() for name, _, value in pairs if name.strip() == key), None)


def is_conllu(head: Sequence[str]) -> bool:
    """Whether a file has at least two of these: an id in its first row, ten columns there, a comment of CoNLL-U above.

    If only one is missing, the file is damaged CoNLL-U. A file with nothing but comments is CoNLL-U without sentences.
    head: the first lines, up to the first one that is not a comment, without blank lines.
    """
    if head and all(line.startswith("# ") for line in head):
        return True
    cells = head[-1].split("\t") if head else []
    is_numbered = len(cells) > 2 and _ID.fullmatch(cells[0]) is not None
    is_commented = any(map(_OF_CONLLU.match, head))
    return is_numbered + (len(cells) == len(COLUMNS)) + is_commented >= 2


def read_conllu(lines: Iterable[str], *, name: str, columns: Sequence[str] = COLUMNS) -> Iterator[ConlluSentence]:
    """The sentences of a file that have words. Warns if it has others: comments and empty nodes without a word.

    columns: the names of the columns. A file without ids may contain the token `#`. In a file with one column, a row is
        a token, perhaps with spaces.
    """
    comment = re.compile("#" if columns[0] == "id" else "#[^\t]*$" if len(columns) > 1 else "#.*[ =]")
    comments: list[str] = []
    rows: list[list[str]] = []
    words: list[list[str]] = []
    left_out: list[str] = []
    has_sentences = False
    for number, line in enumerate(chain(lines, [""]), start=1):
        if comment.match(line):
            if rows:
                raise ValueError(f"{name}, line {number}: a comment inside a sentence; put it before the sentence")
            comments.append(line)
        elif line.strip():
            rows.append([cell.strip(" ") for cell in line.split("\t")])
            _check_cells(rows[-1], columns, where=f"{name}, line {number}")
            if columns[0] != "id" or _is_word(rows[-1][0], words, where=f"{name}, line {number}"):
                words.append(rows[-1])
        else:
            if words:
                yield ConlluSentence(name, number - len(rows), comments, rows, words)
                has_sentences = True
            elif rows:
                left_out += [*comments, *map("\t".join, rows)]
            if rows:  # comments above a blank line belong to the next sentence
                comments, rows, words = [], [], []
    left_out += comments
    if left_out and has_sentences:
        example = printable(left_out[0], limit=40)
        warn_caller(
            f"{name}: comments and empty nodes without a word are left out, such as {example!r}: "
            f"{plural(len(left_out), 'line')} in all"
        )


def _check_cells(cells: Sequence[str], columns: Sequence[str], *, where: str) -> None:
    if len(cells) != len(columns):
        cut = f"; keep these with cut -f 1-{len(columns)}" if len(cells) > len(columns) else ""
        raise ValueError(f"{where}: {len(cells)} columns; this CoNLL-U has {len(columns)}, separated by tabs{cut}")
    if "" in cells:
        raise ValueError(f"{where}: column {cells.index('') + 1} is empty; expected _ where there is no value")


def _is_word(number: str, words: Sequence[Sequence[str]], *, where: str) -> bool:
    """Whether an id belongs to a word, not to a range or an empty node."""
    found = _ID.fullmatch(number)
    if found is None:
        raise ValueError(f"{where}: the id is {first_token(number)}; expected N, N-M or N.M")
    if found[1] is None and words and int(number[:9]) <= int(words[-1][0][:9]):
        before = f"word {number[:9]} after word {words[-1][0][:9]}"
        raise ValueError(f"{where}: {before}; is a blank line missing between two sentences?")
    return found[1] is None
