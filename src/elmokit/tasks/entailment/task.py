"""The task of entailment: an example is a pair of sentences; the score is accuracy; the output is a label per pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.files.json_fields import Fields
from elmokit.system.messages import first_token
from elmokit.tasks.entailment.reader import LABELS, SentencePair, read_sentence_pairs
from elmokit.tasks.entailment.recipes import RECIPES, EntailmentConfig
from elmokit.tasks.task import (
    Prediction,
    Reading,
    Task,
    build_model,
    find_splits,
    label_scores,
    shortened,
    shown_labels,
)
from elmokit.tasks.text_spans import tokens_of
from elmokit.text.corpora.tables import as_tsv

if TYPE_CHECKING:
    from elmokit.tasks.task_model import LabelPrediction

# train, dev and test files of SNLI; a subset of it; MultiNLI, whose test sets have no labels; KLUE-NLI as split by
# elmokit; tables; KLUE-NLI as published (its test set is not); SICK
_FILES = (
    ("snli_1.0_train.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
    ("snli_1.0_train_subset20k.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
    ("multinli_1.0_train.jsonl", "multinli_1.0_dev_matched.jsonl", "multinli_1.0_dev_mismatched.jsonl"),
    ("train.jsonl", "dev.jsonl", "test.jsonl"),
    ("train.tsv", "dev.tsv", "test.tsv"),
    ("klue-nli-v1.1_train.json", "klue-nli-v1.1_dev.json", "klue-nli-v1.1_test.json"),
    ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
)
_PREMISE, _HYPOTHESIS = ("premise", "sentence1"), ("hypothesis", "sentence2")


def read(path: Path, config: EntailmentConfig, training: bool) -> Reading[SentencePair]:
    """Read a file. Pairs that the annotators did not agree on are skipped, both for training and for evaluation."""
    reading = Reading[SentencePair]([])
    for pair in read_sentence_pairs(path):
        if pair.label is None:
            reading.skipped["without a label"] += 1
        else:
            reading.examples.append(pair)
    return reading


def symbols(examples: Iterable[SentencePair]) -> list[str]:
    """All three usual labels, whether they occur or not; if there are others, those that occur."""
    found = {example.label for example in examples if example.label is not None}
    return list(LABELS) if found <= {*LABELS} else sorted(found)


def from_text(line: str) -> SentencePair:
    """Read a line of premise, tab and hypothesis."""
    cells = line.split("\t")
    if len(cells) != 2:
        raise ValueError(f"{first_token(line)} has {len(cells) - 1} tabs; expected a premise, a tab and a hypothesis")
    return from_json({"premise": cells[0], "hypothesis": cells[1]})


def from_json(fields: Mapping[str, Any]) -> SentencePair:
    """Read `{"premise": "It rains.", "hypothesis": "It's dry."}`, or SNLI's names; each is text or a list of tokens."""
    return SentencePair(premise=_tokens(fields, _PREMISE), hypothesis=_tokens(fields, _HYPOTHESIS), label=None)


def to_text(example: SentencePair, prediction: LabelPrediction) -> str:
    """A row of a table: the label, the premise's tokens and the hypothesis's tokens, separated by tabs."""
    return as_tsv([[prediction.label, " ".join(example.premise), " ".join(example.hypothesis)]])[:-1]


def result(example: SentencePair, prediction: LabelPrediction) -> LabelledPair:
    return LabelledPair(example.premise, example.hypothesis, prediction.label, prediction.probabilities)


def _premise(pair: SentencePair) -> tuple[str, ...]:
    """What pairs share: SNLI has each premise three times."""
    return tuple(pair.premise)


def _tokens(fields: Mapping[str, Any], names: tuple[str, str]) -> list[str]:
    pair = Fields("the pair", fields)
    name = next((name for name in names if name in pair), names[0])
    if isinstance(fields.get(name), list):
        return pair.tokens(name)
    return tokens_of(pair.text(name), where=f"the {names[0]} ")


@dataclass(frozen=True, repr=False)
class LabelledPair(Prediction):
    """A premise and a hypothesis with the most probable label."""

    premise: list[str]
    hypothesis: list[str]
    """Tokens of the two sentences."""
    label: str
    probabilities: dict[str, float]
    """Of each label."""

    def __repr__(self) -> str:
        premise, hypothesis = shortened(" ".join(self.premise)), shortened(" ".join(self.hypothesis))
        return f"<LabelledPair {premise}, {hypothesis}: {shown_labels(self.label, self.probabilities)}>"


TASK: Task[SentencePair, LabelPrediction] = Task(
    name="entailment",
    metric="accuracy",
    find=partial(find_splits, names=_FILES, task_name="entailment"),
    read=read,
    sentences=attrgetter("premise", "hypothesis"),
    symbols=symbols,
    build=partial(build_model, "elmokit.tasks.entailment.model:EntailmentClassifier"),
    score=label_scores,
    recipes=RECIPES,
    model_config=EntailmentConfig,
    from_text=from_text,
    from_json=from_json,
    to_text=to_text,
    result=result,
    text_has_tabs=True,
    keep_together=_premise,
)
