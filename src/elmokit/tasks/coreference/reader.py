"""Reader of documents with coreference, from the columns of CoNLL-2012."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from elmokit.files.lines import read_lines
from elmokit.system.messages import first_token
from elmokit.tasks.text_spans import Passage
from elmokit.text.corpora import conll2012
from elmokit.text.corpora.columns import ColumnSentence

_NONE = "-"
_BRACKET = re.compile(r"(?P<opens>\()?(?P<entity>\d+)(?P<closes>\))?")


@dataclass(frozen=True, slots=True)
class CoreferenceDocument:
    """Sentences, and clusters of mentions that refer to the same thing.

    A mention is its first and last token, both included, counted through the document. The mentions of a cluster are
    sorted. The clusters are in the order in which the official scorer meets them, which counts a mention of several
    clusters for the last of them. Clusters of a single mention are kept if the file has them.
    """

    name: str
    part: int
    sentences: list[list[str]]
    speakers: list[str]
    """Speaker of each token of the document; `-` if there is none."""
    clusters: list[list[tuple[int, int]]]
    located: Passage | None = field(default=None, compare=False)
    """The text that the tokens are from; None if only the tokens are known."""


def read_coreference_documents(path: str | os.PathLike[str]) -> Iterator[CoreferenceDocument]:
    """Read a file one document (in CoNLL-2012, one part of a document) at a time; tokens become plain (`plain_token`).

    Raises ValueError, with the file and the line, for rows of different lengths, brackets that do not pair within
    their sentence, anything else in the last column, and documents that are empty or do not end.
    """
    for document in conll2012.read_conll2012(read_lines(path), name=os.fspath(path)):
        names = [name for sentence in document.sentences for name in _entities(sentence)]
        entities: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
        start = 0
        for sentence in document.sentences:
            for entity, first, last in _mentions(sentence):
                entities[entity].append((start + first, start + last))
            start += len(sentence.rows)
        yield CoreferenceDocument(
            name=document.name,
            part=document.part,
            sentences=[conll2012.plain_tokens(sentence) for sentence in document.sentences],
            speakers=[speaker for sentence in document.sentences for speaker in sentence.column(conll2012.SPEAKER)],
            clusters=[sorted(mentions) for mentions in entities.values()],
        )


def genre(name: str) -> str:
    """Genre in a document's name: `bc` in OntoNotes' `bc/cnn/00/cnn_0000`, `news` in GUM's `GUM_news_asylum`, or ""."""
    if "/" in name:
        return name.split("/", 1)[0]
    parts = name.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "GUM" else ""


def _entities(sentence: ColumnSentence) -> Iterator[str]:
    """The entities of the mentions that begin at each token; first those of one token, as the scorer reads a cell."""
    for cell in sentence.column(conll2012.COREFERENCE):
        mentions = [bracket for bracket in _BRACKET.finditer(cell) if bracket["opens"]]
        yield from (bracket["entity"] for bracket in sorted(mentions, key=lambda bracket: bracket["closes"] is None))


def _mentions(sentence: ColumnSentence) -> Iterator[tuple[str, int, int]]:
    """Entity, first and last token of each mention. If mentions of one entity are nested, the inner one ends first."""
    opened: defaultdict[str, list[int]] = defaultdict(list)
    for row, cell in enumerate(sentence.column(conll2012.COREFERENCE)):
        for part in cell.split("|") if cell != _NONE else []:
            bracket = _BRACKET.fullmatch(part)
            if bracket and bracket["opens"]:
                opened[bracket["entity"]].append(row)
            elif not bracket or not bracket["closes"] or not opened[bracket["entity"]]:
                raise ValueError(
                    f"{sentence.line(row)}: {first_token(cell)} is not a coreference cell here; expected '-', or '(3', "
                    "'(3)' or, where 3 is open, '3)', several of them separated by |"
                )
            if bracket["closes"]:
                yield bracket["entity"], opened[bracket["entity"]].pop(), row
    for entity, rows in opened.items():
        if rows:
            raise ValueError(
                f"{sentence.line(rows[0])}: '({entity}' is not closed before the end of its sentence "
                f"(line {sentence.first_line + len(sentence.rows) - 1})"
            )
