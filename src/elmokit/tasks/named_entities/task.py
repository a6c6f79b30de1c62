"""The named-entities task: an example is a sentence in columns (CoNLL-2002, -2003, -2012, WNUT-17), or of KLUE-NER.

Scores are conlleval's; output is columns or JSON.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from elmokit.files.lines import lines_and_first
from elmokit.metrics.roles import tags_from_props
from elmokit.metrics.spans import Span, score_spans, spans_from_tags, tagging_scheme, tags_from_spans
from elmokit.system.messages import first_token
from elmokit.tasks.config import (
    ElmoInput,
    FileNames,
    InputConfig,
    Recipes,
    TaggerConfig,
    TaskConfig,
    TrainingConfig,
    until_converged,
    variant,
)
from elmokit.tasks.task import Passage, Prediction, Reading, SpanTask, sentence_of, shortened, span_scores
from elmokit.text.alignment import token_offsets
from elmokit.text.corpora import conll2012
from elmokit.text.corpora.columns import ColumnSentence, column_sentences, with_words_first, without_documents
from elmokit.text.tokenizer import tokenize

_DOCUMENT_START = "-DOCSTART-"  # first cell of a line that is not a token
_KLUE_NER = ("## 토큰, 레이블 구분자", "## klue-ner")
"""A file begins with a description of its format or, without one, with the name of the first sentence."""
_KLUE_COMMENT = "##"


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """Tokens, with one tag per token."""

    tokens: list[str]
    tags: list[str]
    written: list[str] = field(default_factory=list[str])
    """The same tags in the scheme of the file; empty for text that is not from a file of tags."""
    text: str | None = field(default=None, compare=False)
    """The text that the tokens are from; None if only the tokens are known."""
    document: str = field(default="", compare=False)
    """File and number of its document; empty if the file does not separate documents."""


def read_tagged_sentences(path: str | os.PathLike[str]) -> Iterator[TaggedSentence]:
    """Read the first column as token and the last one as its tag, in any scheme; yield tags in BIOUL.

    Spans are read as conlleval reads them, so no tag is illegal, and IOB1 and BIO (IOB2) give the same spans. A line
    of `-DOCSTART-` ends a sentence and is not a token. `tags_from_spans` documents the schemes.
    A file that begins with `#begin document` is CoNLL-2012. It writes names as brackets; its tokens become plain.
    KLUE-NER has one character per line. elmokit tokenises its text, and a token gets the first entity that touches it,
    so that a name keeps its particle (a second entity within a token is lost).
    Raises ValueError, with the file and the line, if rows differ in their number of columns, a cell is empty, a tag is
    invalid, another column has the same labels (nested entities, or predictions), the first column numbers the words,
    or there are no sentences. Warns if a tenth of the sentences are very long.
    """
    name = os.fspath(path)
    lines, first_line = lines_and_first(path)
    if first_line.startswith(_KLUE_NER):
        sentences = _of_characters(_tagged_characters(lines, name=name))
    elif first_line.startswith(conll2012.BEGIN):
        sentences = _of_brackets(conll2012.read_conll2012(lines, name=name), name)
    else:
        sentences = _of_columns(with_words_first(column_sentences(lines, name=name, separator=_DOCUMENT_START)))
    expected = "a token and its tag on each line"
    yield from without_documents(sentences, lambda each: [each.tokens], name=name, expected=expected)


def _of_brackets(documents: Iterable[conll2012.Document], name: str) -> Iterator[TaggedSentence]:
    for document in documents:
        for sentence in document.sentences:
            try:
                written = tags_from_props(conll2012.names(sentence))
            except ValueError as error:
                raise ValueError(f"{sentence.where}, column {conll2012.NAMES + 1}, {error}") from None
            tags = tags_from_spans(spans_from_tags(written), num_tokens=len(written), scheme="BIOUL")
            tokens = conll2012.plain_tokens(sentence)
            yield TaggedSentence(tokens, tags, written, document=f"{name} {document.name}")


def _of_columns(sentences: Iterable[ColumnSentence]) -> Iterator[TaggedSentence]:
    first: ColumnSentence | None = None
    kinds, others = set[str](), set[str]()  # labels in the last column, and in the others
    for sentence in sentences:
        first = first or sentence
        _check_columns(sentence, first)
        kinds |= _kinds(sentence.column(-1))
        others |= _kinds(cell for row in sentence.rows for cell in row[1:-1])
        if both := kinds & others:
            raise ValueError(
                f"{sentence.where}: labels of {first_token(min(both))} are in the last column and in another one; "
                "expected one column of tags: remove the others, for example with cut -f 1,2"
            )
        written = sentence.column(-1)
        tags = tags_from_spans(_spans(written, sentence), num_tokens=len(sentence.rows), scheme="BIOUL")
        document = f"{sentence.name} {sentence.document}" if sentence.document else ""
        yield TaggedSentence(tokens=sentence.column(0), tags=tags, written=written, document=document)


def _tagged_characters(lines: Iterable[str], *, name: str) -> Iterator[ColumnSentence]:
    """Read sentences of KLUE-NER. Below a comment, each line has a character (or a space), a tab and a tag.

    Raises ValueError, naming `name` and the line, for a line of another kind.
    """
    rows: list[list[str]] = []
    for number, line in enumerate(chain(lines, [""]), start=1):
        if line and not line.startswith(_KLUE_COMMENT):
            character, tab, tag = line.partition("\t")
            if not tab or len(character) != 1 or not tag.strip():
                raise ValueError(f"{name}, line {number}: {first_token(line)}; expected a character, a tab and its tag")
            rows.append([character, tag.strip()])
        elif rows:
            yield ColumnSentence(name, number - len(rows), rows)
            rows = []


def _of_characters(sentences: Iterable[ColumnSentence]) -> Iterator[TaggedSentence]:
    for sentence in sentences:
        text = "".join(sentence.column(0))
        tokens = tokenize(text)
        if tokens:
            spans = list(_of_tokens(_spans(sentence.column(1), sentence), token_offsets(text, tokens)))
            tags, written = (tags_from_spans(spans, num_tokens=len(tokens), scheme=each) for each in ("BIOUL", "BIO"))
            yield TaggedSentence(tokens=tokens, tags=tags, written=written, text=text)


def _of_tokens(spans: Iterable[Span], offsets: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Turn spans of characters into spans of the tokens at these offsets. The first span of a token keeps it."""
    after = 0
    for span in spans:
        while after < len(offsets) and offsets[after][1] <= span.first:
            after += 1
        first = after
        while after < len(offsets) and offsets[after][0] <= span.last:
            after += 1
        if first < after:
            yield Span(span.label, first, after - 1)


