"""The word-tagging task: an example is a sentence of CoNLL-U, or of columns with the word first and its tag last.

The score is accuracy; the output is CoNLL-U or JSON.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elmokit.files.lines import read_lines, with_head
from elmokit.metrics.score import Accuracy
from elmokit.system.messages import warn_caller
from elmokit.system.paths import expanded
from elmokit.tasks.config import (
    ElmoInput,
    FileNames,
    InputConfig,
    Recipes,
    Splits,
    TaggerConfig,
    TaskConfig,
    TrainingConfig,
    until_converged,
)
from elmokit.tasks.task import Passage, Prediction, Reading, Task, find_splits, sentence_of, shortened
from elmokit.text.corpora import conllu
from elmokit.text.corpora.columns import ColumnSentence, column_sentences, with_words_first, without_documents

if TYPE_CHECKING:
    from elmokit.tasks.task_model import WordTags

_UD_TRAIN = "*-ud-train.conllu"
_NONE = "_"
_SENTENCES_LOOKED_AT = 50
_COLUMN = re.compile(r"upos|xpos|[A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?")


@dataclass(frozen=True, slots=True)
class TaggedWords:
    """Words, with one tag each."""

    tokens: list[str]
    tags: list[str]
    """Empty if a word of the sentence has no tag."""
    source: conllu.ConlluSentence | None = field(default=None, compare=False)
    """The sentence as it is in its file; None if the file is not CoNLL-U."""
    text: str | None = field(default=None, compare=False)
    """The text that the tokens are from; None if only the tokens are known."""
    document: str = field(default="", compare=False)
    """File and name of its document; empty if the file does not separate documents."""


def read_tagged_words(path: str | os.PathLike[str], *, column: str) -> Iterator[TaggedWords]:
    """Read CoNLL-U, if the first line that is not a comment has ten columns, and other columns otherwise.

    column: for CoNLL-U, `upos`, `xpos`, or the name of a feature. A word without the feature has the tag `_`. Ranges of
        words (`1-2`) and empty nodes (`2.1`) are left out. In other files, the last column is read.
    Raises ValueError, with the file and the line, for malformed rows and for a file without sentences. Warns if a tenth
    of the sentences are very long.
    """
    name = os.fspath(path)
    lines, head = with_head(read_lines(path), num_lines=1)
    sentences = _of_conllu(lines, column, name=name) if conllu.is_conllu(head) else _of_columns(lines, name=name)
    expected = "CoNLL-U, or a word and its tag on each line"
    yield from without_documents(sentences, lambda each: [each.tokens], name=name, expected=expected)


def _of_conllu(lines: Iterable[str], column: str, *, name: str) -> Iterator[TaggedWords]:
    document = ""
    for sentence in conllu.read_conllu(lines, name=name):
        if (begun := sentence.comment("newdoc id")) is not None:
            document = f"{name} {begun}"
        tags = [tag_of(row, column) for row in sentence.words]
        is_tagged = column not in conllu.COLUMNS or _NONE not in tags
        words = [row[conllu.FORM] for row in sentence.words]
        text = sentence.comment("text")
        is_same = text is not None and "".join(text.split()) == "".join("".join(words).split())
        yield TaggedWords(words, tags if is_tagged else [], sentence, text if is_same else None, document)


def _of_columns(lines: Iterable[str], *, name: str) -> Iterator[TaggedWords]:
    sentences = with_words_first(column_sentences(lines, name=name))
    head = list(islice(sentences, _SENTENCES_LOOKED_AT))
    _warn_of_lemmas(head, name=name)
    for sentence in chain(head, sentences):
        if sentence.num_columns < 2:
            raise ValueError(f"{sentence.line(0)}: there is one column; expected a word and its tag, or CoNLL-U")
        yield TaggedWords(sentence.column(0), sentence.column(-1))


def _warn_of_lemmas(sentences: Sequence[ColumnSentence], *, name: str) -> None:
    """Warn if the last of several columns has nearly as many different values as the words (lemmas, as in TreeTagger).

    In the first 300 to 1,000 words of seven treebanks, lemmas have at least 0.68 times as many values, features and
    tags up to 0.67 times (300 words) or 0.58 times (1,000 words).
    """
    words = [word for sentence in sentences for word in sentence.column(0)]
    tags = [tag for sentence in sentences for tag in sentence.column(-1)]
    num_columns = max((sentence.num_columns for sentence in sentences), default=0)
    if num_columns > 2 and len(words) >= 300 and len({*tags}) > 0.67 * len({*words}):
        warn_caller(
            f"{name}: the last of {num_columns} columns is read as the tag, but it has {len({*tags}):,} different "
            f"values in {len(words):,} words, as lemmas do; write the words and tags to another file, for example with "
            "cut -f 1,2"
        )


def tag_of(row: Sequence[str], column: str) -> str:
    if column in conllu.COLUMNS:
        return row[conllu.COLUMNS.index(column)]
    features = (feature.partition("=") for feature in row[conllu.FEATS].split("|"))
    return next((value for name, _, value in features if name == column), _NONE)


def _report_missing(feature: str, sentences: Iterable[TaggedWords], *, name: str) -> None:
    """Report on stderr if the words of CoNLL-U never have a feature, and which features they have."""
    words = [row for sentence in sentences if sentence.source for row in sentence.source.words]
    features = {each.partition("=")[0] for row in words for each in row[conllu.FEATS].split("|")} - {_NONE}
    if words and feature not in features:
        known = ", ".join(sorted(features)) or "no features"
        print(f"{name}: no word has the feature {feature}; the words have {known}", file=sys.stderr)


def with_tag(row: Sequence[str], column: str, tag: str) -> list[str]:
    cells = list(row)
    if column in conllu.COLUMNS:
        cells[conllu.COLUMNS.index(column)] = tag
        return cells
    others = [each for each in cells[conllu.FEATS].split("|") if each != _NONE and each.partition("=")[0] != column]
    features = others if tag == _NONE else [*others, f"{column}={tag}"]
    cells[conllu.FEATS] = "|".join(sorted(features, key=str.lower)) or _NONE
    return cells


@dataclass(frozen=True)
class TagsConfig(TaggerConfig):
    """Sizes of the tagger, and what it tags."""

    column: str = "upos"
    """What to read from CoNLL-U: upos, xpos, or a feature, such as Case. In other files, the last column is read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.column in ("UPOS", "XPOS"):
            object.__setattr__(self, "column", self.column.lower())
        if not _COLUMN.fullmatch(self.column):
            raise ValueError(f"column is {self.column!r}; expected upos, xpos, or the name of a feature, such as Case")


