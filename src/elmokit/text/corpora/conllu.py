"""The sentences of CoNLL-U, as the treebanks of Universal Dependencies have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from elmokit.system.messages import first_token

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM, MISC = COLUMNS.index("form"), COLUMNS.index("misc")


@dataclass(frozen=True, slots=True)
class ConlluSentence:
    """The comments above a sentence, and its rows of ten cells: words, ranges of words (`1-2`), empty nodes (`2.1`)."""

    name: str
    first_line: int
    comments: list[str]
    rows: list[list[str]]

    @property
    def words(self) -> list[list[str]]:
        """The rows of words."""
        return [row for row in self.rows if row[0].isdecimal()]

    def comment(self, key: str) -> str | None:
        """The value of a comment `# key = value`; None without one."""
        pairs = (comment.lstrip("# ").partition("=") for comment in self.comments)
        return next((value.strip() for name, _, value in pairs if name.strip() == key), None)


def read_conllu(lines: Iterable[str], *, name: str) -> Iterator[ConlluSentence]:
    """The sentences of a file that have words. Raises ValueError, naming the line, for a row without ten cells."""
    comments: list[str] = []
    rows: list[list[str]] = []
    for number, line in enumerate(chain(lines, [""]), start=1):
        if line.startswith("#"):
            comments.append(line)
        elif line.strip():
            cells = line.split("\t")
            if len(cells) != len(COLUMNS) or not cells[0][:1].isdecimal():
                raise ValueError(
                    f"{name}, line {number}: {first_token(line)} begins no row of CoNLL-U; expected a number and nine "
                    "more columns, separated by tabs"
                )
            rows.append(cells)
        else:
            sentence = ConlluSentence(name, number - len(rows), comments, rows)
            if sentence.words:
                yield sentence
            comments, rows = [], []
