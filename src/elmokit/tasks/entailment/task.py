"""The entailment task: an example is a pair of sentences; the score is accuracy; the output is one label per pair."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from elmokit.files.json import as_type
from elmokit.files.lines import lines_and_first
from elmokit.runs.settings import check_bounds
from elmokit.system.messages import FormatError, printable
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
from elmokit.tasks.task import LabelTask, Prediction, Reading, check_tokens, shortened, shown_labels, tokens_of
from elmokit.text.corpora.tables import rows_of

if TYPE_CHECKING:
    from elmokit.tasks.task_model import LabelPrediction


LABELS = ("entailment", "neutral", "contradiction")

_COLUMNS = (
    ("sentence1", "premise", "sentence_A"),
    ("sentence2", "hypothesis", "sentence_B"),
    ("gold_label", "label", "entailment_judgment", "entailment_label"),
)
_UNDECIDED = ("-", "", "-1")
"""What SNLI, and its copy at Hugging Face, write if the annotators did not agree."""
_PREMISE, _HYPOTHESIS = ("premise", "sentence1"), ("hypothesis", "sentence2")


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences and their relation, for instance that the first (the premise) entails the second."""

    premise: list[str]
    hypothesis: list[str]
    label: str | None
    """Usually one of `LABELS`; None if the annotators did not agree. Results leave such a pair out."""


def read_sentence_pairs(path: str | os.PathLike[str]) -> Iterator[SentencePair]:
    """Read JSON lines, a JSON list, or a table with a header (`rows_of`); `tokenize` makes the tokens.

    The fields or columns are sentence1 or premise, sentence2 or hypothesis, gold_label or label; in SICK, they are
    sentence_A, sentence_B, and entailment_judgment or entailment_label. Any label is read. `LABELS` may be in upper
    case, as in SICK. A label that is missing, null or `-` becomes None.
    Raises ValueError, with the file and the line, as `rows_of` does, and for a sentence without tokens.
    """
    for where, (premise, hypothesis, given) in rows_of(*lines_and_first(path), name=os.fspath(path), columns=_COLUMNS):
        label = given.strip()
        if label.lower() in LABELS:
            label = label.lower()
        yield SentencePair(
            premise=tokens_of(premise, where=f"{where}, premise: "),
            hypothesis=tokens_of(hypothesis, where=f"{where}, hypothesis: "),
            label=None if label in _UNDECIDED else label,
        )


# Settings and recipes of the entailment classifier. P is Peters et al. (2018), appendix; A AllenNLP's esim.jsonnet.
@dataclass(frozen=True)
class EntailmentConfig:
    """Sizes of the classifier: the widths of P and of Chen et al. (2017), section 5, and the rates of P."""

    encoder_dim: int = 300
    """Width of the first biLSTM, per direction."""
    projection_dim: int = 300
    """Width of the ReLU layer between the alignment and the second biLSTM."""
    inference_dim: int = 300
    """Width of the second biLSTM, per direction."""
    hidden_dim: int = 300
    """Width of the ReLU layer before the scores."""
    lstm_dropout_rate: float = 0.5
    """Dropout before both biLSTMs. It drops the same features at all tokens of a sentence."""
    attention_dropout_rate: float = 0.0
    """Dropout after the alignment."""
    output_dropout_rate: float = 0.5
    """Dropout before each of the last two layers."""

    def __post_init__(self) -> None:
        widths = ("encoder_dim", "projection_dim", "inference_dim", "hidden_dim")
        rates = ("lstm_dropout_rate", "attention_dropout_rate", "output_dropout_rate")
        check_bounds(self, positive=widths, rates=rates)


