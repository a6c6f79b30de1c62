"""What the loop expects of a task's model, and what the models that give labels have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor

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


def glorot(layer: nn.Linear) -> nn.Linear:
    """Give a layer Glorot-uniform weights (Glorot and Bengio, 2010), and biases of zero if any; returns the layer."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:  # pyright: ignore[reportUnnecessaryComparison] - torch's stubs lack bias=False
        nn.init.zeros_(layer.bias)
    return layer
