"""What the loop asks of a task's model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float
    from torch import Tensor

    from elmokit.tasks.inputs import TokenInputs


class TaskModel(nn.Module, ABC):
    """Examples -> loss or predictions. What padding holds, and which examples share a batch, changes no result (dropout
    aside).
    """

    def __init__(self, inputs: TokenInputs) -> None:
        super().__init__()
        self.inputs = inputs

    @abstractmethod
    def forward(self, examples: Sequence[Any]) -> Float[Tensor, ""]:
        """The loss of a batch, without the penalty of the inputs' mixes."""

    @abstractmethod
    def predict(self, examples: Sequence[Any]) -> list[Any]:
        """One prediction for each example; does not look at what is to be predicted."""
