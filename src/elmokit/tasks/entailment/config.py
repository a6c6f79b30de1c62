"""Sizes of the entailment classifier."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.bounds import check_bounds


@dataclass(frozen=True)
class EntailmentConfig:
    """Sizes of the classifier."""

    encoder_dim: int = 300
    """Width of the first biLSTM, per direction."""
    projection_dim: int = 300
    """Width of the ReLU layer between the alignment and the second biLSTM."""
    inference_dim: int = 300
    """Width of the second biLSTM, per direction."""
    hidden_dim: int = 300
    """Width of the ReLU layer before the scores."""
    lstm_dropout_rate: float = 0.5
    """Dropout before both biLSTMs, of the same features at all tokens of a sentence."""
    attention_dropout_rate: float = 0.0
    """Dropout after the alignment."""
    output_dropout_rate: float = 0.5
    """Dropout before each of the last two layers."""

    def __post_init__(self) -> None:
        widths = ("encoder_dim", "projection_dim", "inference_dim", "hidden_dim")
        rates = ("lstm_dropout_rate", "attention_dropout_rate", "output_dropout_rate")
        check_bounds(self, positive=widths, rates=rates)
