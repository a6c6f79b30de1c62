"""Reader of documents with coreference: columns of CoNLL-2012, JSON lines of e2e-coref, and CorefUD's CoNLL-U."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from elmokit.files.json import json_lines, picked
from elmokit.files.lines import lines_and_first
from elmokit.system.messages import first_token, warn_caller
from elmokit.tasks.task import Passage
from elmokit.text.corpora import conll2012, conllu
from elmokit.text.corpora.columns import ColumnSentence, without_documents

_NONE = ("-", "_")  # LitBank has both
_NOBODY = "-"
_BRACKET = re.compile(r"(?P<opens>\()?(?P<entity>\d+)(?P<closes>\))?")
_PART = re.compile(r"(?P<name>.*/.*)_(?P<part>\d{1,9})")
"""A `doc_key` of OntoNotes in e2e-coref's JSON lines, such as `bc/cnn/00/cnn_0000_1`."""
_COREFUD_ENTITY = re.compile(r"\((?P<opened>[^()-]+)(?:-[^()]*)?(?P<ends>\))?|(?P<closed>[^()-]+)\)")
"""Brackets in CorefUD: `(e5-person-1-` begins a mention of e5, `(e5-person-1-)` is one, and `e5)` ends one."""


@dataclass(frozen=True, slots=True)
class CoreferenceDocument:
    """Sentences, and clusters of mentions that refer to the same thing.

    A mention is its first and last token, both included, counted through the document. The mentions of a cluster are
    sorted. The clusters are in the order of the official scorer, which counts a mention of several clusters for the
    last of them. Clusters of a single mention are kept if the file has them.
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
    """Read a file one document (in CoNLL-2012, one part of a document) at a time.

    A file that begins with `{` is JSON lines with `doc_key`, `sentences`, `speakers` and `clusters`, as e2e-coref has
    them; one that begins with a comment `# ` or a row of ten columns is CoNLL-U with `Entity=` in its last column, as
    CorefUD has it. Anything else is CoNLL-2012, whose tokens become plain (`plain_token`).
    Raises ValueError, with the file and the line, for rows of different lengths, brackets that do not pair, anything
    else in their place, mentions outside their document, and documents that are empty or do not end. Warns if a tenth
    of the sentences are very long, and of discontinuous mentions, which are left out.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    if first.startswith("{"):
        documents = _of_json_lines(lines, name)
    elif first.startswith("# ") or first.count("\t") == len(conllu.COLUMNS) - 1:
        documents = _of_corefud(lines, name)
    else:
        documents = _of_conll2012(lines, name)
    yield from without_documents(documents, attrgetter("sentences"), name=name, expected="documents")


def _of_conll2012(lines: Iterable[str], name: str) -> Iterator[CoreferenceDocument]:
    for document in conll2012.read_conll2012(lines, name=name):
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


@dataclass(frozen=True, slots=True)
class _JSONDocument:
    """The fields of a line of e2e-coref that are read."""

    doc_key: str
    sentences: list[list[str]]
    clusters: list[list[tuple[int, int]]]
    speakers: list[list[str]] | None = None


def _of_json_lines(lines: Iterable[str], name: str) -> Iterator[CoreferenceDocument]:
    for where, values in json_lines(lines, name=name):
        document = picked(values, _JSONDocument, where=where)
        lengths = [len(sentence) for sentence in document.sentences]
        speakers = document.speakers or [[_NOBODY] * length for length in lengths]
        if not sum(lengths) or [len(each) for each in speakers] != lengths:
            raise ValueError(f"{where}: expected at least one token, and a speaker for each token of each sentence")
        for first, last in (mention for cluster in document.clusters for mention in cluster):
            if not 0 <= first <= last < sum(lengths):
                raise ValueError(
                    f"{where}: the mention [{first}, {last}] is outside the document's {sum(lengths)} tokens"
                )
        part = _PART.fullmatch(document.doc_key)
        yield CoreferenceDocument(
            name=part["name"] if part else document.doc_key,
            part=int(part["part"]) if part else 0,
            sentences=[sentence for sentence in document.sentences if sentence],
            speakers=[speaker or _NOBODY for sentence in speakers for speaker in sentence],
            clusters=[sorted(cluster) for cluster in document.clusters],
        )


