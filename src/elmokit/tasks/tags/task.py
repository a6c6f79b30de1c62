"""The task of tagging words: an example is a sentence; the score is accuracy; the output is CoNLL-U or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.metrics.score import Accuracy
from elmokit.system.paths import expanded
from elmokit.tasks.config import (
    ElmoInput,
    InputConfig,
    Splits,
    TaggerConfig,
    TaskConfig,
    TrainingConfig,
    until_converged,
)
from elmokit.tasks.tags.reader import TaggedWords, read_tagged_words, with_tag
from elmokit.tasks.task import Passage, Prediction, Reading, Task, find_splits, sentence_of, shortened

if TYPE_CHECKING:
    from elmokit.tasks.task_model import WordTags

_UD_TRAIN = "*-ud-train.conllu"
_COLUMN = re.compile(r"upos|xpos|[A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?")


@dataclass(frozen=True)
class TagsConfig(TaggerConfig):
    """Sizes of the tagger, and what it tags."""

    column: str = "upos"
    """What is read from CoNLL-U: upos, xpos, or a feature, such as Case. Other files are read in their last column."""

    def __post_init__(self) -> None:
        super().__post_init__()
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
    """The sentence as it was given; the tokens joined by spaces if only these were given."""
    tokens: list[str]
    tags: list[str]

    def __repr__(self) -> str:
        pairs = " ".join(f"{token}/{tag}" for token, tag in zip(self.tokens, self.tags, strict=True))
        return f"<TaggedTokens {shortened(pairs)}>"


class Tags(Task[TaggedWords, "WordTags"]):
    """Words -> tags; an example is a sentence."""

    name = "tags"
    metric = "accuracy"
    files = (("train.conllu", "dev.conllu", "test.conllu"), ("train.txt", "dev.txt", "test.txt"))
    model_config = TagsConfig
    model = "elmokit.tasks.task_model:WordTagger"
    recipes = {"cpu": cpu, "cpu-converged": partial(until_converged, cpu)}

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
        return reading

    def read_to_predict(self, path: Path, config: TagsConfig, *, as_text: bool) -> Reading[TaggedWords]:
        """As text, all sentences, with or without tags."""
        if as_text:
            return Reading(list(read_tagged_words(path, column=config.column)))
        return self.read(path, config, False)

    def symbols(self, examples: Iterable[TaggedWords]) -> list[str]:
        return sorted({tag for example in examples for tag in example.tags})

    def score(self, examples: Sequence[TaggedWords], predictions: Sequence[WordTags]) -> dict[str, float]:
        """Accuracy over all words, over those whose vectors were learnt in training, and over the others, if any."""
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
