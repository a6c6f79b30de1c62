"""Settings of the parser of semantic roles."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.bounds import check_bounds

MAX_LAYERS = 64


@dataclass(frozen=True)
class SemanticRolesConfig:
    """Sizes of the parser, and its longest training sentence."""

    flag_dim: int = 100
    """Width of the embedding of the flag that marks the predicate."""
    hidden_dim: int = 300
    """Width of each LSTM layer."""
    num_layers: int = 8
    """Number of LSTM layers; every second one reads backward."""
    recurrent_dropout_rate: float = 0.1
    """Dropout of the LSTMs' states."""
    input_dropout_rate: float = 0.0
    """Dropout of the tokens' vectors, but not of the flag, of the same features at all tokens of a sentence."""
    output_dropout_rate: float = 0.0
    """Dropout before the dense layer, of the same kind."""
    max_train_tokens: int = 100
    """Longer sentences of the training set are skipped; 0 keeps all."""

    def __post_init__(self) -> None:
        rates = ("recurrent_dropout_rate", "input_dropout_rate", "output_dropout_rate")
        check_bounds(self, positive=("flag_dim", "hidden_dim"), counts=("max_train_tokens",), rates=rates)
        if not 1 <= self.num_layers <= MAX_LAYERS:
            raise ValueError(f"num_layers is {self.num_layers}; expected 1 to {MAX_LAYERS}")
