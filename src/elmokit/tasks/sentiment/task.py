"""The task of sentiment: an example is a text, from trees or tables; the score is accuracy; the output is a label."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.tasks.config import (
    ElmoInput,
    InputConfig,
    TaskConfig,
    TrainingConfig,
    check_bounds,
    until_converged,
    variant,
)
from elmokit.tasks.sentiment.reader import LabelledText, read_texts
from elmokit.tasks.task import LabelTask, Prediction, Reading, sentence_of, shortened, shown_labels

if TYPE_CHECKING:
    from elmokit.tasks.task_model import LabelPrediction


# Settings and recipes of the sentiment classifier. A is AllenNLP's BCN (sst_5_bcn.jsonnet and its ELMo twin), which
# reached 51.3 and 54.7 with one seed; `paper` mixes it with what the paper says, each line by its source, and has not
# been run.
CLASSIFIERS = ("bcn", "bilstm", "cnn")
"""Names of the networks in `model.NETWORKS`."""


@dataclass(frozen=True)
class SentimentConfig:
    """What is read from the trees of the Stanford Sentiment Treebank, and the sizes of the classifier.

    bcn has the defaults of A; the paper has the widths of 300 too.
    """

    num_classes: int = 5
    """Number of classes read from trees: 5, or 2, without the neutral ones. The labels of a table are its classes."""
    phrases: bool = True
    """Whether to train on all phrases of the trees instead of only the sentences."""
    min_phrase_tokens: int = 1
    """Shorter phrases are skipped in training."""
    classifier: str = "bcn"
    """bcn; bilstm (the encoder, the maximum and mean of its output over the tokens, and a linear layer); or cnn (the
    largest response of each filter over the tokens, and a linear layer)."""
    cnn_filters: tuple[tuple[int, int], ...] = ((3, 100), (4, 100), (5, 100))
    """(width in tokens, number) of the filters of cnn, which uses none of the other widths."""
    projection_dim: int = 300
    """Width of the ReLU layer between a token's vector and the encoder."""
    encoder_dim: int = 300
    """Width of the first biLSTM, per direction."""
    integrator_dim: int = 300
    """Width of the biLSTM over the biattention, per direction; only bcn uses this field and those below."""
    maxout_dims: tuple[int, int] = (1200, 600)
    """Widths of the two maxout layers before the last one, which is a maxout layer too (A, after McCann et al., 2017);
    the paper has two ReLU layers here."""
    maxout_pool_size: int = 4
    """Number of linear functions whose maximum is one output of a maxout layer."""
    input_dropout_rate: float = 0.25
    """Dropout of the tokens' vectors; in A 0.5 with ELMo, here the same for both."""
    projection_dropout_rate: float = 0.25
    """Dropout after the ReLU layer."""
    integrator_dropout_rate: float = 0.1
    """Dropout after the second biLSTM; A applies it to the pools, which come after."""
    output_dropout_rates: tuple[float, float] = (0.2, 0.3)
    """Dropout after the first and the second maxout layer; bilstm and cnn use the first rate before their linear
    layer."""

    def __post_init__(self) -> None:
        if self.classifier not in CLASSIFIERS:
            raise ValueError(f"classifier is {self.classifier!r}; expected one of {', '.join(CLASSIFIERS)}")
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
    """The CNN of Kim (2014), on fixed word vectors ("CNN-static"), in place of BCN; trained as `cpu-converged`.

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
    """The same for 10,000 of NSMC's 140,000 reviews, with the Korean biLM; words start at random and are learnt."""
    return variant(
        cpu(),
        inputs={"train_word_vectors": True, "min_word_count": 2},
        elmo={"model": "mini-ko"},
        training={"max_epochs": 6, "max_train_examples": 10_000, "max_dev_examples": 2_000},
    )


def cpu_output() -> TaskConfig:
    """`cpu-converged` with ELMo at the output of the encoder alone.

    That is better on the development set than ELMo at both places: experiments/LOG.md, 2026-11-23.
    """
    return variant(until_converged(cpu), elmo={"position": "output"})


@dataclass(frozen=True, repr=False)
class TextSentiment(Prediction):
    """A text with the most probable label."""

    tokens: list[str]
    label: str
    probabilities: dict[str, float]
    """Of each label."""

    def __repr__(self) -> str:
        return f"<TextSentiment {shortened(' '.join(self.tokens))}: {shown_labels(self.label, self.probabilities)}>"


class Sentiment(LabelTask):
    """Tokens -> a label; an example is a text."""

    name = "sentiment"
    # trees of the Stanford Sentiment Treebank; tables, such as NSMC as split by elmokit; NSMC as published
    files = (
        ("train.txt", "dev.txt", "test.txt"),
        ("train.tsv", "dev.tsv", "test.tsv"),
        ("ratings_train.txt", "", "ratings_test.txt"),
    )
    model_config = SentimentConfig
    model = "elmokit.tasks.sentiment.model:SentimentClassifier"
    recipes = {
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
        """The words that a sentence shares with its phrases and its copies; without a tree, the words of the text."""
        return tuple(example.sentence or example.tokens)

    def from_json(self, fields: Mapping[str, Any]) -> LabelledText:
        """Read `{"text": "It's good."}`, or `{"tokens": ["It", "'s", "good", "."]}`."""
        tokens, _ = sentence_of(fields, where="the text")
        return LabelledText(tokens, label=None)

    def result(self, example: LabelledText, prediction: LabelPrediction) -> TextSentiment:
        return TextSentiment(example.tokens, prediction.label, prediction.probabilities)


TASK = Sentiment()