def cpu() -> TaskConfig:
    """Trains in minutes on one core, with the settings of named entities."""
    return TaskConfig(
        model=TagsConfig(first_dim=100, second_dim=64, dropout_rate=0.3, output_dropout_rate=0.3),
        inputs=InputConfig(
            min_word_count=2,  # rare words teach the unknown word its vector
            character_dim=16,
            character_filters=((3, 64),),
            elmo=ElmoInput(rescale=True, penalty=0.1),
        ),
        training=TrainingConfig(
            learning_rate=0.003,
            decay=0.95,
            batch_size=32,
            max_epochs=8,
            min_epoch_steps=100,  # 100 sentences have 4 batches; ours: experiments/LOG.md, 2026-11-29
            patience=8,
            clip_norm=5.0,
        ),
    )


@dataclass(frozen=True, repr=False)
class TaggedTokens(Prediction):
    """A sentence with a tag for each word."""

    text: str
    """The sentence as it was given, or the tokens joined by spaces if only tokens were given."""
    tokens: list[str]
    tags: list[str]

    def __repr__(self) -> str:
        pairs = " ".join(f"{token}/{tag}" for token, tag in zip(self.tokens, self.tags, strict=True))
        return f"<TaggedTokens {shortened(pairs)}>"


class Tags(Task[TaggedWords, "WordTags"]):
    """Words -> tags; an example is a sentence."""

    name = "tags"
    metric = "accuracy"
    files: ClassVar[FileNames] = (("train.conllu", "dev.conllu", "test.conllu"), ("train.txt", "dev.txt", "test.txt"))
    line_is_sentence = True
    model_config = TagsConfig
    model = "elmokit.tasks.task_model:WordTagger"
    recipes: ClassVar[Recipes] = {"cpu": cpu, "cpu-converged": partial(until_converged, cpu)}

    def find(self, folder: Path) -> Splits:
        """The files of a treebank of Universal Dependencies (`en_ewt-ud-train.conllu`), or one of `files`."""
        found = sorted(expanded(folder).glob(_UD_TRAIN))
        name = found[0].name.removesuffix("train.conllu") if len(found) == 1 else ""
        names = [(f"{name}train.conllu", f"{name}dev.conllu", f"{name}test.conllu")] if name else []
        without_dev = [(train, "", test) for train, _, test in (*names, *self.files)]
        return find_splits(folder, [*names, *self.files, *without_dev], task_name=self.name)

    def read(self, path: Path, config: TagsConfig, training: bool) -> Reading[TaggedWords]:
        reading = Reading[TaggedWords]([])
        for sentence in read_tagged_words(path, column=config.column):
            if sentence.tags:
                reading.examples.append(sentence)
            else:
                reading.skipped["sentences with a word without a tag"] += 1
        if training and config.column not in conllu.COLUMNS:
            _report_missing(config.column, reading.examples, name=os.fspath(path))
        return reading

    def read_to_predict(self, path: Path, config: TagsConfig, *, as_text: bool) -> Reading[TaggedWords]:
        """For output as text, read all sentences, with or without tags."""
        if as_text:
            return Reading(list(read_tagged_words(path, column=config.column)))
        return self.read(path, config, False)

    def symbols(self, examples: Iterable[TaggedWords]) -> list[str]:
        return sorted({tag for example in examples for tag in example.tags})

    def score(self, examples: Sequence[TaggedWords], predictions: Sequence[WordTags]) -> dict[str, float]:
        """Accuracy over all words, over words with vectors learnt in training, and over the other words, if any."""
        hits: dict[str, list[bool]] = {"accuracy": [], "accuracy_known": [], "accuracy_unknown": []}
        for example, made in zip(examples, predictions, strict=True):
            for gold, guess, is_known in zip(example.tags, made.tags, made.known, strict=True):
                hits["accuracy"].append(gold == guess)
                hits["accuracy_known" if is_known else "accuracy_unknown"].append(gold == guess)
        return {name: Accuracy(sum(found), len(found)).percent for name, found in hits.items() if found}

    def from_json(self, fields: Mapping[str, Any]) -> TaggedWords:
        """Read `{"tokens": ["It", "rains"]}`, or `{"text": "It rains"}`, or both."""
        tokens, text = sentence_of(fields, where="the sentence")
        return TaggedWords(tokens, [], text=text)

    def to_text(self, predictions: Iterable[tuple[TaggedWords, WordTags]]) -> Iterator[str]:
        """Lines of CoNLL-U: the lines of the file with the predicted tags, or new lines."""
        for example, prediction in predictions:
            tags = iter(prediction.tags)
            comments, rows = ([], []) if example.source is None else (example.source.comments, example.source.rows)
            rows = rows or [[str(number), token, *"________"] for number, token in enumerate(example.tokens, start=1)]
            tagged = [with_tag(row, prediction.column, next(tags)) if row[0].isdecimal() else row for row in rows]
            yield "".join(f"{line}\n" for line in [*comments, *map("\t".join, tagged)])

    def result(self, example: TaggedWords, prediction: WordTags) -> TaggedTokens:
        return TaggedTokens(Passage.of(example.tokens, example.text).text, example.tokens, prediction.tags)


TASK = Tags()
