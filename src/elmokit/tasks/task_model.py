"""The interface of a task's model that the loop uses, and the shared parts of classifiers and taggers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

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

    labels: the labels that the model can predict, in the order of its scores.
    """

    def __init__(self, inputs: TokenInputs, labels: Sequence[str] = ()) -> None:
        super().__init__()
        self.inputs = inputs
        self.labels: list[str] = list(labels)
        self.label_ids: dict[str, int] = {label: index for index, label in enumerate(labels)}

    @abstractmethod
    def forward(self, examples: Sequence[Any]) -> Float[Tensor, ""]:
        """The loss of a batch, without the penalty of the inputs' mixes."""

    @abstractmethod
    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """One prediction per example. It does not depend on the labels in the examples."""

    def ids_of_tags(self, examples: Sequence[Any]) -> Int[Tensor, "B T"]:
        """Indices of the tags of training examples, 0 at padding."""
        rows = [torch.tensor([self.label_ids[tag] for tag in example.tags], dtype=torch.long) for example in examples]
        return pad_sequence(rows, batch_first=True)


@dataclass(frozen=True)
class LabelPrediction:
    """The most probable label of an example, and the probability of each label."""

    label: str
    probabilities: dict[str, float]


class Classifier(TaskModel):
    """Examples -> labels."""

    @abstractmethod
    def scores(self, examples: Sequence[Any]) -> Float[Tensor, "B K"]:
        """Scores of the labels, before the softmax."""

    def forward(self, examples: Sequence[Any]) -> Float[Tensor, ""]:
        """Mean cross entropy of training examples. Each label must be one of the model's."""
        scores = self.scores(examples)
        gold = torch.tensor([self.label_ids[example.label] for example in examples])
        return functional.cross_entropy(scores, gold.to(scores.device))

    @torch.no_grad()
    def predict(self, examples: Sequence[Any]) -> list[LabelPrediction]:
        """The most probable label of each example."""
        rows = cast("list[list[float]]", self.scores(examples).softmax(dim=1).tolist())
        probabilities = [dict(zip(self.labels, row, strict=True)) for row in rows]
        return [LabelPrediction(max(each, key=each.__getitem__), each) for each in probabilities]


class Tagger(TaskModel):
    """Tokens -> tags: two biLSTMs and a CRF (Lample et al., 2016; Peters et al., 2018, A.5).

    allowed: which tag may follow which, as `CRF.decode` reads it.
    """

    allowed: Tensor

    def __init__(
        self, config: TaggerConfig, inputs: TokenInputs, labels: Sequence[str], *, allowed: Bool[Tensor, "M M"]
    ) -> None:
        super().__init__(inputs, labels)
        self.input_dropout: Final = VariationalDropout(rate=config.dropout_rate)
        self.output_dropout: Final = VariationalDropout(rate=config.output_dropout_rate)
        self.first: Final = BiLSTM(input_dim=inputs.input_dim, hidden_dim=config.first_dim)
        self.second: Final = BiLSTM(input_dim=2 * config.first_dim + inputs.output_dim, hidden_dim=config.second_dim)
        self.dense: Final = nn.Linear(2 * config.second_dim, len(labels))
        self.crf: Final = CRF(num_labels=len(labels))
        self.register_buffer("allowed", allowed, persistent=False)

    def forward(self, examples: Sequence[Any]) -> Float[Tensor, ""]:
        """Negative log likelihood of the tags, summed over the batch (as in AllenNLP)."""
        scores, mask = self._scores(examples)
        gold = self.ids_of_tags(examples).to(mask.device)
        return -self.crf.log_likelihood(scores, mask, labels=gold).sum()

    @torch.no_grad()
    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """The most probable sequence of allowed tags for each sentence."""
        scores, mask = self._scores(examples)
        paths = self.crf.decode(scores, mask, allowed=self.allowed)
        return [[self.labels[index] for index in path] for path in paths]

    def _scores(self, examples: Sequence[Any]) -> tuple[Float[Tensor, "B T K"], Bool[Tensor, "B T"]]:
        vectors = self.inputs([sentence.tokens for sentence in examples])
        hidden = self.first(self.input_dropout(vectors.inputs), vectors.mask)
        hidden = torch.cat([hidden, vectors.outputs], dim=2)
        hidden = self.second(self.input_dropout(hidden), vectors.mask)
        return self.dense(self.output_dropout(hidden)), vectors.mask


class NameTagger(Tagger):
    """The tagger of named entities. It predicts only legal sequences of BIOUL tags."""

    def __init__(self, config: TaggerConfig, inputs: TokenInputs, labels: Sequence[str]) -> None:
        super().__init__(config, inputs, labels, allowed=bioul_transitions(labels))


@dataclass(frozen=True)
class WordTags:
    """A tag for each word, and whether the word has a vector that was learnt in training."""

    column: str
    """What the tags are: see `TagsConfig`."""
    tags: list[str]
    known: list[bool]


class WordTagger(Tagger):
    """The tagger of words. Its tags may follow each other in any order; its config is a `TagsConfig`."""

    def __init__(self, config: Any, inputs: TokenInputs, labels: Sequence[str]) -> None:
        allowed = torch.ones(len(labels) + 1, len(labels) + 1, dtype=torch.bool)
        super().__init__(config, inputs, labels, allowed=allowed)
        self.column: Final = config.column

    def predict(self, examples: Sequence[Any]) -> list[WordTags]:
        """The most probable tag of each word, and whether it is known (`TokenInputs.known`)."""
        known = [self.inputs.known(sentence.tokens) for sentence in examples]
        return list(map(partial(WordTags, self.column), super().predict(examples), known))


def glorot(layer: nn.Linear) -> nn.Linear:
    """Give a layer Glorot-uniform weights (Glorot and Bengio, 2010) and zero biases, if it has any. Returns it."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:  # pyright: ignore[reportUnnecessaryComparison] - torch's stubs lack bias=False
        nn.init.zeros_(layer.bias)
    return layer
