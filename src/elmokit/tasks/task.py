"""The `Task` interface that the loop, the command line and `load_task` use; task names; and types for results.

Imports no torch, and imports a task only when it is requested.
"""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from elmokit.files.json import picked
from elmokit.files.lines import NOT_IN_A_TOKEN
from elmokit.metrics.score import Score, scores_by_label
from elmokit.system.messages import FormatError, did_you_mean, first_token, printable
from elmokit.tasks.config import FileNames, Recipes, Splits, TaskConfig, with_settings
from elmokit.text.alignment import token_offsets
from elmokit.text.corpora.tables import as_tsv
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from elmokit.metrics.roles import RoleScore
    from elmokit.metrics.spans import SpanScore
    from elmokit.tasks.inputs import TokenInputs
    from elmokit.tasks.task_model import LabelPrediction, TaskModel


E = TypeVar("E")  # an example, as a reader gives it: for instance a sentence with its tags
P = TypeVar("P")  # a prediction for one example
_MOST_CHARACTERS = 60
TASKS = {
    "named-entities": "ner",
    "semantic-roles": "srl",
    "coreference": "coref",
    "entailment": "nli",
    "question-answering": "qa",
    "sentiment": "sst",
    "tags": "pos",
}
"""Name -> short name. The module `task` in the folder of that name defines the task as `TASK`."""


@dataclass
class Reading(Generic[E]):
    """The examples of a file, and how many were skipped, by reason."""

    examples: list[E]
    skipped: Counter[str] = field(default_factory=lambda: Counter[str]())


@dataclass(frozen=True)
class Prediction:
    """The result for one example. Each task has a frozen dataclass of lists, strings and numbers that implements it."""

    def to_dict(self) -> dict[str, Any]:
        """The object that `elmokit predict --format json` writes."""
        return asdict(self)


class Task(ABC, Generic[E, P]):
    """Everything that differs between tasks. A task is a subclass without state; its only instance is `TASK`."""

    name: ClassVar[str]
    """Name on the command line and in run folders, for instance `named-entities`."""
    metric: ClassVar[str]
    """Name of the score that decides which epoch is best: a percentage, higher is better."""
    files: ClassVar[FileNames] = ()
    """The original names of known data sets, for `find_splits`."""
    model_config: ClassVar[type[Any]]
    """Type of `TaskConfig.model`."""
    model: ClassVar[str]
    """Where to import the model's class, or a function that builds the model: `module:name`. The module needs torch."""
    recipes: ClassVar[Recipes]
    """Recipes by name: `paper` has the published sizes, `cpu` trains in minutes on two cores, `cpu-converged` until the
    score stops improving."""
    symbols_are_labels: ClassVar[bool] = True
    """Whether the symbols are labels; false if they are something else, such as genres."""
    text_fields: ClassVar[tuple[str, ...]] = ("text",)
    """The JSON fields that a line of raw text contains, separated by tabs."""
    line_is_sentence: ClassVar[bool] = False
    """Whether a line of raw text is one sentence; false if it may have several."""
    other_forms: ClassVar[Mapping[str, Callable[[Iterable[Any]], Iterator[str]]]] = {}
    """Output formats other than text and JSON, by name, such as the file that SQuAD's own script scores. Each function
    receives pairs of an example and its prediction."""

    def find(self, folder: Path) -> Splits:
        """Find a data set's files in a folder. Raises ValueError, listing the expected names, if there is none."""
        return find_splits(folder, self.files, task_name=self.name.replace("-", " "))

    @abstractmethod
    def read(self, path: Path, config: Any, training: bool) -> Reading[E]:
        """Read the examples of a file, for training or for evaluation. config: the model's (`TaskConfig.model`)."""

    def read_to_predict(self, path: Path, config: Any, *, as_text: bool) -> Reading[E]:
        """Read the examples of a file to predict. An example without labels still says what to predict.

        as_text: the output repeats the file as text, so a block with nothing to predict is an example too.
        """
        return self.read(path, config, False)

    def sentences(self, example: Any) -> Sequence[Sequence[str]]:
        """All sentences of an example that the model needs vectors for. A run keeps their words and activations."""
        return [example.tokens]

    def keep_together(self, example: Any) -> Hashable:
        """A key: examples with the same key go to the same set, training or development.

        By default, the key is the example's document; without a document, its sentences.
        """
        return getattr(example, "document", "") or tuple(map(tuple, self.sentences(example)))

    @abstractmethod
    def symbols(self, examples: Iterable[E]) -> list[str]:
        """The names that the model must know from the training set, in a fixed order. For most tasks these are labels,
        for coreference genres. A task without such names returns an empty list.
        """

    def label_names(self, symbols: Iterable[str]) -> list[str]:
        """The labels that the symbols encode. For instance, tags encode kinds of entities."""
        return list(symbols)

    def build(self, config: Any, inputs: TokenInputs, symbols: Sequence[str]) -> TaskModel:
        """Build the model with fresh weights. Only this imports the model's module."""
        module, _, name = self.model.partition(":")
        return getattr(importlib.import_module(module), name)(config, inputs, symbols)

    @abstractmethod
    def score(self, examples: Sequence[E], predictions: Sequence[P]) -> Mapping[str, float]:
        """Scores by name, computed as the official scorer does."""

    @abstractmethod
    def from_json(self, fields: Mapping[str, Any]) -> E:
        """Make an unlabelled example from the fields of a JSON object. Raises ValueError if that is not possible."""

    @abstractmethod
    def to_text(self, predictions: Iterable[tuple[E, P]]) -> Iterator[str]:
        """Yield examples and their predictions as lines in the task's usual format; the last line has no line feed.

        In a format that ends a sentence with a blank line, that line comes last. Examples of one block, such as the
        predicates of a sentence, must be adjacent.
        """

    @abstractmethod
    def result(self, example: E, prediction: P) -> Prediction:
        """The result that users get for an example and its prediction."""

    def from_text(self, line: str) -> E:
        """Make an unlabelled example from a line of raw text, tokenised by `elmokit.tokenize`.

        Raises ValueError if it cannot.
        """
        parts = line.split("\t") if len(self.text_fields) > 1 else [line]
        if len(parts) != len(self.text_fields):
            expected = " and ".join(self.text_fields)
            raise ValueError(f"{first_token(line)} has {len(parts) - 1} tabs; expected {expected}, separated by a tab")
        return self.from_json(dict(zip(self.text_fields, parts, strict=True)))

    def recipe(self, name: str) -> TaskConfig:
        """The config of a recipe. Raises ValueError if the task has no recipe of that name."""
        if name not in self.recipes:
            raise ValueError(f"unknown recipe {name!r} of {self.name}; expected one of {', '.join(self.recipes)}")
        return self.recipes[name]()