def _of_corefud(lines: Iterable[str], name: str) -> Iterator[CoreferenceDocument]:
    sentences: list[conllu.ConlluSentence] = []
    for sentence in conllu.read_conllu(lines, name=name):
        begins = any(comment.lstrip("# ").startswith("newdoc") for comment in sentence.comments)
        if begins and sentences:
            yield _corefud_document(sentences)
            sentences = []
        sentences.append(sentence)
    if not sentences:
        raise ValueError(f"{name} has no sentence; expected CoNLL-U with coreference (Entity=) in its last column")
    yield _corefud_document(sentences)


def _corefud_document(sentences: list[conllu.ConlluSentence]) -> CoreferenceDocument:
    clusters: dict[str, list[tuple[int, int]]] = {}
    opened: defaultdict[str, list[int]] = defaultdict(list)
    num_words = num_pieces = 0
    for sentence in sentences:
        for row, cells in enumerate(sentence.rows):
            is_word = cells[0].isdecimal()
            num_words += is_word
            entities = next((part for part in cells[conllu.MISC].split("|") if part.startswith("Entity=")), "")
            for bracket in _COREFUD_ENTITY.finditer(entities.removeprefix("Entity=")):
                entity = bracket["opened"] or bracket["closed"]
                if bracket["opened"]:
                    opened[entity].append(num_words - is_word)  # an empty node begins before the next word
                    clusters.setdefault(entity, [])
                if not bracket["opened"] or bracket["ends"]:
                    if not opened[entity]:
                        where = f"{sentence.name}, line {sentence.first_line + row}"
                        raise ValueError(f"{where}: {first_token(entity)} ends here without having begun")
                    first, last = opened[entity].pop(), num_words - 1
                    if first <= last:  # else all of it is empty nodes
                        clusters[entity].append((first, last))
    begun = [entity for entity, starts in opened.items() if starts]
    name = sentences[0].comment("newdoc id") or os.path.basename(sentences[0].name)  # wherever the file is
    if begun:
        raise ValueError(f"{sentences[0].name}: {first_token(begun[0])} has no end in document {first_token(name)}")
    for entity in [entity for entity in clusters if "[" in entity]:  # `e5[1/2]` is the first of two pieces
        num_pieces += len(clusters.pop(entity))
    if num_pieces:
        warn_caller(f"{sentences[0].name}: {num_pieces} pieces of discontinuous mentions in {name} are left out")
    return CoreferenceDocument(
        name=name,
        part=0,
        sentences=[[row[conllu.FORM] for row in sentence.words] for sentence in sentences],
        speakers=[sentence.comment("speaker") or _NOBODY for sentence in sentences for _ in sentence.words],
        clusters=[sorted(mentions) for mentions in clusters.values() if mentions],
    )


def genre(name: str) -> str:
    """Genre in a document's name: `bc` in OntoNotes' `bc/cnn/00/cnn_0000`, `news` in GUM's `GUM_news_asylum`, or ""."""
    if "/" in name:
        return name.split("/", 1)[0]
    parts = name.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "GUM" else ""


def _entities(sentence: ColumnSentence) -> Iterator[str]:
    """The entities of the mentions that begin at each token; mentions of one token come first, as in the scorer."""
    for cell in sentence.column(conll2012.COREFERENCE):
        mentions = [bracket for bracket in _BRACKET.finditer(cell) if bracket["opens"]]
        yield from (bracket["entity"] for bracket in sorted(mentions, key=lambda bracket: bracket["closes"] is None))


def _mentions(sentence: ColumnSentence) -> Iterator[tuple[str, int, int]]:
    """Entity, first and last token of each mention. If mentions of one entity are nested, the inner one ends first."""
    opened: defaultdict[str, list[int]] = defaultdict(list)
    for row, cell in enumerate(sentence.column(conll2012.COREFERENCE)):
        for part in cell.split("|") if cell not in _NONE else []:
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
