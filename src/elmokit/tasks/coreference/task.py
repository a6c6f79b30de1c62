"""The coreference task: an example is a document of CoNLL-2012, e2e-coref's JSON lines, or CorefUD.

Scores are those of CoNLL-2012; output is its columns or JSON.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from elmokit.files.json import json_lines, picked
from elmokit.files.lines import read_lines, with_head
from elmokit.metrics.coreference import CoreferenceScore, score_coreference
from elmokit.runs.settings import check_bounds
from elmokit.system.messages import first_token, warn_caller
from elmokit.tasks.config import (
    ElmoInput,
    FileNames,
    InputConfig,
    Recipes,
    TaskConfig,
    TrainingConfig,
    until_converged,
    variant,
)
from elmokit.tasks.task import Passage, Prediction, Reading, Task, TextSpan, check_tokens, shortened, text_and_tokens
from elmokit.text.alignment import token_offsets
from elmokit.text.corpora import conll2012, conllu
from elmokit.text.corpora.columns import ColumnSentence, without_documents
from elmokit.text.tokenizer import split_sentences, tokenize

Clusters = list[list[tuple[int, int]]]

_TEXT = "text"
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

    A mention is its first and last token, both included. Tokens are counted from the start of the document. The
    mentions of a cluster are sorted. The clusters are in the order of the official scorer. If several clusters have the
    same mention, the scorer counts it for the last one. Clusters of a single mention are kept if the file has them.
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

    A file that begins with `{` is JSON lines with `doc_key`, `sentences`, `speakers` and `clusters`, as in e2e-coref. A
    file whose first line after comments has ten columns is CoNLL-U with `Entity=` in its last column, as in CorefUD.
    Anything else is CoNLL-2012; its tokens become plain (`plain_token`).
    Raises ValueError, with the file and the line, for rows of different lengths, brackets that do not pair, other text
    instead of brackets, mentions outside their document, and documents that are empty or do not end. Warns if a tenth
    of the sentences are very long, and about discontinuous mentions, which are left out.
    """
    name = os.fspath(path)
    lines, head = with_head(read_lines(path), num_lines=1)
    if head and head[0].startswith("{"):
        documents = _of_json_lines(lines, name)
    elif conllu.is_conllu(head):
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
    """The fields to read from a line of e2e-coref."""

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
    num_words = 0
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
                    if first <= last:  # otherwise it has only empty nodes
                        clusters[entity].append((first, last))
    begun = [entity for entity, starts in opened.items() if starts]
    name = sentences[0].comment("newdoc id") or os.path.basename(sentences[0].name)  # the same in any folder
    if begun:
        raise ValueError(f"{sentences[0].name}: {first_token(begun[0])} has no end in document {first_token(name)}")
    pieces = [entity for entity in clusters if "[" in entity]  # `e5[1/2]` is the first of two pieces
    if num_pieces := sum(len(clusters.pop(entity)) for entity in pieces):
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


# Settings of the coreference resolver, and its recipes.
@dataclass(frozen=True)
class CoreferenceConfig:
    """Sizes and limits of the resolver, by default as in Lee et al. (2017), sections 7.1 and 7.2."""

    hidden_dim: int = 200
    """Width of the biLSTM, per direction."""
    max_width: int = 10
    """Tokens of the longest span."""
    spans_per_word: float = 0.4
    """Number of spans to keep, per token of the document."""
    max_antecedents: int = 250
    """A kept span is compared with at most this many kept spans before it."""
    feature_dim: int = 20
    """Width of the embeddings of a span's width and of a pair's speakers, genre and distance."""
    scorer_dim: int = 150
    """Width of the two hidden layers that score a span, and of the two that score a pair."""
    input_dropout_rate: float = 0.5
    """Dropout of the tokens' vectors. It includes the dropout of ELMo's vectors, 0.5 (Peters, appendix)."""
    recurrent_dropout_rate: float = 0.2
    """Dropout of the biLSTM's state."""
    dropout_rate: float = 0.2
    """Dropout of the biLSTM's output, the hidden layers and the features."""
    max_train_sentences: int = 50
    """Number of sentences of a document that a training step reads, starting at a random one; 0 reads all."""

    def __post_init__(self) -> None:
        check_bounds(
            self,
            positive=("hidden_dim", "max_width", "max_antecedents", "feature_dim", "scorer_dim"),
            counts=("max_train_sentences",),
            above_zero=("spans_per_word",),
            rates=("input_dropout_rate", "recurrent_dropout_rate", "dropout_rate"),
        )


