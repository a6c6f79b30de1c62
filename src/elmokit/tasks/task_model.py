"""The interface between the loop and a task's model."""

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
