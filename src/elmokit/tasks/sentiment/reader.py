"""Reader of texts with a sentiment: trees of the Stanford Sentiment Treebank, tables (NSMC), JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from elmokit.files.lines import lines_and_first
from elmokit.system.messages import first_token
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.tables import rows_of
from elmokit.text.tokenizer import tokenize

FIVE_CLASSES = ("very negative", "negative", "neutral", "positive", "very positive")

_COLUMNS = (("text", "document", "sentence", "review"), ("label", "sentiment"))
_CLASSES: dict[int, tuple[str | None, ...]] = {
    5: FIVE_CLASSES,
    2: ("negative", "negative", None, "positive", "positive"),
}
# A word in its brackets, an opening bracket with its label, or a closing one; a word may hold a no-break space.
_PIECE = re.compile(r"[ \t]*(?:\((?P<label>[0-4])(?:[ \t]+(?P<word>[^ \t()]+)[ \t]*\))?|\))")


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
    """Read trees if the first line opens a bracket, otherwise a table with a header, or JSON (`rows_of`).

    Trees are one per line, `(3 (2 It) (4 (2 's) (4 good)))`; each gives its sentence, or with `phrases` all its
    phrases, which may be repeated; the sentence comes first. The labels are `FIVE_CLASSES` (0 to 4 in the file), or for
    two classes negative and positive. Tokens become plain (`plain_token`). Blank lines are skipped.
    In a table or JSON, the text is in the column text, document, sentence or review, the label in the column label or
    sentiment. `tokenize` makes the tokens; a text may have none, as some of NSMC.

    Raises ValueError, with the file and the line, for a line that is not one tree, rows that are shorter or longer than
    the header, an empty label, and a file without texts.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    if not first.lstrip().startswith("("):
        for where, (text, label) in rows_of(lines, first, name=name, columns=_COLUMNS):
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


def _nodes(line: str, *, line_name: str) -> list[tuple[int, list[str]]]:
    """Label and tokens of each node; the root comes first."""
    nodes: list[tuple[int, list[str]]] = []
    tokens: list[str] = []
    opened: list[tuple[int, int]] = []  # label, number of tokens before the bracket
    end = 0
    while piece := _PIECE.match(line, end):
        if nodes and not opened:
            break
        if piece["word"]:
            tokens.append(plain_token(piece["word"]))
            nodes.append((int(piece["label"]), tokens[-1:]))
        elif piece["label"]:
            opened.append((int(piece["label"]), len(tokens)))
        elif opened and opened[-1][1] < len(tokens):
            label, first = opened.pop()
            nodes.append((label, tokens[first:]))
        else:
            break
        end = piece.end()
    if opened or end < len(line.rstrip(" \t")):
        raise ValueError(
            f"{line_name}, character {end + 1}: {first_token(line[end:])} does not continue a tree; expected one tree "
            "per line: in brackets, a label, 0 (very negative) to 4 (very positive), and a word or trees"
        )
    return nodes[::-1]