class LabelTask(Task[Any, "LabelPrediction"]):
    """A task whose examples have a `label`. An unknown label is None."""

    metric = "accuracy"

    def symbols(self, examples: Iterable[Any]) -> list[str]:
        return sorted({example.label for example in examples if example.label is not None})

    def score(self, examples: Sequence[Any], predictions: Sequence[LabelPrediction]) -> dict[str, float]:
        """Accuracy, and the mean F1 of the labels, in percent. Every example must have a label."""
        pairs = [(example.label, each.label) for example, each in zip(examples, predictions, strict=True)]
        gold, predicted = ({(label, number) for number, label in enumerate(side)} for side in zip(*pairs, strict=True))
        by_label = scores_by_label(gold=gold, predicted=predicted)
        accuracy = sum(by_label.values(), Score()).recall
        return {"accuracy": accuracy, "macro_f1": fmean(score.f1 for score in by_label.values())}

    def to_text(self, predictions: Iterable[tuple[Any, LabelPrediction]]) -> Iterator[str]:
        """Rows of a table: the predicted label and the tokens of each sentence, separated by tabs."""
        for example, prediction in predictions:
            yield as_tsv([[prediction.label, *map(" ".join, self.sentences(example))]])[:-1]


class SpanTask(Task[E, P]):
    """A task whose tags encode spans with labels: `B-PER` has the label `PER`, and `O` has none."""

    metric = "f1"

    def label_names(self, symbols: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(re.sub("^[BILU]-", "", tag) for tag in symbols if tag != "O"))


def span_scores(score: SpanScore | RoleScore, **others: float) -> dict[str, float]:
    """The overall scores of spans, other scores, and the F1 of each label, by name."""
    overall, of_labels = score.overall, {f"f1_{label}": each.f1 for label, each in score.by_label.items()}
    return {"f1": overall.f1, "precision": overall.precision, "recall": overall.recall, **others, **of_labels}


def find_splits(folder: Path, names: FileNames, *, task_name: str) -> Splits:
    """Find the first of the named data sets (train, dev and test file) in a folder; the test file may be missing.

    If the name of the development file is "", the data set has none. A name may mean a part of a file: `train.json#4:`.

    Raises ValueError, listing the names, if the folder has none of the data sets.
    """
    for train, dev, test in names:
        if all((folder / name.partition("#")[0]).is_file() for name in (train, dev) if name):
            held_out = folder / test
            return Splits((folder / train,), (folder / dev,) if dev else (), (held_out,) if held_out.is_file() else ())
    known = "; ".join(", ".join(dict.fromkeys(name.partition("#")[0] for name in files if name)) for files in names)
    found = f"has no data set of {task_name}; expected" if folder.exists() else "does not exist; expected a folder with"
    raise ValueError(
        f"{folder} {found} one of these sets of files: {known} (to train on files: --train FILE, or "
        "data=Splits(train=...))"
    )


