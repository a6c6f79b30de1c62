"""What the loop expects of a task's model, and what the models that give labels, or a tag to each token, share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from elmokit.layers.tasks.crf import CRF, bioul_transitions
from elmokit.layers.tasks.recurrent import BiLSTM, VariationalDropout

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from elmokit.tasks.config import TaggerConfig
    from elmokit.tasks.inputs import TokenInputs


class TaskModel(nn.Module, ABC):
    """Examples -> loss or predictions. Apart from dropout, no result depends on the contents of padding, or on which
    other examples are in the batch.
    """

    def __init__(self, inputs: TokenInputs) -> None:
        super().__init__()
        self.inputs = inputs

    @abstractmethod
    def forward(self, examples: Sequence[Any]) -> Float[Tensor, ""]:
        """The loss of a batch, without the penalty of the inputs' mixes."""

    @abstractmethod
    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """One prediction per example, which does not depend on the labels in the examples."""


@dataclass(frozen=True)
class WordTags:
    """A tag for each word, and whether the word has a vector that was learnt in training."""

    column: str
    """What the tags are: see `TagsConfig`."""
    tags: list[str]
    known: list[bool]


@dataclass(frozen=True)
class LabelPrediction:
    """The most probable label of an example, and the probability of each label."""

    label: str
    probabilities: dict[str, float]


class Labels:
    """The labels that a model can give, in the order of its scores."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.ids = {name: index for index, name in enumerate(names)}

    def loss(self, scores: Float[Tensor, "B K"], examples: Sequence[Any]) -> Float[Tensor, ""]:
        """Mean cross entropy of the labels of training examples, whose labels are all known."""
        gold = torch.tensor([self.ids[example.label] for example in examples])
        return functional.cross_entropy(scores, gold.to(scores.device))

    def ids_of_tags(self, examples: Sequence[Any]) -> Int[Tensor, "B T"]:
        """Indices of the tags of training examples, 0 at padding."""
        rows = [torch.tensor([self.ids[tag] for tag in example.tags], dtype=torch.long) for example in examples]
        return pad_sequence(rows, batch_first=True)

    def predictions(self, scores: Float[Tensor, "B K"]) -> list[LabelPrediction]:
        """The most probable label of each row of scores."""
        rows = cast("list[list[float]]", scores.softmax(dim=1).tolist())
        probabilities = [dict(zip(self.names, row, strict=True)) for row in rows]
        return [LabelPrediction(max(each, key=each.__getitem__), each) for each in probabilities]


class Tagger(TaskModel):
    """Tokens -> tags: two biLSTMs and a CRF (Lample et al., 2016; Peters et al., 2018, A.5).

    labels: all possible tags.
    allowed: which tag may follow which, as `CRF.decode` reads it.
    predicted: makes the prediction of the tags and of whether each token is known (`TokenInputs.known`).
    """

    allowed: Tensor

    def __init__(
        self,
        config: TaggerConfig,
        inputs: TokenInputs,
        labels: Sequence[str],
        *,
        allowed: Bool[Tensor, "M M"],
        predicted: Callable[[list[str], list[bool]], Any],
    ) -> None:
        super().__init__(inputs)
        self.labels = Labels(labels)
        self.predicted = predicted
        self.input_dropout = VariationalDropout(rate=config.dropout_rate)
        self.output_dropout = VariationalDropout(rate=config.output_dropout_rate)
        self.first = BiLSTM(input_dim=inputs.input_dim, hidden_dim=config.first_dim)
        self.second = BiLSTM(input_dim=2 * config.first_dim + inputs.output_dim, hidden_dim=config.second_dim)
        self.dense = nn.Linear(2 * config.second_dim, len(labels))
        self.crf = CRF(num_labels=len(labels))
        self.register_buffer("allowed", allowed, persistent=False)

    def forward(self, examples: Sequence[Any]) -> Float[Tensor, ""]:
        """Negative log likelihood of the tags, summed over the batch (as in AllenNLP)."""
        scores, mask = self._scores(examples)
        gold = self.labels.ids_of_tags(examples).to(mask.device)
        return -self.crf.log_likelihood(scores, mask, labels=gold).sum()

    @torch.no_grad()
    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """The most probable sequence of allowed tags for each sentence."""
        scores, mask = self._scores(examples)
        paths = self.crf.decode(scores, mask, allowed=self.allowed)
        tags = [[self.labels.names[index] for index in path] for path in paths]
        known = [self.inputs.known(sentence.tokens) for sentence in examples]
        return list(map(self.predicted, tags, known))

    def _scores(self, examples: Sequence[Any]) -> tuple[Float[Tensor, "B T K"], Bool[Tensor, "B T"]]:
        vectors = self.inputs([sentence.tokens for sentence in examples])
        hidden = self.first(self.input_dropout(vectors.inputs), vectors.mask)
        hidden = torch.cat([hidden, vectors.outputs], dim=2)
        hidden = self.second(self.input_dropout(hidden), vectors.mask)
        return self.dense(self.output_dropout(hidden)), vectors.mask


def name_tagger(config: TaggerConfig, inputs: TokenInputs, labels: Sequence[str]) -> Tagger:
    """The tagger of named entities, whose tags are legal BIOUL."""
    return Tagger(config, inputs, labels, allowed=bioul_transitions(labels), predicted=_tags_alone)


def word_tagger(config: Any, inputs: TokenInputs, labels: Sequence[str]) -> Tagger:
    """The tagger of words, whose tags may follow each other in any order; the config is a `TagsConfig`."""
    allowed = torch.ones(len(labels) + 1, len(labels) + 1, dtype=torch.bool)
    return Tagger(config, inputs, labels, allowed=allowed, predicted=partial(WordTags, config.column))


def _tags_alone(tags: list[str], known: list[bool]) -> list[str]:
    return tags


def glorot(layer: nn.Linear) -> nn.Linear:
    """Give a layer Glorot-uniform weights (Glorot and Bengio, 2010), and biases of zero if any; returns the layer."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:  # pyright: ignore[reportUnnecessaryComparison] - torch's stubs lack bias=False
        nn.init.zeros_(layer.bias)
    return layer
