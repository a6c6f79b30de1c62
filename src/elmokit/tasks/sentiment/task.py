"""The sentiment task: an example is a text, from trees of the Stanford Sentiment Treebank, tables (NSMC) or JSON.

The score is accuracy; the output is a label.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elmokit.files.lines import lines_and_first
from elmokit.runs.settings import check_bounds, check_choices
from elmokit.system.messages import first_token
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
from elmokit.tasks.task import LabelTask, Prediction, Reading, sentence_of, shortened, shown_labels
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.tables import rows_of
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from elmokit.tasks.task_model import LabelPrediction

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
    """None if the text has none of the classes (neutral, with two classes). Results leave such a text out."""
    sentence: list[str] | None = field(default=None, compare=False)
    """The tokens of the tree's whole sentence, the same for each of its phrases; None for a text that is not from a
    tree."""


def read_texts(path: str | os.PathLike[str], *, num_classes: int = 5, phrases: bool = False) -> Iterator[LabelledText]:
    """Read trees if the first line opens a bracket, otherwise a table with a header, or JSON (`rows_of`).

    There is one tree per line: `(3 (2 It) (4 (2 's) (4 good)))`. A tree gives its sentence or, with `phrases`, all its
    phrases. The sentence comes first, and phrases may be repeated. The labels are `FIVE_CLASSES` (0 to 4 in the file)
    or, for two classes, negative and positive. Tokens become plain (`plain_token`). Blank lines are skipped.
    In a table or JSON, the text is in the column text, document, sentence or review, the label in the column label or
    sentiment. `tokenize` makes the tokens; some texts of NSMC have none.

    Raises ValueError, with the file and the line, for a line that is not one tree, rows that are shorter or longer than
    the header, an empty label, and a file without texts.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    if not first.lstrip().startswith("("):
        for where, (text, label) in rows_of(lines, first, name=name, columns=_COLUMNS):
            if not label:
                raise ValueError(f"{where}: the label is {first_token(label)}; expected a label")
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


# Settings and recipes of the sentiment classifier. A is AllenNLP's BCN (sst_5_bcn.jsonnet and its ELMo twin), which
# reached 51.3 and 54.7 with one seed. The recipe `paper` combines A with what the paper says; each line names its
# source. It has not been run.
CLASSIFIERS = ("bcn", "bilstm", "cnn")
"""Names of the networks in `model.NETWORKS`."""


@dataclass(frozen=True)
class SentimentConfig:
    """What to read from the trees of the Stanford Sentiment Treebank, and the sizes of the classifier.

    The defaults are A's for bcn; the paper has the widths of 300 too.
    """

    num_classes: int = 5
    """Number of classes read from trees: 5, or 2 without neutral. In a table, the labels are the classes."""
    phrases: bool = True
    """Whether to train on all phrases of the trees instead of only the sentences."""
    min_phrase_tokens: int = 1
    """Shorter phrases are skipped in training."""
    classifier: str = "bcn"
    """bcn; bilstm (the encoder, the maximum and mean of its output over the tokens, and a linear layer); or cnn (the
    largest response of each filter over the tokens, and a linear layer)."""
    cnn_filters: tuple[tuple[int, int], ...] = ((3, 100), (4, 100), (5, 100))
    """(width in tokens, number) of the filters of cnn; cnn ignores the other widths."""
    projection_dim: int = 300
    """Width of the ReLU layer between a token's vector and the encoder."""
    encoder_dim: int = 300
    """Width of the first biLSTM, per direction."""
    integrator_dim: int = 300
    """Width of the biLSTM over the biattention, per direction; only bcn has this layer and the maxout layers."""
    maxout_dims: tuple[int, int] = (1200, 600)
    """Widths of the two maxout layers before the last one, which is a maxout layer too (A, after McCann et al., 2017);
    the paper has two ReLU layers here."""
    maxout_pool_size: int = 4
    """Number of linear functions whose maximum is one output of a maxout layer."""
    input_dropout_rate: float = 0.25
    """Dropout of the tokens' vectors. A has 0.5 with ELMo; here the rate is the same with and without it."""
    projection_dropout_rate: float = 0.25
    """Dropout after the ReLU layer."""
    integrator_dropout_rate: float = 0.1
    """Dropout after the second biLSTM; A applies it to the pools, which come after."""
    output_dropout_rates: tuple[float, float] = (0.2, 0.3)
    """Dropout after the first and the second maxout layer; bilstm and cnn use the first rate before their linear
    layer."""

    def __post_init__(self) -> None:
        check_choices(self, {"classifier": CLASSIFIERS})
        check_bounds(
            self,
            positive=("projection_dim", "encoder_dim", "integrator_dim", "maxout_dims", "maxout_pool_size"),
            counts=("min_phrase_tokens",),
            rates=("input_dropout_rate", "projection_dropout_rate", "integrator_dropout_rate", "output_dropout_rates"),
        )
        if not self.cnn_filters or min(map(min, self.cnn_filters)) < 1:
            raise ValueError(f"cnn_filters are {self.cnn_filters}; expected pairs of width and number, at least 1")


