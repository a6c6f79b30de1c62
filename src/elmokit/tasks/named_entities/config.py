"""Sizes of the named-entity tagger."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.bounds import check_bounds


@dataclass(frozen=True)
class NamedEntitiesConfig:
    """Sizes of the tagger."""

    first_dim: int = 200
    """Width of the first biLSTM, per direction."""
    second_dim: int = 100
    """Width of the second biLSTM, per direction."""
    dropout_rate: float = 0.5
    """Dropout at the input of both biLSTMs, of the same features at all tokens of a sentence."""
    output_dropout_rate: float = 0.0
    """Dropout before the dense layer, of the same kind."""

    def __post_init__(self) -> None:
        check_bounds(self, positive=("first_dim", "second_dim"), rates=("dropout_rate", "output_dropout_rate"))