def _spans(tags: Sequence[str], sentence: ColumnSentence) -> list[Span]:
    try:
        return spans_from_tags(tags)
    except ValueError as error:
        raise ValueError(f"{sentence.where}, {error}") from None


def _kinds(tags: Iterable[str]) -> set[str]:
    """The labels of tags. Chunks have other labels than names, and a lemma such as B-52 matches neither."""
    return {tag[2:] for tag in tags if tag[:2] in ("B-", "I-")}


def _check_columns(sentence: ColumnSentence, first: ColumnSentence) -> None:
    if 2 <= sentence.num_columns == first.num_columns:
        return
    row, where = first_token(" ".join(sentence.rows[0])), sentence.line(0)
    if sentence.num_columns < 2:
        raise ValueError(f"{where}: {row} has one column; expected a token and its tag, separated by a tab or spaces")
    raise ValueError(f"{where}: {sentence.num_columns} columns, but {first.num_columns} at {first.line(0)}: {row}")


# Recipes. A is AllenNLP's ner.jsonnet and ner_elmo.jsonnet, which reproduce the paper.
def paper() -> TaskConfig:
    """Peters et al. (2018), appendix, but with GloVe's 50-d vectors (give their file) instead of Senna's."""
    return TaskConfig(
        model=TaggerConfig(output_dropout_rate=0.5),  # A, as the other rate; the paper gives none
        inputs=InputConfig(
            word_dim=50,  # paper
            train_word_vectors=True,  # paper
            min_word_count=2,  # ours: rare words that the file lacks teach the unknown word its vector
            character_dim=16,  # paper
            character_filters=((3, 128),),  # paper
            elmo=ElmoInput(position="input", penalty=0.1),  # paper; the penalty is its lambda
        ),
        training=TrainingConfig(
            learning_rate=0.001,  # paper, Adam, constant
            batch_size=64,  # A
            max_epochs=75,  # A
            patience=25,  # A
            clip_norm=5.0,  # paper
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: all sentences of CoNLL-2003, half the widths, few epochs.

    The learning rate, the dropout rates and ELMo's `rescale` are ours: experiments/LOG.md, 2026-11-21.
    """
    return variant(
        paper(),
        model={"first_dim": 100, "second_dim": 64, "dropout_rate": 0.3, "output_dropout_rate": 0.3},
        inputs={"character_filters": ((3, 64),)},
        elmo={"rescale": True},
        training={"learning_rate": 0.003, "decay": 0.95, "batch_size": 32, "max_epochs": 8, "patience": 8},
    )


def cpu_ko() -> TaskConfig:
    """`cpu` for KLUE-NER, with the Korean biLM. Word vectors start at random, and few eojeol occur twice."""
    few = {"max_epochs": 15, "patience": 15}  # an epoch has a fifth of the steps of one on CoNLL-2003
    return variant(cpu(), elmo={"model": "mini-ko"}, training=few)


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a sentence, with its kind."""

    label: str
    text: str
    """As the sentence spells it: `sentence.text[start:end]`."""
    first: int
    last: int
    """Indices of the first and the last token, both part of the entity."""
    start: int
    end: int
    """Offsets of the characters; `end` is exclusive."""


@dataclass(frozen=True, repr=False)
class TaggedText(Prediction):
    """A sentence with its tags and entities."""

    text: str
    """The sentence as it was given, or the tokens joined by spaces if only tokens were given."""
    tokens: list[str]
    tags: list[str]
    """A tag for each token, in BIO: `B-PER` begins an entity, `I-PER` continues it, `O` is none."""
    entities: list[Entity]

    def __repr__(self) -> str:
        entities = ", ".join(f"{found.label} {found.text!r} {found.start}:{found.end}" for found in self.entities)
        return f"<TaggedText {shortened(self.text)}: {entities or 'no entities'}>"


class NamedEntities(SpanTask[TaggedSentence, list[str]]):
    """Tokens -> BIOUL tags; an example is a sentence."""

    name = "named-entities"
    # train, dev and test files of CoNLL-2003; CoNLL-2002 (two languages); CoNLL-2012; WNUT-17; KLUE-NER as split by
    # elmokit, and as published (without its test set); CoNLL-2003 under its other usual names
    files: ClassVar[FileNames] = (
        ("eng.train", "eng.testa", "eng.testb"),
        ("esp.train", "esp.testa", "esp.testb"),
        ("ned.train", "ned.testa", "ned.testb"),
        ("train.english.v4_gold_conll", "dev.english.v4_gold_conll", "test.english.v4_gold_conll"),
        ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
        ("train.conll", "dev.conll", "test.conll"),
        ("klue-ner-v1.1_train.tsv", "klue-ner-v1.1_dev.tsv", "klue-ner-v1.1_test.tsv"),
        ("train.txt", "valid.txt", "test.txt"),
    )
    line_is_sentence = True
    model_config = TaggerConfig
    model = "elmokit.tasks.task_model:NameTagger"
    recipes: ClassVar[Recipes] = {
        "paper": paper,
        "cpu": cpu,
        "cpu-converged": partial(until_converged, cpu),
        "cpu-ko": cpu_ko,
    }

    def read(self, path: Path, config: TaggerConfig, training: bool) -> Reading[TaggedSentence]:
        return Reading(list(read_tagged_sentences(path)))

    def symbols(self, examples: Iterable[TaggedSentence]) -> list[str]:
        """`O`, and all four tags of every kind of entity, so that every span can be written."""
        kinds = {tag[2:] for example in examples for tag in example.tags if tag != "O"}
        return ["O", *(f"{prefix}-{kind}" if kind else prefix for kind in sorted(kinds) for prefix in "BILU")]

    def score(self, examples: Sequence[TaggedSentence], predictions: Sequence[Sequence[str]]) -> dict[str, float]:
        """The overall scores of conlleval, and the F1 of each kind of entity.

        Tags are compared in the scheme of the examples' file, because the accuracy of tokens depends on the scheme.
        """
        gold = [example.written or example.tags for example in examples]
        scheme = tagging_scheme(gold)
        result = score_spans(gold=gold, predicted=[_in_scheme(tags, scheme) for tags in predictions])
        return span_scores(result, token_accuracy=result.tokens.percent)

    def from_json(self, fields: Mapping[str, Any]) -> TaggedSentence:
        """Read `{"tokens": ["Jane", "lives", "in", "Seoul"]}`, or `{"text": "Jane lives in Seoul"}`, or both."""
        tokens, text = sentence_of(fields, where="the sentence")
        return TaggedSentence(tokens, [], text=text)

    def to_text(self, predictions: Iterable[tuple[TaggedSentence, Sequence[str]]]) -> Iterator[str]:
        """Lines as conlleval reads them: a token, its gold tag if there is one, and the predicted tag, in BIO.

        Spaces separate these columns, so spaces within a token or a tag become `_`.
        """
        for example, predicted in predictions:
            tags = [example.tags, predicted] if example.tags else [predicted]
            columns = [example.tokens, *(_in_scheme(each, "BIO") for each in tags)]
            rows = zip(*columns, strict=True)
            yield "".join(" ".join(cell.replace(" ", "_") for cell in row) + "\n" for row in rows)

    def result(self, example: TaggedSentence, prediction: Sequence[str]) -> TaggedText:
        located = Passage.of(example.tokens, example.text)
        spans = [(span.label, located.span(span.first, span.last)) for span in spans_from_tags(prediction)]
        return TaggedText(
            text=located.text,
            tokens=example.tokens,
            tags=_in_scheme(prediction, "BIO"),
            entities=[Entity(label, span.text, span.first, span.last, span.start, span.end) for label, span in spans],
        )


def _in_scheme(tags: Sequence[str], scheme: str) -> list[str]:
    return tags_from_spans(spans_from_tags(tags), num_tokens=len(tags), scheme=scheme)


TASK = NamedEntities()