def paper() -> TaskConfig:
    """Lee et al. (2017) and the branch "e2e" of their code, with ELMo as Peters et al. (2018) add it.

    Give GloVe's 300-d vectors (840B); Lee et al. add 50 dimensions of Turian's.
    """
    return TaskConfig(
        model=CoreferenceConfig(),
        inputs=InputConfig(
            word_dim=300,  # Lee, section 7.1
            train_word_vectors=False,  # Lee's code
            unit_word_vectors=True,  # Lee's code
            lower_case=False,  # Lee's code
            character_dim=8,  # Lee, section 7.1
            character_filters=((3, 50), (4, 50), (5, 50)),  # Lee, section 7.1
            elmo=ElmoInput(position="input", penalty=0.0),  # Peters, appendix
        ),
        training=TrainingConfig(
            learning_rate=0.001,  # Lee, section 7.2, Adam
            batch_size=1,  # Lee, section 7.2
            max_epochs=150,  # Lee, section 7.2
            patience=150,  # Lee's code stops by hand
            decay=0.999,  # Lee, section 7.2: 0.1 % every 100 steps
            decay_steps=100,
            clip_norm=5.0,  # Lee's code
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: a third of the width, fewer spans, antecedents and sentences per step.

    Little dropout and a high learning rate suit 1,770 steps: without ELMo, average F1 on OntoGUM's development set is
    41.4 with dropout in the paper's proportion (0.3, 0.2, 0.2) at a rate of 0.002, 45.0 with all three at 0.1, and 48.0
    with these at 0.004.
    """
    return variant(
        paper(),
        model={
            "hidden_dim": 64,
            "spans_per_word": 0.3,
            "max_antecedents": 100,
            "scorer_dim": 64,
            "input_dropout_rate": 0.1,  # ELMo's too
            "recurrent_dropout_rate": 0.1,
            "dropout_rate": 0.1,
            "max_train_sentences": 20,
        },
        inputs={
            "word_dim": 50,
            "unit_word_vectors": False,
            "lower_case": True,
            "max_characters": 20,
            "character_filters": ((3, 30), (4, 30), (5, 30)),
        },
        elmo={"rescale": True, "dropout_rate": 0.3},
        training={
            "learning_rate": 0.004,
            "max_epochs": 10,
            "patience": 10,
            "decay": 0.9,  # to a sixth over the 1,770 steps of OntoGUM
        },
    )


@dataclass(frozen=True, repr=False)
class ResolvedDocument(Prediction):
    """A document with the clusters of mentions that refer to the same thing."""

    name: str
    text: str
    """The document as it was given, or the tokens joined by spaces if only tokens were given."""
    sentences: list[list[str]]
    """Tokens of each sentence. Mentions count tokens from the start of the document."""
    clusters: list[list[TextSpan]]
    """At least two mentions each, in the order of the document."""

    def __repr__(self) -> str:
        clusters = "; ".join(" = ".join(repr(mention.text) for mention in cluster) for cluster in self.clusters)
        return f"<ResolvedDocument {shortened(self.text)}: {clusters or 'no clusters'}>"


class Coreference(Task[CoreferenceDocument, Clusters]):
    """Document -> clusters of mentions; an example is a document."""

    name = "coreference"
    metric = "average_f1"
    # train, dev and test files of OntoGUM (as converted by elmokit) and CoNLL-2012
    files: ClassVar[FileNames] = (
        ("train.gold_conll", "dev.gold_conll", "test.gold_conll"),
        ("train.english.v4_gold_conll", "dev.english.v4_gold_conll", "test.english.v4_gold_conll"),
    )
    model_config = CoreferenceConfig
    model = "elmokit.tasks.coreference.model:CoreferenceResolver"
    recipes: ClassVar[Recipes] = {"paper": paper, "cpu": cpu, "cpu-converged": partial(until_converged, cpu)}
    symbols_are_labels = False

    def read(self, path: Path, config: CoreferenceConfig, training: bool) -> Reading[CoreferenceDocument]:
        return Reading(list(read_coreference_documents(path)))

    def sentences(self, example: CoreferenceDocument) -> Sequence[Sequence[str]]:
        return example.sentences

    def keep_together(self, example: CoreferenceDocument) -> str:
        """All parts of a document share its name."""
        return example.name

    def symbols(self, examples: Iterable[CoreferenceDocument]) -> list[str]:
        """The genres in the names of the documents."""
        return sorted({genre(example.name) for example in examples} - {""})

    def score(self, examples: Sequence[CoreferenceDocument], predictions: Sequence[Clusters]) -> dict[str, float]:
        """The average F1 of CoNLL-2012, and the three metrics in it."""
        result = CoreferenceScore()
        for example, clusters in zip(examples, predictions, strict=True):
            result += score_coreference(gold=example.clusters, predicted=clusters)
        parts = {"muc": result.muc, "b_cubed": result.b_cubed, "ceaf_e": result.ceaf_e, "mentions": result.mentions}
        numbers = {"average_f1": result.average_f1}
        for name, part in parts.items():
            numbers |= {f"{name}_f1": part.f1, f"{name}_precision": part.precision, f"{name}_recall": part.recall}
        return numbers

    def from_json(self, fields: Mapping[str, Any]) -> CoreferenceDocument:
        """`{"sentences": [["Ann", "slept", "."], ["She", "snored", "."]]}`, or `{"text": "Ann slept. She snored."}`.

        Or `{"tokens": ["Ann", "hurt", "herself"]}`, a single sentence. A `"text"` next to either is the text of these
        tokens. `"name"`, if given, is the document's name, which gives the genre as in the training set. `"speakers"`
        has one speaker for each of the `"sentences"`.
        """
        given = picked(fields, _Document, where="the document")
        sentences = given.sentences
        if given.tokens is not None:
            sentences = [given.tokens]
        if sentences is None:
            if given.speakers is not None:
                raise ValueError("the document: field speakers: needs sentences, one for each speaker")
            text, _ = text_and_tokens(fields, where="the document")
            return replace(_of_text(text or ""), name=given.name)
        if not sentences:
            raise ValueError("the document: field sentences: is an empty list; expected at least one sentence")
        for sentence in sentences:
            check_tokens(sentence, where="the document")
        speakers = [_NOBODY] * len(sentences) if given.speakers is None else given.speakers
        if len(speakers) != len(sentences):
            raise ValueError(
                f"there are {len(speakers)} speakers but {len(sentences)} sentences; expected one speaker per sentence"
            )
        repeated = [speaker for speaker, sentence in zip(speakers, sentences, strict=True) for _ in sentence]
        located = Passage.of(list(chain.from_iterable(sentences)), given.text)
        return CoreferenceDocument(given.name, 0, sentences, repeated, clusters=[], located=located)

    def to_text(self, predictions: Iterable[tuple[CoreferenceDocument, Clusters]]) -> Iterator[str]:
        """The columns that the scorer of CoNLL-2012 reads, with `-` for unknown cells. White space becomes a space."""
        for example, clusters in predictions:
            yield _columns(example, clusters)

    def result(self, example: CoreferenceDocument, prediction: Clusters) -> ResolvedDocument:
        located = example.located or Passage.of(list(chain.from_iterable(example.sentences)), None)
        clusters = [[located.span(first, last) for first, last in cluster] for cluster in prediction]
        return ResolvedDocument(example.name, located.text, example.sentences, clusters)


def _of_text(line: str) -> CoreferenceDocument:
    """A line of text is a document with one speaker and an unknown genre."""
    tokens: list[list[str]] = []
    offsets: list[tuple[int, int]] = []
    end = 0
    for sentence in split_sentences(line):
        start = line.index(sentence, end)
        end = start + len(sentence)
        if words := tokenize(sentence):
            tokens.append(words)
            offsets += [(start + first, start + after) for first, after in token_offsets(sentence, words)]
    if not tokens:
        raise ValueError(f"{first_token(line)} has no tokens; expected the sentences of a document")
    speakers = [_NOBODY] * sum(map(len, tokens))
    return CoreferenceDocument(
        _TEXT, 0, tokens, speakers, clusters=[], located=Passage(line, list(chain.from_iterable(tokens)), offsets)
    )


@dataclass(frozen=True)
class _Document:
    text: str | None = None
    tokens: list[str] | None = None
    sentences: list[list[str]] | None = None
    speakers: list[str] | None = None
    name: str = _TEXT


def _columns(example: CoreferenceDocument, prediction: Clusters) -> str:
    name = " ".join(example.name.split()) or _NOBODY
    cells = iter(_coreference_cells(prediction, num_tokens=len(example.speakers)))
    speakers = iter(example.speakers)
    lines = [f"#begin document ({name}); part {example.part:03d}\n"]
    for sentence in example.sentences:
        for number, token in enumerate(sentence):
            speaker = " ".join(next(speakers).split()) or _NOBODY
            columns = [name, str(example.part), str(number), token, "-", "-", "-", "-", "-", speaker]
            lines.append("\t".join([*columns, "*", next(cells)]) + "\n")
        lines.append("\n")
    return "".join([*lines, "#end document"])


def _coreference_cells(clusters: Clusters, *, num_tokens: int) -> list[str]:
    """Cells `(0`, `1)`, `(2)` or `-`, several separated by |. If mentions begin together, the longest comes first."""
    cells: list[list[str]] = [[] for _ in range(num_tokens)]
    mentions = [(first, last, number) for number, cluster in enumerate(clusters) for first, last in cluster]
    for first, last, number in sorted(mentions, key=lambda mention: (mention[0], -mention[1])):
        cells[first].append(f"({number})" if first == last else f"({number}")
    for first, last, number in sorted(mentions, key=lambda mention: (mention[1], -mention[0])):
        if first != last:
            cells[last].append(f"{number})")
    return ["|".join(cell) or "-" for cell in cells]


TASK = Coreference()
