"""The task of sentiment: an example is a text, from trees or tables; the score is accuracy; the output is a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.files.json_fields import Fields
from elmokit.tasks.sentiment.reader import LabelledText, read_texts
from elmokit.tasks.sentiment.recipes import RECIPES, SentimentConfig
from elmokit.tasks.task import (
    Prediction,
    Reading,
    Task,
    build_model,
    find_splits,
    label_scores,
    own_tokens,
    shortened,
    shown_labels,
)
from elmokit.tasks.text_spans import tokens_of
from elmokit.text.corpora.tables import as_tsv

if TYPE_CHECKING:
    from elmokit.tasks.task_model import LabelPrediction

# train, dev and test files of the Stanford Sentiment Treebank's trees; tables, such as NSMC as split by elmokit; NSMC
# as published, of whose training file a share is the development set
_FILES = (
    ("train.txt", "dev.txt", "test.txt"),
    ("train.tsv", "dev.tsv", "test.tsv"),
    ("ratings_train.txt", "", "ratings_test.txt"),
)


def read(path: Path, config: SentimentConfig, training: bool) -> Reading[LabelledText]:
    """Read phrases of trees only for training. Texts that have none of the classes, or no tokens, are skipped."""
    reading = Reading[LabelledText]([])
    for text in read_texts(path, num_classes=config.num_classes, phrases=training and config.phrases):
        if text.label is None:
            reading.skipped["neutral"] += 1
        elif not text.tokens:
            reading.skipped["without a word"] += 1
        elif training and config.phrases and len(text.tokens) < config.min_phrase_tokens:
            reading.skipped[f"shorter than {config.min_phrase_tokens} tokens"] += 1
        else:
            reading.examples.append(text)
    return reading


def symbols(examples: Iterable[LabelledText]) -> list[str]:
    return sorted({example.label for example in examples if example.label is not None})


def from_text(line: str) -> LabelledText:
    return LabelledText(tokens=tokens_of(line), label=None)


def from_json(fields: Mapping[str, Any]) -> LabelledText:
    """Read `{"text": "It's good."}`, or `{"tokens": ["It", "'s", "good", "."]}`."""
    text = Fields("the text", fields)
    if "tokens" not in text:
        return from_text(text.text("text"))
    return LabelledText(tokens=text.tokens("tokens"), label=None)


def to_text(example: LabelledText, prediction: LabelPrediction) -> str:
    """A row of a table: the label, a tab and the tokens."""
    return as_tsv([[prediction.label, " ".join(example.tokens)]])[:-1]


def result(example: LabelledText, prediction: LabelPrediction) -> TextSentiment:
    return TextSentiment(example.tokens, prediction.label, prediction.probabilities)


def _sentence(text: LabelledText) -> tuple[str, ...]:
    """The words that a sentence shares with its phrases, and with its copies; those of a text that is from no tree."""
    return tuple(text.sentence or text.tokens)


@dataclass(frozen=True, repr=False)
class TextSentiment(Prediction):
    """A text with the most probable label."""

    tokens: list[str]
    label: str
    probabilities: dict[str, float]
    """Of each label."""

    def __repr__(self) -> str:
        return f"<TextSentiment {shortened(' '.join(self.tokens))}: {shown_labels(self.label, self.probabilities)}>"


TASK: Task[LabelledText, LabelPrediction] = Task(
    name="sentiment",
    metric="accuracy",
    find=partial(find_splits, names=_FILES, task_name="sentiment"),
    read=read,
    sentences=own_tokens,
    symbols=symbols,
    build=partial(build_model, "elmokit.tasks.sentiment.model:SentimentClassifier"),
    score=label_scores,
    recipes=RECIPES,
    model_config=SentimentConfig,
    from_text=from_text,
    from_json=from_json,
    to_text=to_text,
    result=result,
    keep_together=_sentence,
)