def shortened(text: str) -> str:
    """The text in quotes, cut to `_MOST_CHARACTERS`."""
    return repr(text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}...")


def shown_labels(label: str, probabilities: dict[str, float]) -> str:
    return f"{label} ({probabilities[label]:.1%})"


def find_task(name: str) -> Task[Any, Any]:
    """Import a task by its name or short name (`ner`), in upper or lower case.

    Raises ValueError, suggesting the nearest name, if there is no such task.
    """
    known = name.lower().replace("_", "-")
    for task, short_name in TASKS.items():
        if known in (task, short_name):
            return importlib.import_module(f"elmokit.tasks.{task.replace('-', '_')}.task").TASK
    hint = did_you_mean(known, [*TASKS, *TASKS.values()])
    raise ValueError(f"unknown task {name!r}; {hint}the tasks are {named_tasks()}")


def named_tasks() -> str:
    return ", ".join(f"{name} ({short_name})" for name, short_name in TASKS.items())


def task_recipe(task: str, name: str = "cpu", settings: Sequence[str] = ()) -> TaskConfig:
    """The config of a task's recipe (`cpu` trains in minutes, `paper` has the published sizes), changed by `settings`.

    settings: changes written as `field=value`. Raises ValueError for an unknown task, recipe or field, and for a wrong
    value.
    """
    return with_settings(find_task(task).recipe(name), settings)


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Some consecutive tokens of a text."""

    text: str
    """As the text spells it: `whole[start:end]`."""
    first: int
    last: int
    """Indices of the first and the last token, both part of the span."""
    start: int
    end: int
    """Offsets of the characters; `end` is exclusive."""

    def __repr__(self) -> str:
        return f"<{self.text!r} {self.start}:{self.end}>"


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, its tokens, and the character offsets at which each token begins and ends (the end is exclusive)."""

    text: str
    tokens: list[str]
    offsets: list[tuple[int, int]]

    @classmethod
    def of(cls, tokens: list[str], text: str | None) -> Passage:
        """Find the tokens in their text. Without a text, join them with spaces.

        Raises ValueError, naming the token, if tokens and text differ.
        """
        if text is not None:
            return cls(text, tokens, token_offsets(text, tokens))
        offsets: list[tuple[int, int]] = []
        start = 0
        for token in tokens:
            offsets.append((start, start + len(token)))
            start += len(token) + 1
        return cls(" ".join(tokens), tokens, offsets)

    def span(self, first: int, last: int) -> TextSpan:
        """The span from the first to the last token, both included."""
        start, end = self.offsets[first][0], self.offsets[last][1]
        return TextSpan(self.text[start:end], first, last, start, end)


def tokens_of(text: str, *, where: str = "") -> list[str]:
    """The tokens of a text. Raises ValueError if there are none; its message begins with `where`."""
    tokens = tokenize(text)
    if not tokens:
        raise ValueError(f"{where}{first_token(text)} has no tokens; expected at least one word")
    return tokens


@dataclass(frozen=True)
class _TextOrTokens:
    text: str | None = None
    tokens: list[str] | None = None


def text_and_tokens(values: Mapping[str, object], *, where: str) -> tuple[str | None, list[str] | None]:
    """The text in a JSON object, its tokens, or both. Raises ValueError if both are missing, or if they differ."""
    given = picked(values, _TextOrTokens, where=where)
    if given.tokens is not None:
        check_tokens(given.tokens, where=where)
        Passage.of(given.tokens, given.text)
    elif given.text is None:
        raise FormatError(where, f"is missing; there are {printable(', '.join(values))}", part="field text")
    return given.text, given.tokens


def sentence_of(values: Mapping[str, object], *, where: str) -> tuple[list[str], str | None]:
    """The tokens of a sentence in a JSON object, and their text if it is given."""
    text, tokens = text_and_tokens(values, where=where)
    return (tokens_of(text or "") if tokens is None else tokens), text


def check_tokens(tokens: Sequence[str], *, where: str) -> None:
    r"""Raise ValueError if there are no tokens, or if one is empty or contains spaces, tabs or line ends."""
    if not tokens or not all(token and NOT_IN_A_TOKEN.isdisjoint(token) for token in tokens):
        shown = first_token(str([*tokens]))
        raise FormatError(
            where, f"is {shown}; expected a list of words without spaces and line ends", part="field tokens"
        )