def paper() -> TaskConfig:
    """BCN, trained on the phrases of the trees; give a file of 300-d vectors (A: GloVe 840B)."""
    return TaskConfig(
        model=SentimentConfig(min_phrase_tokens=4),  # paper; A has all
        inputs=InputConfig(
            word_dim=300,  # A
            train_word_vectors=False,  # A
            lower_case=False,  # A
            elmo=ElmoInput(position="both", penalty=0.001),  # paper; the penalty is its lambda
        ),
        training=TrainingConfig(
            learning_rate=0.001,  # A, Adam; the paper has 0.0001
            batch_size=100,  # A
            max_epochs=40,  # A
            patience=5,  # A
            clip_norm=5.0,  # A
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: the sentences without their phrases, a third of the width, few epochs.

    The moving average, ELMo's dropout and `rescale` are ours: experiments/LOG.md, 2026-11-21.
    """
    return variant(
        paper(),
        model={
            "phrases": False,
            "projection_dim": 100,
            "encoder_dim": 100,
            "integrator_dim": 100,
            "maxout_dims": (200, 100),
        },
        inputs={"word_dim": 50, "lower_case": True},
        elmo={"rescale": True, "dropout_rate": 0.5},
        training={"batch_size": 32, "max_epochs": 10, "patience": 4, "average_decay": 0.998},
    )


def cpu_cnn() -> TaskConfig:
    """The CNN of Kim (2014), on fixed word vectors ("CNN-static"), instead of BCN; trained like `cpu-converged`.

    Ten epochs, as in `cpu`, are too few: experiments/LOG.md, 2026-11-22.
    """
    model = {
        "classifier": "cnn",
        "cnn_filters": ((3, 100), (4, 100), (5, 100)),  # Kim, section 3.1
        "input_dropout_rate": 0.0,  # Kim
        "output_dropout_rates": (0.5, 0.0),  # Kim, section 3.1
    }
    return variant(until_converged(cpu), model=model, training={"batch_size": 50})  # Kim, section 3.1


def cpu_ko() -> TaskConfig:
    """`cpu` for 10,000 of NSMC's 140,000 reviews, with the Korean biLM. Word vectors start at random and are learnt."""
    return variant(
        cpu(),
        inputs={"train_word_vectors": True, "min_word_count": 2},
        elmo={"model": "mini-ko"},
        training={"max_epochs": 6, "max_train_examples": 10_000, "max_dev_examples": 2_000},
    )


def cpu_output() -> TaskConfig:
    """`cpu-converged` with ELMo only at the output of the encoder.

    This is better on the development set than ELMo at both places: experiments/LOG.md, 2026-11-23.
    """
    return variant(until_converged(cpu), elmo={"position": "output"})


@dataclass(frozen=True, repr=False)
class TextSentiment(Prediction):
    """A text with the most probable label."""

    tokens: list[str]
    label: str
    probabilities: dict[str, float]
    """Probability of each label."""

    def __repr__(self) -> str:
        return f"<TextSentiment {shortened(' '.join(self.tokens))}: {shown_labels(self.label, self.probabilities)}>"


class Sentiment(LabelTask):
    """Tokens -> a label; an example is a text."""

    name = "sentiment"
    # trees of the Stanford Sentiment Treebank; tables, such as NSMC as split by elmokit; NSMC as published
    files: ClassVar[FileNames] = (
        ("train.txt", "dev.txt", "test.txt"),
        ("train.tsv", "dev.tsv", "test.tsv"),
        ("ratings_train.txt", "", "ratings_test.txt"),
    )
    model_config = SentimentConfig
    model = "elmokit.tasks.sentiment.model:SentimentClassifier"
    recipes: ClassVar[Recipes] = {
        "paper": paper,
        "cpu": cpu,
        "cpu-converged": partial(until_converged, cpu),
        "cpu-output": cpu_output,
        "cpu-cnn": cpu_cnn,
        "cpu-ko": cpu_ko,
    }

    def read(self, path: Path, config: SentimentConfig, training: bool) -> Reading[LabelledText]:
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

    def keep_together(self, example: LabelledText) -> Hashable:
        """The words of the tree's sentence, which its phrases and copies share; without a tree, those of the text."""
        return tuple(example.sentence or example.tokens)

    def from_json(self, fields: Mapping[str, Any]) -> LabelledText:
        """Read `{"text": "It's good."}`, or `{"tokens": ["It", "'s", "good", "."]}`."""
        tokens, _ = sentence_of(fields, where="the text")
        return LabelledText(tokens, label=None)

    def result(self, example: LabelledText, prediction: LabelPrediction) -> TextSentiment:
        return TextSentiment(example.tokens, prediction.label, prediction.probabilities)


TASK = Sentiment()