def paper() -> TaskConfig:
    """ESIM (Chen et al., 2017) as in P; give GloVe's 300-d vectors (840B)."""
    return TaskConfig(
        model=EntailmentConfig(
            attention_dropout_rate=0.5,  # P has it only with ELMo; here without ELMo too
        ),
        inputs=InputConfig(
            word_dim=300,  # P
            train_word_vectors=False,  # P
            lower_case=True,  # A
            elmo=ElmoInput(position="both", layer_norm=True, penalty=0.001),  # P; the penalty is its lambda
        ),
        training=TrainingConfig(
            learning_rate=0.0004,  # P, Adam
            batch_size=32,  # P
            max_epochs=75,  # A
            patience=5,  # A
            halve_after=1,  # P: whenever the accuracy on the development set fails to improve
            clip_norm=5.0,  # P
            # P, only with ELMo: 0.0001 times the squares of all matrices; a square's gradient has a factor of 2
            weight_decay=0.0002,
            decay_biases=False,
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: a fifth of the width, a subset of SNLI, and no layer norm.

    Without layer norm, a pair's result does not depend on its batch. Without ELMo, 20,000 pairs give 68.5 % on the
    development set with dropout of 0.2 and 0.3 at a learning rate of 0.001, and 74.5 % with the settings here.
    """
    return variant(
        paper(),
        model={
            "encoder_dim": 64,
            "projection_dim": 64,
            "inference_dim": 64,
            "hidden_dim": 64,
            "lstm_dropout_rate": 0.1,
            "attention_dropout_rate": 0.0,
            "output_dropout_rate": 0.1,
        },
        inputs={"word_dim": 50, "min_word_count": 2},
        elmo={"layer_norm": False, "rescale": True, "dropout_rate": 0.2},
        training={
            "learning_rate": 0.002,
            "max_epochs": 7,
            "patience": 7,
            "max_dev_examples": 2_000,
            "weight_decay": 0.0,
            "decay_biases": True,
        },
    )


def cpu_output() -> TaskConfig:
    """`cpu-converged` with ELMo only at the output of the encoder, and more dropout of its vectors.

    With 20,000 pairs, this is better on the development set than ELMo at both places: experiments/LOG.md, 2026-11-23.
    """
    elmo = {"position": "output", "dropout_rate": 0.5}  # AllenNLP's advice on dropout
    return variant(until_converged(cpu), elmo=elmo)


@dataclass(frozen=True, repr=False)
class LabelledPair(Prediction):
    """A premise and a hypothesis with the most probable label."""

    premise: list[str]
    hypothesis: list[str]
    """Tokens of the two sentences."""
    label: str
    probabilities: dict[str, float]
    """Probability of each label."""

    def __repr__(self) -> str:
        premise, hypothesis = shortened(" ".join(self.premise)), shortened(" ".join(self.hypothesis))
        return f"<LabelledPair {premise}, {hypothesis}: {shown_labels(self.label, self.probabilities)}>"


class Entailment(LabelTask):
    """Two sentences -> a label; an example is a pair."""

    name = "entailment"
    # train, dev and test files of SNLI; a subset of it; MultiNLI (its test sets have no labels); KLUE-NLI as split by
    # elmokit; tables; KLUE-NLI as published (without its test set); SICK
    files: ClassVar[FileNames] = (
        ("snli_1.0_train.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
        ("snli_1.0_train_subset20k.jsonl", "snli_1.0_dev.jsonl", "snli_1.0_test.jsonl"),
        ("multinli_1.0_train.jsonl", "multinli_1.0_dev_matched.jsonl", "multinli_1.0_dev_mismatched.jsonl"),
        ("train.jsonl", "dev.jsonl", "test.jsonl"),
        ("train.tsv", "dev.tsv", "test.tsv"),
        ("klue-nli-v1.1_train.json", "klue-nli-v1.1_dev.json", "klue-nli-v1.1_test.json"),
        ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
    )
    model_config = EntailmentConfig
    model = "elmokit.tasks.entailment.model:EntailmentClassifier"
    recipes: ClassVar[Recipes] = {
        "paper": paper,
        "cpu": cpu,
        "cpu-converged": partial(until_converged, cpu),
        "cpu-output": cpu_output,
    }
    text_fields: ClassVar[tuple[str, ...]] = ("premise", "hypothesis")

    def read(self, path: Path, config: EntailmentConfig, training: bool) -> Reading[SentencePair]:
        """Read a file. Pairs that the annotators did not agree on are skipped, both for training and for evaluation."""
        reading = Reading[SentencePair]([])
        for pair in read_sentence_pairs(path):
            if pair.label is None:
                reading.skipped["without a label"] += 1
            else:
                reading.examples.append(pair)
        return reading

    def sentences(self, example: SentencePair) -> Sequence[Sequence[str]]:
        return example.premise, example.hypothesis

    def keep_together(self, example: SentencePair) -> Hashable:
        """The premise: SNLI has each premise three times."""
        return tuple(example.premise)

    def symbols(self, examples: Iterable[SentencePair]) -> list[str]:
        """All three usual labels, whether they occur or not; if other labels occur, the labels of the examples."""
        found = {example.label for example in examples if example.label is not None}
        return list(LABELS) if found <= {*LABELS} else sorted(found)

    def from_json(self, fields: Mapping[str, Any]) -> SentencePair:
        """Read `{"premise": "It rains.", "hypothesis": "It's dry."}`, or SNLI's names; each is text or tokens."""
        return SentencePair(premise=_tokens(fields, _PREMISE), hypothesis=_tokens(fields, _HYPOTHESIS), label=None)

    def result(self, example: SentencePair, prediction: LabelPrediction) -> LabelledPair:
        return LabelledPair(example.premise, example.hypothesis, prediction.label, prediction.probabilities)


def _tokens(fields: Mapping[str, Any], names: tuple[str, str]) -> list[str]:
    name = next((name for name in names if name in fields), None)
    if name is None:
        others = printable(", ".join(fields))
        raise FormatError("the pair", f"is missing; there are {others}", part=f"field {names[0]}")
    given = as_type(fields[name], cast("type[str | list[str]]", str | list[str]), where=f"the {name}")
    if isinstance(given, str):
        return tokens_of(given, where=f"the {names[0]} ")
    check_tokens(given, where=f"the {name}")
    return given


TASK = Entailment()
