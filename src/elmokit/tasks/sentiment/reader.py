"""Reader of texts with a sentiment: trees of the Stanford Sentiment Treebank, and tab-separated tables (NSMC)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from elmokit.files.lines import lines_and_first
from elmokit.system.messages import first_token
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.tables import table_rows
from elmokit.text.tokenizer import tokenize

FIVE_CLASSES = ("very negative", "negative", "neutral", "positive", "very positive")

_COLUMNS = (("text", "document", "sentence", "review"), ("label", "sentiment"))
_CLASSES: dict[int, tuple[str | None, ...]] = {
    5: FIVE_CLASSES,
    2: ("negative", "negative", None, "positive", "positive"),
}
# An opening bracket with its label, a closing one, or a word; a word may hold a no-break space.
_PIECE = re.compile(r"\((?P<label>[^ \t()]*)|(?P<close>\))|(?P<word>[^ \t()]+)")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text's tokens and its label."""

    tokens: list[str]
    label: str | None
    """None if the text has none of the classes (it is neutral, and there are two classes); it counts in no result."""
    sentence: list[str] | None = field(default=None, compare=False)
    """The tokens of the sentence of its tree, which a sentence shares with its phrases; None for a text that is not
    from a tree."""


def read_texts(path: str | os.PathLike[str], *, num_classes: int = 5, phrases: bool = False) -> Iterator[LabelledText]:
    """Read trees if the first line opens a bracket, otherwise a table with a header.

    Trees are one per line, `(3 (2 It) (4 (2 's) (4 good)))`; each gives its sentence, or with `phrases` all its
    phrases, which may be repeated; the sentence comes first. The labels are `FIVE_CLASSES` (0 to 4 in the file), or for
    two classes negative and positive. Tokens become plain (`plain_token`). Blank lines are skipped.
    In a table, the text is in the column text, document, sentence or review, the label in the column label or
    sentiment. `tokenize` makes the tokens; a text may have none, as some of NSMC.

    Raises ValueError, with the file and the line, for brackets that do not pair or hold no word, other labels, text
    outside the brackets, rows that are shorter or longer than the header, an empty label, and a file without texts.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    if not first.lstrip().startswith("("):
        for where, (text, label) in table_rows(lines, name=name, columns=_COLUMNS):
            if not label:
                raise ValueError(f"{where}: the label is {first_token(label)}; expected one")
            yield LabelledText(tokenize(text), label)
        return
    if num_classes not in _CLASSES:
        raise ValueError(f"num_classes is {num_classes}; expected 5, or 2 (without neutral)")
    labels = _CLASSES[num_classes]
    for number, line in enumerate(lines, start=1):
        if line.strip():
            nodes = _nodes(line, line_name=f"{name}, line {number}")
            _, sentence = nodes[0]
            for label, tokens in nodes if phrases else nodes[:1]:
                yield LabelledText(tokens, labels[label], sentence=sentence)


# kinds of neighbours that put a word and something else into the same brackets
_NOT_IN_A_TREE = {("word", "word"), ("word", "label"), ("close", "word")}


def _nodes(line: str, *, line_name: str) -> list[tuple[int, list[str]]]:
    """Label and tokens of each node; the root comes first."""
    nodes: list[tuple[int, list[str]]] = []
    tokens: list[str] = []
    opened: list[tuple[int, int, int]] = []  # label, number of tokens before the bracket, its position in the line
    before = ""
    for piece in _PIECE.finditer(line):
        where = f"{line_name}, character {piece.start() + 1}"
        if (before, piece.lastgroup) in _NOT_IN_A_TREE:
            raise ValueError(f"{where}: {first_token(line[piece.start() :])}; expected a word in brackets of its own")
        before = piece.lastgroup
        if piece["label"] is not None:
            if nodes and not opened:
                raise ValueError(
                    f"{where}: {first_token(line[piece.start() :])} follows the tree; expected one tree per line"
                )
            opened.append((_label(piece["label"], where=where), len(tokens), piece.start()))
        elif not opened:
            raise ValueError(f"{where}: {first_token(line[piece.start() :])} is outside the brackets")
        elif piece["word"] is not None:
            tokens.append(plain_token(piece["word"]))
        else:
            label, first, start = opened.pop()
            if first == len(tokens):
                raise ValueError(f"{where}: {first_token(line[start : piece.end()])} has no word")
            nodes.append((label, tokens[first:]))
    if opened:
        raise ValueError(
            f"{line_name}, character {opened[-1][2] + 1}: {first_token(line[opened[-1][2] :])} is never closed"
        )
    return nodes[::-1]


def _label(text: str, *, where: str) -> int:
    if text not in ("0", "1", "2", "3", "4"):
        raise ValueError(f"{where}: the label is {first_token(text)}; expected 0 (very negative) to 4 (very positive)")
    return int(text)
